"""Ctrl-C while the library works: no press is lost, and everything is put back afterwards."""

import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import z3
from pysat._utils import MainThread
from pysat.solvers import Glucose4

from smtlayer.interrupts import CALLS, interruptible, raise_pressed, stoppable
from smtlayer.solvers.z3_calls import ask

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
SCRIPT = Path(__file__).parent.parent / "benchmarks" / "interrupts.py"


class PressedAtItsEnd:
    """Ctrl-C arrives in a `__del__`, where Python drops what is raised."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def settings():
    """All that `interruptible` changes for a while."""
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    return signal.getsignal(signal.SIGINT), wakeup, sys.unraisablehook, MainThread.check()


@pytest.fixture(autouse=True)
def _unchanged():
    before = settings()
    yield
    assert settings() == before


@pytest.fixture
def handler():
    """Sets a handler of SIGINT for the time of a test."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda chosen: signal.signal(signal.SIGINT, chosen)
    signal.signal(signal.SIGINT, before)


def factoring(bits, product):
    """A solver that has to find two factors, in a new z3 context."""
    p, q = z3.BitVecs("p q", bits, ctx=z3.Context())
    solver = z3.SimpleSolver(ctx=p.ctx)
    solver.set("ctrl_c", False)
    solver.add(z3.ZeroExt(bits, p) * z3.ZeroExt(bits, q) == product, z3.UGT(p, 1), z3.UGT(q, 1))
    return solver


def hard():
    """A question that z3 does not answer in the time of a test."""
    return factoring(40, 712_345_678_943 * 893_456_789_047)


@contextlib.contextmanager
def pressing(times=1):
    """A thread that presses Ctrl-C whenever the main thread is in a new z3 call."""
    main, done = threading.get_ident(), threading.Event()

    def press():
        last = None
        for _ in range(times):
            while (call := CALLS.get(main)) in (None, last) and not done.is_set():
                time.sleep(0.001)
            last = call
            if not done.is_set():
                os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_press_while_z3_works_ends_the_question():
    with pressing(), pytest.raises(KeyboardInterrupt):
        ask(hard(), 600_000)


def test_a_press_ends_the_question_though_z3_reports_an_error_to_who_stops_it():
    solver = hard()
    refusals = iter([z3.Z3Exception("canceled")] * 3)

    def interrupt():
        for refusal in refusals:
            raise refusal
        solver.ctx.interrupt()

    for _ in range(2):  # the thread that stops z3 outlives the error
        with pressing(), pytest.raises(KeyboardInterrupt):
            interruptible(stoppable)(interrupt, lambda: solver.check())


def test_a_call_that_was_stopped_at_its_end_has_no_answer_and_a_call_that_is_over_is_not_stopped():
    interrupts, calls = [], []

    def stopped_at_its_end():
        calls.append(CALLS[threading.get_ident()])
        calls[0].stop()
        return "sat"

    assert stoppable(lambda: interrupts.append(1), stopped_at_its_end) == (None, True)
    calls[0].stop()
    assert interrupts == [1]


def test_a_press_while_a_sat_solver_propagates_is_raised_by_python():
    chain = [[-i, i + 1] for i in range(1, 100_000)]

    @interruptible
    def work():
        with Glucose4(bootstrap_with=chain) as solver:
            thread.start()
            while True:
                solver.propagate([1])

    for _ in range(5):
        thread = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            work()
        thread.join()


def test_a_press_in_a_destructor_is_raised_at_the_end_of_the_call():
    @interruptible
    def work():
        PressedAtItsEnd()
        done.append("all")

    done = []
    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all"]


def test_a_press_in_a_destructor_is_raised_at_the_next_z3_call():
    @interruptible
    def work():
        PressedAtItsEnd()
        ask(z3.SimpleSolver(), 1000)
        pytest.fail("the press did not arrive")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_press_wins_over_the_error_that_it_causes():
    @interruptible
    def work():
        PressedAtItsEnd()
        raise ValueError("half done")

    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    assert isinstance(caught.value.__context__, ValueError)


