"""Batches over our own worker processes: the same answers, shared evenly, nothing left over."""

import gc
import os
import sys
import threading
from functools import partial
from pathlib import Path

import faulty
import pytest
import torch
from faulty import assert_answers, rows, solver
from torch.utils.data import DataLoader, Dataset

from smtlayer import Z3, SMTLayer, Status
from smtlayer.errors import SolverCrashedError
from smtlayer.solvers.workers.pool import pool_of
from smtlayer.testing.theories import addition, free_outputs, xor

GENERATOR = torch.Generator().manual_seed(0)


def random_signs(*shape):
    return torch.randint(-1, 2, shape, dtype=torch.int8, generator=GENERATOR)


def children():
    """The processes that this one has started and not yet taken leave of."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for threads in lists for pid in threads.read_text().split()}


def handles():
    """The number of files, pipes and sockets that this process holds."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.usefixtures("pool", "_always_pool")
@pytest.mark.parametrize("theory", [addition(4), free_outputs()], ids=["addition", "free_outputs"])
def test_workers_give_the_answers_of_this_process(theory):
    here, there = Z3().compile(theory), Z3(workers=2).compile(theory)
    inputs, outputs = random_signs(40, theory.n_inputs), random_signs(40, theory.n_outputs)
    weights = torch.rand(40, theory.n_inputs, generator=GENERATOR)
    assert here.solve(inputs).status.equal(there.solve(inputs).status)
    for wanted in (None, outputs):  # some wanted, some free
        expected = here.maximize(inputs, weights, wanted)
        found = there.maximize(inputs, weights, wanted)
        assert expected.status.equal(found.status)
        assert expected.proved.equal(found.proved)
        assert torch.allclose(expected.cost, found.cost)
    expected, found = (s.core(inputs, weights, outputs) for s in (here, there))
    assert expected.status.equal(found.status)
    assert expected.inputs.equal(found.inputs)


@pytest.mark.usefixtures("pool", "_always_pool")
def test_answers_keep_their_order_and_their_dtypes():
    here, there = solver(faulty.Echo, 0), solver(faulty.Echo, 2)
    inputs, wanted = rows(*range(250)), random_signs(250, 5)
    weights = torch.rand(250, 8, generator=GENERATOR)
    for _ in range(3):
        assert_answers(there.solve(inputs), range(250))
        for ask in (lambda s: s.maximize(inputs, weights, wanted), lambda s: s.solve(inputs)):
            for name in ("status", "inputs", "outputs", "cost", "proved"):
                expected, found = getattr(ask(here), name), getattr(ask(there), name)
                assert expected.equal(found)
                assert expected.dtype == found.dtype
        expected, found = (s.core(inputs, weights, wanted) for s in (here, there))
        assert expected.status.equal(found.status)
        assert expected.inputs.equal(found.inputs)


@pytest.mark.usefixtures("pool")
def test_a_repair_that_was_not_proved_best_is_marked():
    for workers in (0, 2):
        found = solver(faulty.Doubts, workers).maximize(rows(4, 5), torch.ones(2, 8))
        assert found.proved.tolist() == [False, True]
        assert found.status.tolist() == [Status.SAT] * 2


def test_an_empty_batch_starts_no_process():
    asked = solver(faulty.Echo, 9)
    before = children()
    assert asked.solve(rows()).status.shape == (0,)
    assert asked.core(rows(), torch.zeros(0, 8), torch.zeros(0, 5)).inputs.shape == (0, 8)
    assert children() == before


@pytest.mark.usefixtures("pool")
def test_one_hard_row_does_not_hold_up_the_others(tmp_path):
    log, numbers = tmp_path / "log", [255] + [1] * 30
    assert_answers(solver(partial(faulty.Logs, log)).solve(rows(*numbers)), numbers)
    answered = [line.split() for line in log.read_text().splitlines()]
    busy = next(pid for pid, number in answered if number == "255")
    assert sum(pid == busy for pid, _ in answered) < 16
    assert len({pid for pid, _ in answered}) == 2


