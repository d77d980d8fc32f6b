"""What is asked when, and where: chunks, second tries, measured choices, memories of workers."""

import pickle
from dataclasses import replace
from functools import partial

import faulty
import numpy as np
import pytest
from faulty import assert_answers, rows, solver

from smtlayer.errors import SolverCrashedError
from smtlayer.solvers.base import Status
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.lru import Lru
from smtlayer.solvers.workers.cost_model import CostModel
from smtlayer.solvers.workers.row_solvers import OPENED, RowSolverSpec
from smtlayer.solvers.workers.schedule import Schedule
from smtlayer.solvers.workers.worker import Ask, Notice, _reply
from smtlayer.testing.theories import addition


def questions(count):
    inputs = rows(*range(count)).numpy()
    return Questions("solve", inputs, np.zeros((count, 0)), np.zeros((count, 5), dtype=np.int8))


def answered(asked, chunk):
    rows_solver = RowSolverSpec.of(faulty.Echo, addition(4), "Echo").open()
    return rows_solver.answer(asked.pick(slice(chunk.start, chunk.stop)))


def test_chunks_come_back_in_any_order():
    asked = questions(7)
    schedule = Schedule(asked)
    chunks = [schedule.take(3) for _ in range(3)]
    assert chunks == [range(3), range(3, 6), range(6, 7)]
    assert (schedule.take(3), schedule.waiting) == (range(7, 7), 0)
    for chunk in reversed(chunks):
        assert not schedule.finished
        schedule.settle(chunk, answered(asked, chunk))
    assert schedule.finished
    assert np.array_equal(schedule.answers.inputs, asked.inputs)
    assert schedule.answers.seconds > 0


def test_lost_rows_are_asked_once_more_one_by_one():
    asked = questions(3)
    schedule = Schedule(asked)
    schedule.lose(schedule.take(3))
    assert schedule.waiting == 3
    again = [schedule.take(3) for _ in range(3)]
    assert again == [range(1), range(1, 2), range(2, 3)]
    schedule.lose(again[1])
    for chunk in (again[0], again[2]):
        schedule.settle(chunk, answered(asked, chunk))
    assert schedule.finished
    assert schedule.answers.status.tolist() == [Status.SAT, Status.UNKNOWN, Status.SAT]
    assert schedule.answered == 2


def test_rows_given_back_do_not_count_as_asked():
    schedule = Schedule(questions(2))
    schedule.give_back(schedule.take(2))
    assert schedule.take(2) == range(2)
    schedule.lose(range(2))
    assert schedule.waiting == 2


def test_no_answer_is_unknown_and_zero():
    nothing = Answers.unknown(questions(2))
    assert nothing.status.tolist() == [Status.UNKNOWN] * 2
    assert not nothing.inputs.any()
    assert not nothing.proved.any()


def test_chunks_hold_two_milliseconds_of_work():
    costs = CostModel()
    assert costs.chunk("solve", 100) == 1  # nothing is known yet
    costs.saw_rows("solve", 10, 0.001)
    assert costs.chunk("solve", 100) == 20
    assert costs.chunk("solve", 5) == 5
    assert costs.chunk("solve", 0) == 1
    assert costs.chunk("core", 100) == 1
    costs.saw_rows("core", 1, 5.0)
    assert costs.chunk("core", 100) == 1


def test_little_work_is_handed_out_in_one_go_and_much_in_two():
    costs = CostModel()
    assert costs.share("solve", 32, 4) == 4  # nothing is known yet
    costs.saw_rows("solve", 10, 0.001)
    assert costs.share("solve", 32, 4) == 8
    assert costs.share("solve", 33, 4) == 9
    assert costs.share("solve", 10, 8) == 3  # 0.3 ms, so that four workers sleep on
    assert costs.share("solve", 80, 4) == 10  # 2 ms each
    costs.saw_rows("core", 1, 5.0)
    assert costs.share("core", 32, 4) == 4
    assert costs.share("core", 4, 4) == 0