def test_a_term_that_a_press_left_half_built_is_freed_without_a_complaint():
    @interruptible
    def work():
        term = z3.AstRef.__new__(z3.AstRef)  # its destructor asks for what it has not got
        signal.raise_signal(signal.SIGINT)
        return term

    complaints, before = [], sys.unraisablehook
    sys.unraisablehook = complaints.append
    try:
        with contextlib.suppress(KeyboardInterrupt):
            work()
        gc.collect()
    finally:
        sys.unraisablehook = before
    assert not complaints


def test_calls_inside_calls_raise_a_press_once():
    @interruptible
    def outer():
        try:
            inner()
        except KeyboardInterrupt:
            pytest.fail("only the outermost call gives up")
        done.append("outer")

    @interruptible
    def inner():
        PressedAtItsEnd()

    done = []
    with pytest.raises(KeyboardInterrupt):
        outer()
    assert done == ["outer"]
    raise_pressed()  # nothing is left over


def test_a_handler_that_raises_nothing_lets_the_question_go_on(handler):
    presses = []
    handler(lambda number, frame: presses.append(number))
    with pressing(times=3):
        assert ask(factoring(14, 16_349 * 16_361), 600_000) == z3.sat
    assert presses
    assert set(presses) == {signal.SIGINT}


def test_the_handler_of_the_user_decides_what_is_raised(handler):
    def stop(number, frame):
        raise TimeoutError("enough")

    handler(stop)
    with pressing(), pytest.raises(TimeoutError, match="enough"):
        ask(hard(), 600_000)


@pytest.mark.parametrize("setting", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_process_without_a_handler_is_left_alone(handler, setting):
    handler(setting)
    found = interruptible(settings)()
    assert found == settings()
    if setting is signal.SIG_IGN:
        with pressing():
            assert ask(factoring(12, 4_091 * 4_093), 600_000) == z3.sat


def test_z3_in_another_thread_leaves_ctrl_c_to_the_main_thread():
    solver, answers = hard(), []
    thread = threading.Thread(target=lambda: answers.append(ask(solver, 600_000)))
    thread.start()
    while thread.ident not in CALLS:
        time.sleep(0.001)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert answers == []  # it is still at work
    while thread.is_alive():
        solver.ctx.interrupt()
        time.sleep(0.01)
    assert answers == [z3.unknown]


def test_other_signals_still_wake_whom_they_woke(handler):
    ours, theirs = socket.socketpair()
    before = signal.getsignal(signal.SIGUSR1)
    with ours, theirs:
        ours.settimeout(60)
        theirs.setblocking(False)
        signal.signal(signal.SIGUSR1, lambda number, frame: None)
        signal.set_wakeup_fd(theirs.fileno())
        try:
            interruptible(lambda: signal.raise_signal(signal.SIGUSR1))()
            assert ours.recv(10) == bytes([signal.SIGUSR1])
        finally:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGUSR1, before)


def benchmark(*options):
    """What the script that presses Ctrl-C in real processes reports."""
    path = os.pathsep.join(sys.path)
    command = [sys.executable, str(SCRIPT), *options, "--json"]
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_no_press_is_lost_and_all_children_answer():
    found = benchmark("--presses", "6", "--children", "3", "--workers", "0")
    assert [(p["sent"], p["lost"], p["wrong"]) for p in found["presses"]] == [(1, 0, 0)] * 6
    assert [(c["forked"], c["answered"]) for c in found["children"]] == [(3, 3)] * 2


@pytest.mark.slow
def test_no_press_is_lost_on_a_busy_machine():
    found = benchmark("--presses", "100", "--children", "50", "--busy", "2")
    assert sum(p["sent"] for p in found["presses"]) >= 90
    assert [(p["lost"], p["wrong"]) for p in found["presses"]] == [(0, 0)] * 12
    assert [(c["forked"], c["answered"]) for c in found["children"]] == [(50, 50)] * 2