@pytest.mark.usefixtures("pool")
def test_threads_may_ask_at_once():
    asked, wrong = solver(faulty.Sleeps), []

    def ask(first):
        numbers = list(range(first, first + 10))
        for _ in range(3):
            try:
                assert_answers(asked.solve(rows(*numbers)), numbers)
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask, args=(10 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_solvers_share_the_pool_of_their_size(pool):
    first, second = (solver(faulty.Echo) for _ in range(2))
    assert_answers(first.solve(rows(1, 2)), [1, 2])
    assert_answers(second.solve(rows(3, 4)), [3, 4])
    assert first._first.pool is second._first.pool is pool
    assert pool_of(3) is not pool


@pytest.mark.usefixtures("pool")
def test_what_is_dropped_leaves_no_process_and_no_handle():
    gc.collect()
    before = children(), handles()
    layers = [SMTLayer(xor(), backend=Z3(workers=5)) for _ in range(10)]  # a pool of their own
    for layer in layers:
        layer(torch.ones(1, 2, requires_grad=True)).sum().backward()  # work for one
    assert len(children() - before[0]) == 1
    del layer, layers
    gc.collect()
    assert (children(), handles()) == before


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_workers_of_its_own_and_leaves_its_parents_alone(pool):
    asked = solver(faulty.Echo)
    assert_answers(asked.solve(rows(1, 2, 3)), [1, 2, 3])
    before = pool.pids
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            assert pool.pids == []  # its copies of the handles are closed
            assert_answers(asked.solve(rows(4)), [4])
            os.write(writer, b"same" if asked._first.pool.pids == before else b"own")
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"own"
    os.close(reader)
    assert_answers(asked.solve(rows(6, 7)), [6, 7])
    assert pool.pids == before


class Sums(Dataset):
    """Asks a layer in the process of a data loader."""

    def __init__(self):
        self.layer = SMTLayer(xor(), backend=Z3(workers=1))

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return self.layer(torch.tensor([[1.0, -1.0], [1.0, 1.0]]))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_pools_work_inside_data_loaders(context):
    loader = DataLoader(Sums(), num_workers=1, multiprocessing_context=context)
    assert [batch.flatten().tolist() for batch in loader] == [[1.0, -1.0]] * 2


def test_a_backend_of_the_running_script_is_refused_with_advice(pool, monkeypatch):
    class Local(faulty.Echo):
        pass

    Local.__module__, Local.__qualname__ = "__main__", "Local"
    monkeypatch.setattr(sys.modules["__main__"], "Local", Local, raising=False)
    with pytest.raises(SolverCrashedError, match="Define it in a module that can be imported"):
        solver(Local).solve(rows(1))


def test_what_cannot_be_pickled_is_refused_at_once():
    with pytest.raises(TypeError, match=r"Faulty cannot send .*lambda.* to worker processes"):
        solver(lambda theory: faulty.Echo(theory))


@pytest.mark.parametrize(
    ("workers", "error"), [(-1, ValueError), (True, ValueError), ("2", TypeError), (2.0, TypeError)]
)
def test_wrong_workers_are_refused(workers, error):
    expected = f"expects workers to be 0, a number of processes.* Got {workers!r}"
    with pytest.raises(error, match=f"Z3 {expected}"):
        Z3(workers=workers)
    with pytest.raises(error, match=f"Faulty {expected}"):
        solver(faulty.Echo, workers)


def resident_mb(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.usefixtures("_always_pool")
@pytest.mark.parametrize("batches", [30, pytest.param(1_000, marks=pytest.mark.slow)])
def test_questions_leave_nothing_in_memory(pool, batches):
    asked = Z3(workers=2).compile(xor())
    inputs = torch.tensor([[1, 1], [1, -1], [0, 1], [-1, 0]], dtype=torch.int8).repeat(25, 1)
    for _ in range(10):
        asked.solve(inputs)
    processes = [os.getpid(), *pool.pids]
    before = [resident_mb(pid) for pid in processes]
    for _ in range(batches):
        assert asked.solve(inputs).status.eq(Status.SAT).all()
    assert processes == [os.getpid(), *pool.pids]
    assert all(resident_mb(pid) - mb < 10 for pid, mb in zip(processes, before, strict=True))
