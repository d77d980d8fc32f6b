"""A process that is forked while other threads are inside z3 can use z3."""

import os
import signal
import threading
import time

import pytest
import torch

from smtlayer import Z3, SMTLayer, forks
from smtlayer.errors import SolverCrashedError
from smtlayer.interrupts import CALLS
from smtlayer.solvers.z3_calls import ask
from smtlayer.testing.theories import xor
from test_interrupts import factoring, hard

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def in_a_child(function):
    """Whether a forked child returns true from a function."""
    child = os.fork()
    if not child:
        code = 3
        try:
            signal.alarm(120)  # a child that hangs is killed
            code = 0 if function() else 4
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def thread_inside_z3(solver):
    """A thread whose question z3 is at, and the list that its answer will be in."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(solver, 600_000)))
    thread.start()
    while thread.ident not in CALLS and thread.is_alive():
        time.sleep(0.0001)
    return thread, answers


def test_a_child_answers_though_another_thread_was_inside_z3():
    layer = SMTLayer(xor(), backend=Z3(remember=0))
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    solver = hard()
    thread, answers = thread_inside_z3(solver)
    assert in_a_child(lambda: layer(logits).flatten().tolist() == [1.0, -1.0])
    assert thread.is_alive()  # its question was asked again
    assert answers == []
    while thread.is_alive():
        solver.ctx.interrupt()
        time.sleep(0.01)


def test_a_question_that_a_fork_stopped_is_answered():
    thread, answers = thread_inside_z3(factoring(14, 16_349 * 16_361))
    assert in_a_child(lambda: True)
    thread.join()
    assert str(answers) == "[sat]"


def test_an_answer_is_read_though_forks_stop_question_after_question():
    row, end, wrong = Z3().open(xor()), threading.Event(), []

    def work():
        while not end.is_set():
            try:
                wrong.extend([] if row.solve([1, -1]).outputs == [1] else ["answer"])
            except BaseException as error:
                wrong.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):  # what comes before a fork and after it, without the fork
        forks._before_fork()
        forks._after_fork_in_parent()
    end.set()
    thread.join()
    assert wrong == []


def test_a_fork_waits_for_a_thread_that_is_between_two_z3_calls():
    order, begun = [], threading.Event()

    @forks.uses_z3
    def work():
        begun.set()
        while not forks._forking:
            time.sleep(0.001)
        order.append("last z3 call")
        forks.pause()
        order.append("after the fork")

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    assert in_a_child(lambda: order == ["last z3 call"])
    thread.join()
    assert order == ["last z3 call", "after the fork"]


def test_a_child_whose_fork_could_not_wait_gets_an_error_and_does_not_hang(monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE_S", 0.05)
    begun, end = threading.Event(), threading.Event()

    @forks.uses_z3
    def work():
        begun.set()
        end.wait()

    def refused():
        with pytest.raises(SolverCrashedError, match=r"forked while .* within 0.05 s.*\"spawn\""):
            Z3().open(xor())
        return True

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    assert in_a_child(refused)
    end.set()
    thread.join()
    Z3().open(xor())  # the parent is not concerned


def test_what_is_left_behind_is_never_freed():
    class Fragile:
        def __del__(self):
            os._exit(5)

    def leave():
        forks.leave_behind(Fragile())
        return True

    assert in_a_child(leave)


def test_each_process_makes_its_own_value_and_never_frees_its_parents():
    class Fragile:
        def __init__(self):
            self.process = os.getpid()

        def __del__(self):
            if self.process != os.getpid():
                os._exit(5)

    mine = forks.PerProcess(Fragile)
    assert mine.get() is mine.get()

    def differs():
        nonlocal mine
        own = mine.get()
        mine = None  # frees what it holds, but for the parent's value
        return own.process == os.getpid()

    assert in_a_child(differs)
    assert mine.get().process == os.getpid()
