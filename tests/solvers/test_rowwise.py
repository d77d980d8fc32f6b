"""Rows made into batches: crashes, processes, threads."""

import os
import threading
import time

import pytest
import torch
import z3

from smtlayer import Z3, SMTLayer, Status
from smtlayer.errors import SolverCrashedError
from smtlayer.solvers import Row, Rowwise
from smtlayer.testing.theories import xor

ONES = torch.ones(3, 2, dtype=torch.int8)


class Fragile:
    """Crashes on the rows named, and remembers what it was asked."""

    opened = 0

    def __init__(self, crashes):
        type(self).opened += 1
        self.crashes = crashes

    def solve(self, inputs):
        return self.answer(inputs)

    def maximize(self, inputs, weights, outputs):
        return self.answer(inputs)

    def core(self, inputs, weights, outputs):
        self.answer(inputs)
        return Status.UNSAT, [1]

    def answer(self, inputs):
        if tuple(inputs) in self.crashes:
            raise SolverCrashedError("Fragile failed on a row: out of memory")
        return Row(Status.SAT, inputs, [1])


@pytest.fixture
def fragile():
    Fragile.opened = 0
    return Rowwise(
        xor(), lambda theory: Fragile({(1, -1)}), name="Fragile", limit_ms=5, deterministic=True
    )


def test_a_crash_leaves_its_row_unknown_and_the_others_alone(fragile):
    inputs = torch.tensor([[1, 1], [1, -1], [-1, 1]], dtype=torch.int8)
    wanted = torch.ones(3, 1, dtype=torch.int8)
    for answer in (fragile.solve(inputs), fragile.maximize(inputs, torch.ones(3, 2), wanted)):
        assert answer.status.tolist() == [Status.SAT, Status.UNKNOWN, Status.SAT]
        assert answer.inputs.tolist() == [[1, 1], [0, 0], [-1, 1]]
        assert answer.outputs.tolist() == [[1], [0], [1]]
        assert answer.cost.tolist() == [0.0, float("inf"), 0.0]
    core = fragile.core(inputs, torch.ones(3, 2), wanted)
    assert core.status.tolist() == [Status.UNSAT, Status.UNKNOWN, Status.UNSAT]
    assert core.inputs.tolist() == [[False, True], [False, False], [False, True]]


def test_a_solver_that_crashed_is_opened_anew_and_no_other(fragile):
    fragile.solve(ONES)
    fragile.solve(ONES)
    assert Fragile.opened == 1
    fragile.solve(torch.tensor([[1, -1]], dtype=torch.int8))
    assert Fragile.opened == 1
    fragile.solve(ONES)
    assert Fragile.opened == 2


def test_other_errors_are_unknown_rows_too_with_one_warning():
    class Wrong(Fragile):
        def answer(self, inputs):
            raise ZeroDivisionError("by nothing")

    solver = Rowwise(xor(), lambda theory: Wrong(()), name="W", limit_ms=5, deterministic=True)
    with pytest.warns(RuntimeWarning, match="W failed on a row: ZeroDivisionError: by nothing"):
        assert solver.solve(ONES).status.tolist() == [Status.UNKNOWN] * 3
    assert solver.solve(ONES).status.tolist() == [Status.UNKNOWN] * 3


def test_ctrl_c_is_not_taken_for_a_failure():
    class Interrupted(Fragile):
        def answer(self, inputs):
            raise KeyboardInterrupt

    solver = Rowwise(xor(), lambda t: Interrupted(()), name="I", limit_ms=5, deterministic=True)
    Interrupted.opened = 0
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            solver.solve(ONES)
    assert Interrupted.opened == 2  # it may be left in any state


def test_what_cannot_be_opened_raises_at_first_and_is_an_unknown_row_after_a_crash():
    openings = iter([OSError("no licence"), None, OSError("no memory"), None])

    def open_row(theory):
        failure = next(openings)
        if failure:
            raise failure
        return Fragile({(1, -1)})

    solver = Rowwise(xor(), open_row, name="O", limit_ms=5, deterministic=True)
    with pytest.raises(OSError, match="no licence"):
        solver.solve(ONES)
    inputs = torch.tensor([[1, 1], [1, -1], [1, 1], [1, 1]], dtype=torch.int8)
    with pytest.warns(RuntimeWarning, match="no memory"):
        status = solver.solve(inputs).status.tolist()
    assert status == [Status.SAT, Status.UNKNOWN, Status.UNKNOWN, Status.SAT]


def test_a_failure_inside_z3_is_an_unknown_row_and_the_layer_goes_on(monkeypatch):
    layer = SMTLayer(xor(), backend=Z3(remember=0))
    check, calls = z3.Solver.check, []

    def fails_once(self, *assumptions):
        calls.append(assumptions)
        if len(calls) == 2:
            raise z3.Z3Exception("out of memory")
        return check(self, *assumptions)

    monkeypatch.setattr(z3.Solver, "check", fails_once)
    assert layer(torch.ones(3, 2)).flatten().tolist() == [-1.0, 0.0, -1.0]
    assert (layer.stats.unknown, len(calls)) == (1, 3)


def test_an_empty_batch_opens_nothing(fragile):
    nothing = torch.zeros(0, 2, dtype=torch.int8)
    solution = fragile.solve(nothing)
    assert (solution.status.shape, solution.inputs.shape) == ((0,), (0, 2))
    assert (solution.outputs.shape, solution.cost.shape) == ((0, 1), (0,))
    core = fragile.core(nothing, torch.zeros(0, 2), torch.zeros(0, 1, dtype=torch.int8))
    assert (core.status.shape, core.inputs.shape) == ((0,), (0, 2))
    assert Fragile.opened == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_a_solver_of_its_own(fragile, monkeypatch):
    fragile.solve(ONES)
    monkeypatch.setattr("os.getpid", lambda: -5)  # as a child sees it
    fragile.solve(ONES)
    assert Fragile.opened == 2
    fragile.solve(ONES)
    assert Fragile.opened == 2


def test_threads_take_turns_from_the_first_question_on(monkeypatch):
    at_work, most, process = 0, 0, os.getpid()

    class Slow(Fragile):
        def answer(self, inputs):
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            time.sleep(0.002)
            at_work -= 1
            return Row(Status.SAT, inputs, [1])

    Slow.opened = 0
    solver = Rowwise(xor(), lambda theory: Slow(()), name="S", limit_ms=5, deterministic=True)

    def slow_getpid():
        time.sleep(0.002)
        return process

    monkeypatch.setattr("os.getpid", slow_getpid)
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        solver.solve(ONES)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (Slow.opened, most) == (1, 1)
