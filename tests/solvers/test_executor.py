"""Batches over executors: standard ones, broken ones, late ones."""

import copy
import multiprocessing
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import faulty
import pytest
import torch
from faulty import BAD, assert_answers, rows, solver

from smtlayer import Z3, SMTLayer, Status
from smtlayer.errors import SolverCrashedError
from smtlayer.testing.theories import addition, xor

NUMBERS = list(range(20))
processes = partial(ProcessPoolExecutor, 1, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module")
def process_pool():
    with processes() as executor:
        yield executor


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.mark.parametrize("kind", ["process_pool", "threads"])
def test_executors_give_the_answers_of_this_process(kind, request):
    theory = addition(4)
    here = Z3().compile(theory)
    there = Z3(workers=request.getfixturevalue(kind)).compile(theory)
    inputs = torch.randint(-1, 2, (40, 8), dtype=torch.int8)
    outputs = torch.randint(-1, 2, (40, 5), dtype=torch.int8)
    weights = torch.rand(40, 8)
    for _ in range(2):
        assert here.solve(inputs).status.equal(there.solve(inputs).status)
        expected, found = (s.maximize(inputs, weights, outputs) for s in (here, there))
        assert expected.status.equal(found.status)
        assert torch.allclose(expected.cost, found.cost)
        expected, found = (s.core(inputs, weights, outputs) for s in (here, there))
        assert expected.status.equal(found.status)
        assert expected.inputs.equal(found.inputs)


def test_answers_keep_their_order_and_bad_rows_are_unknown(threads):
    assert_answers(solver(faulty.Crashes, threads).solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD])
    assert solver(faulty.Crashes, threads).solve(rows()).status.shape == (0,)


def test_a_given_executor_is_never_shut_down(threads):
    assert_answers(solver(faulty.Echo, threads).solve(rows(1, 2)), [1, 2])
    assert threads.submit(int).result() == 0


def test_an_executor_made_here_is_made_once_and_shut_down_with_its_solver():
    made = []

    def make():
        made.append(ThreadPoolExecutor(2))
        return made[-1]

    asked = solver(faulty.Echo, make)
    for _ in range(3):
        assert_answers(asked.solve(rows(1, 2)), [1, 2])
    assert len(made) == 1
    del asked
    with pytest.raises(RuntimeError, match="after shutdown"):
        made[0].submit(int)


def test_a_broken_executor_costs_its_rows_and_one_warning():
    executor = processes()
    deadly = solver(faulty.Dies, executor)
    with pytest.warns(
        RuntimeWarning, match="Faulty: the executor failed .BrokenProcessPool"
    ) as caught:
        found = deadly.solve(rows(*range(BAD, 12)))
    assert found.status.tolist() == [Status.UNKNOWN] * 5
    with pytest.warns(RuntimeWarning, match=r"3 of 3 rows are UNKNOWN. Give a function that makes"):
        assert_answers(deadly.solve(rows(1, 2, 3)), [1, 2, 3], unknown=[1, 2, 3])
    assert len(caught) == 1
    executor.shutdown()


def test_a_broken_executor_is_replaced_if_we_know_how(tmp_path):
    deadly = solver(partial(faulty.DiesOnce, tmp_path / "died"), processes)
    assert_answers(deadly.solve(rows(*NUMBERS)), NUMBERS)


class Failing(Executor):
    """Fails on whatever is submitted."""

    def submit(self, function, /, *args):
        future = Future()
        future.set_exception(OSError("the network is down"))
        return future


def test_a_replacement_that_does_no_better_is_in_the_warning():
    with pytest.warns(RuntimeWarning, match="OSError: the network is down.*did no better"):
        found = solver(faulty.Echo, Failing).solve(rows(1, 2))
    assert_answers(found, [1, 2], unknown=[1, 2])


def test_an_executor_that_hangs_is_not_waited_for(threads, monkeypatch):
    monkeypatch.setattr("smtlayer.solvers.workers.executor.MARGIN_S", 0.5)
    faulty.RELEASE.clear()
    waiting = solver(faulty.WaitsForRelease, threads, limit_ms=100)
    try:
        with pytest.warns(RuntimeWarning, match="no answer within"):
            found = waiting.solve(rows(*NUMBERS))
    finally:
        faulty.RELEASE.set()
    assert_answers(found, NUMBERS, unknown=[BAD])


def test_what_cannot_be_opened_is_an_error(threads):
    with pytest.raises(SolverCrashedError, match="ValueError: the licence has expired"):
        solver(faulty.CannotOpen, threads).solve(rows(1, 2))


def test_an_executor_is_refused_in_a_forked_child(threads, monkeypatch):
    asked = solver(faulty.Echo, threads)
    monkeypatch.setattr("os.getpid", lambda: -5)
    with pytest.raises(SolverCrashedError, match=r"does not survive a fork. Give a function"):
        asked.solve(rows(1))


def test_a_forked_child_makes_an_executor_of_its_own(monkeypatch):
    made = []

    def make():
        made.append(ThreadPoolExecutor(1))
        return made[-1]

    asked = solver(faulty.Echo, make)
    asked.solve(rows(1))
    monkeypatch.setattr("os.getpid", lambda: -5)
    assert_answers(asked.solve(rows(1)), [1])
    assert len(made) == 2
    for executor in made:
        executor.shutdown()


def test_layers_with_an_executor_can_be_copied_and_say_why_they_cannot_be_pickled(threads):
    layer = SMTLayer(xor(), backend=Z3(workers=threads))
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    assert copy.deepcopy(layer)(logits).tolist() == layer(logits).tolist() == [[1.0], [-1.0]]
    assert copy.deepcopy(layer).backend.workers is threads
    with pytest.raises(TypeError, match=r"Z3 cannot be pickled with an executor .*partial"):
        pickle.dumps(layer)
    backend = pickle.loads(pickle.dumps(Z3(workers=processes)))
    assert backend.workers.func is ProcessPoolExecutor
