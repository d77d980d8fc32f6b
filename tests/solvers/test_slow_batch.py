"""The warning about slow batches: during the batch, once per solver and kind of query."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import faulty
import numpy as np
import pytest
import torch

from smtlayer import Sat, Status
from smtlayer.errors import SlowBatchWarning
from smtlayer.solvers import Row
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.host.slow_batch import SlowBatches
from smtlayer.solvers.workers.schedule import Schedule
from smtlayer.testing.theories import xor

pytestmark = pytest.mark.filterwarnings("always::smtlayer.errors.SlowBatchWarning")


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Takes:
    """A row solver that lets the clock go on, and counts its rows."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.rows = clock, seconds, 0

    def solve(self, inputs):
        self.clock.now += self.seconds
        self.rows += 1
        return Row(Status.SAT, inputs, [1])

    def maximize(self, inputs, weights, outputs):
        return self.solve(inputs)


def asked(rows, kind="maximize"):
    ones = np.ones((rows, 2), dtype=np.int8)
    return Questions(kind, ones, np.ones((rows, 2)), ones[:, :1])


def stage(seconds):
    """Rows that take so long each, by a clock that only they move."""
    clock = Clock()
    solver = Takes(clock, seconds)
    return InProcess(xor(), lambda theory: solver, SlowBatches("Sat", clock)), solver


def test_a_slow_batch_warns_while_it_is_answered():
    rows, solver = stage(0.75)
    with pytest.warns(SlowBatchWarning) as caught:
        rows.answer(asked(40))
    assert solver.rows == 40
    (only,) = caught
    assert str(only.message) == (
        "Sat.maximize took 2.2 s for 3 of 40 rows; at this rate the batch takes 30 s. If the "
        "theory fits Circuit() or Table(), they answer a whole batch at once; a lower timeout_ms "
        "limits each row, and workers share the rows. This warning is given once."
    )


def test_it_comes_before_the_rows_that_are_left():
    rows, solver = stage(0.75)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowBatchWarning)
        with pytest.raises(SlowBatchWarning):
            rows.answer(asked(40))
    assert solver.rows == 3
    assert (rows.answer(asked(2)).status == Status.SAT).all()


def test_it_is_given_once_per_kind_of_query():
    rows, _ = stage(0.75)
    kinds = ["maximize", "solve", "maximize", "solve"]
    with pytest.warns(SlowBatchWarning) as caught:
        [rows.answer(asked(5, kind)) for kind in kinds]
    found = [str(one.message).split()[0] for one in caught]
    assert found == ["Sat.maximize", "Sat.solve"]


@pytest.mark.parametrize(("seconds", "rows"), [(0.5, 4), (2.0, 1), (0.0, 1000)])
def test_two_seconds_are_not_slow(seconds, rows):
    with warnings.catch_warnings(record=True) as caught:
        for _ in range(3):  # the clock starts again with each batch
            stage(seconds)[0].answer(asked(rows))
    assert caught == []


def test_a_single_slow_row_warns_too():
    with pytest.warns(SlowBatchWarning, match=r"took 9.0 s for 1 of 1 rows\. If"):
        stage(9.0)[0].answer(asked(1))


def test_the_start_of_workers_does_not_count():
    clock, questions = Clock(), asked(8)
    schedule = Schedule(questions, SlowBatches("Z3", clock).watch(questions))
    clock.now += 60.0

    def settle(seconds):
        rows = schedule.take(2)
        schedule.settle(rows, Answers.unknown(schedule.part(rows)).plus(seconds))

    with warnings.catch_warnings():
        warnings.simplefilter("error", SlowBatchWarning)
        settle(1.5)
    with pytest.warns(SlowBatchWarning, match=r"Z3.maximize took 3.0 s for 4 of 8 rows; .* 6 s"):
        settle(1.5)


@pytest.mark.parametrize("workers", [0, 1])
def test_solvers_warn(workers, monkeypatch):
    monkeypatch.setattr(SlowBatches, "after_s", 0.0)
    solver = faulty.solver(faulty.Echo, workers=workers)
    with pytest.warns(SlowBatchWarning, match=r"^Faulty.solve took .* of 3 rows"):
        solver.solve(faulty.rows(1, 2, 3))


def test_executors_warn(monkeypatch):
    monkeypatch.setattr(SlowBatches, "after_s", 0.0)
    with ThreadPoolExecutor(1) as executor:
        solver = faulty.solver(faulty.Echo, workers=executor)
        with pytest.warns(SlowBatchWarning, match=r"^Faulty.solve took .* of 3 rows"):
            solver.solve(faulty.rows(1, 2, 3))


def test_rows_from_memory_take_no_time(monkeypatch):
    solver = Sat().compile(xor())
    signs = torch.tensor([[1, 1], [1, -1]], dtype=torch.int8)
    solver.solve(signs)
    monkeypatch.setattr(SlowBatches, "after_s", 0.0)
    with warnings.catch_warnings(record=True) as caught:
        solver.solve(signs)
    assert caught == []