def test_questions_and_answers_travel_whole():
    signs, weights = np.array([[1, 0], [-1, 1]], dtype=np.int8), np.array([[0.1, 2], [3, 1e-300]])
    asked = Questions("maximize", signs, weights, np.zeros((2, 0), dtype=np.int8))
    for part in (asked, asked.pick(slice(1, 2)), asked.pick(slice(0)), questions(3)):
        same = pickle.loads(pickle.dumps(part))
        assert same.kind == part.kind
        for name in ("inputs", "weights", "outputs"):
            one, other = getattr(same, name), getattr(part, name)
            assert (one.dtype, one.shape, one.tolist()) == (
                other.dtype,
                other.shape,
                other.tolist(),
            )
    whole = replace(answered(questions(4), range(1, 4)), seconds=0.5, error="oh", hits=2)
    same = pickle.loads(pickle.dumps(whole))
    assert (same.seconds, same.error, same.hits) == (0.5, "oh", 2)
    for name in ("status", "inputs", "outputs", "proved"):
        one, other = getattr(same, name), getattr(whole, name)
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


def test_small_batches_stay_here_and_large_ones_do_not():
    costs = CostModel()
    assert not costs.prefers_local("solve", 1, 2)
    costs.saw_rows("solve", 10, 0.010)
    assert not costs.prefers_local("solve", 1, 2)  # what the pool costs is not known yet
    costs.saw_batch(0.010, 0.010, 2)  # 5 ms more than half of the work
    assert costs.prefers_local("solve", 9, 2)
    assert not costs.prefers_local("solve", 11, 2)
    assert costs.prefers_local("solve", 1_000, 1)  # one worker is never faster
    assert not costs.prefers_local("core", 1, 2)
    costs.dangerous = True
    assert not costs.prefers_local("solve", 1, 2)


def test_a_bad_measurement_does_not_count_for_ever():
    costs = CostModel()
    costs.saw_rows("solve", 1, 0.001)
    costs.saw_batch(1.0, 0.0, 2)
    stayed = 0
    while costs.prefers_local("solve", 100, 2):
        stayed += 1
    assert 10 < stayed < 1_000


@pytest.mark.usefixtures("pool")
def test_cheap_rows_come_home_and_dear_ones_do_not(tmp_path):
    cheap, dear = solver(faulty.Echo), solver(partial(faulty.Logs, tmp_path / "log"))
    for _ in range(5):
        assert_answers(cheap.solve(rows(1, 2)), [1, 2])
        assert_answers(dear.solve(rows(*[150] * 4)), [150] * 4)
    assert cheap._first.local.opened
    assert not dear._first.local.opened


def test_a_worker_keeps_the_row_solvers_asked_last(tmp_path):
    opened = Lru[str, InProcess](OPENED)
    specs = [
        RowSolverSpec.of(partial(faulty.Logs, tmp_path / str(i)), addition(4), "Logs")
        for i in range(OPENED + 1)
    ]
    asks = [Ask(spec.key, questions(1)) for spec in specs]
    assert _reply(asks[0], opened) is Notice.MISSING
    for spec in specs[:OPENED]:
        assert _reply(spec, opened) is Notice.READY
    assert isinstance(_reply(asks[0], opened), Answers)
    _reply(specs[OPENED], opened)
    assert isinstance(_reply(asks[0], opened), Answers)
    assert _reply(asks[1], opened) is Notice.MISSING
    assert RowSolverSpec.of(faulty.Echo, addition(4), "E") == RowSolverSpec.of(
        faulty.Echo, addition(4), "E"
    )


def test_the_error_of_a_spec_that_cannot_be_opened_has_the_reason():
    with pytest.raises(SolverCrashedError, match="ValueError: the licence has expired") as refusal:
        RowSolverSpec.of(faulty.CannotOpen, addition(4), "C").open()
    assert "in __init__" in refusal.value.__notes__[0]
