"""A solver with a memory: it obeys the laws, stays small, and shares with threads."""

import os
import threading
from dataclasses import dataclass

import pytest
import torch
from stages import Asks, solver_of

from smtlayer import Z3, Core, Enumerate, Solution, Table
from smtlayer.solvers import Backend
from smtlayer.solvers.host.memory import Memory
from smtlayer.testing import SolverConformance
from smtlayer.testing.theories import addition, xor


def remembering(solver, size):
    return solver_of(solver.theory, Memory(Asks(solver), size), solver.deterministic)


@dataclass(frozen=True)
class Remembered:
    """Another backend with a memory."""

    inner: Backend
    size: int = 1000

    def compile(self, theory):
        return remembering(self.inner.compile(theory), self.size)


@pytest.mark.slow  # Z3 has this memory itself, in test_conformance.py
class TestRememberedZ3(SolverConformance):
    backend = Remembered(Z3())
    seeds = 10


@pytest.mark.slow
class TestRememberedTable(SolverConformance):
    backend = Remembered(Table())
    seeds = 5


class TestForgetfulTable(SolverConformance):
    backend = Remembered(Table(), size=5)  # less than a batch
    seeds = 5


@pytest.mark.slow
class TestForgetfulEnumerate(SolverConformance):
    backend = Remembered(Enumerate(), size=5)
    seeds = 5


class Echo:
    """Answers anything at once: every input is the model, every input is blamed."""

    theory, deterministic = addition(10), True

    def solve(self, inputs):
        ones = torch.ones(len(inputs), dtype=torch.int8)
        outputs = ones[:, None].repeat(1, 11)
        return Solution(ones, inputs, outputs, torch.zeros(len(inputs), dtype=torch.float64))

    def maximize(self, inputs, weights, outputs=None):
        return self.solve(inputs)

    def core(self, inputs, weights, outputs):
        return Core(torch.zeros(len(inputs), dtype=torch.int8), inputs != 0)


def test_the_memory_does_not_grow_beyond_its_size():
    solver = remembering(Echo(), 500)
    bits = 2 ** torch.arange(20)
    for start in range(0, 100_000, 2000):
        numbers_ = torch.arange(start, start + 2000)[:, None]
        solver.solve(torch.where((numbers_ & bits) > 0, 1, -1).to(torch.int8))
        assert len(solver._first) == 500
    assert solver.cache_hits == 0
    assert sum(map(len, solver._first._records._entries.values())) < 500 * 64


def test_equal_weights_are_ordered_by_column_among_many_too():
    solver = remembering(Echo(), 500)
    inputs, wanted = torch.ones(1, 20, dtype=torch.int8), torch.ones(1, 11, dtype=torch.int8)
    pairs = torch.arange(20) // 2 % 5
    solver.core(inputs, 1.0 + pairs[None], wanted)
    solver.core(inputs, 2.0 + pairs[None] - 1e-3 * torch.arange(20), wanted)
    assert solver.cache_hits == 1


def questions(theory, seed, rows=40):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randint(-1, 2, (rows, theory.n_inputs), generator=generator).to(torch.int8)
    weights = torch.rand(inputs.shape, generator=generator, dtype=torch.float64) + 0.1
    outputs = torch.randint(-1, 2, (rows, theory.n_outputs), generator=generator).to(torch.int8)
    return inputs, weights, outputs


def answers(solver, inputs, weights, outputs):
    return [
        solver.solve(inputs),
        solver.maximize(inputs, weights, outputs),
        solver.core(inputs, weights, outputs),
    ]


def test_threads_may_ask_at_once():
    theory = addition()
    solver = remembering(Z3().compile(theory), 20)  # small: threads push out each other's answers
    plain = Table().compile(theory)
    batches = [questions(theory, seed % 3) for seed in range(6)]
    expected = [answers(plain, *batch) for batch in batches]
    failures, barrier, rounds = [], threading.Barrier(len(batches)), 3

    def work(i):
        barrier.wait()
        for _ in range(rounds):
            for ours, theirs in zip(answers(solver, *batches[i]), expected[i], strict=True):
                if not torch.equal(ours.status, theirs.status):
                    failures.append(i)
                if isinstance(ours, Core) and not torch.equal(ours.inputs, theirs.inputs):
                    failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(solver._first) <= 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_uses_the_memory():
    solver = remembering(Table().compile(xor()), 10)
    inputs = torch.tensor([[1, -1]], dtype=torch.int8)
    solver.solve(inputs)
    child = os.fork()
    if child == 0:
        threading.Timer(300, os._exit, (9,)).start()
        right = solver.solve(inputs).outputs.item() == 1 and solver.cache_hits == 1
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
