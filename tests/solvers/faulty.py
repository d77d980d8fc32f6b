"""Row solvers that do no harm, and others that do, in a module that workers can import.

Rows are numbers from 0 to 255, written in the eight input columns of `addition(4)`.
"""

import ctypes
import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import torch

from smtlayer import Status
from smtlayer.errors import SolverCrashedError
from smtlayer.solvers import Row, Rowwise
from smtlayer.testing.theories import addition

BAD = 7  # the row that harms
RELEASE = threading.Event()


def rows(*numbers):
    """The input signs of these rows."""
    bits = [[1 if n >> i & 1 else -1 for i in reversed(range(8))] for n in numbers]
    return torch.tensor(bits, dtype=torch.int8).reshape(len(numbers), 8)


def solver(open_row, workers=2, limit_ms=5_000):
    name = "Faulty"
    options = {"limit_ms": limit_ms, "deterministic": True, "workers": workers}
    return Rowwise(addition(4), open_row, name=name, **options)


def assert_answers(solution, numbers, unknown=()):
    """Every row has its own answer, except those that must be UNKNOWN."""
    status = [Status.UNKNOWN if n in unknown else Status.SAT for n in numbers]
    assert solution.status.tolist() == status
    right = rows(*numbers) * (solution.status[:, None] == Status.SAT)
    assert solution.inputs.equal(right)
    assert solution.outputs.equal(right[:, 3:])


class Echo:
    """The inputs are the model, their last five columns the outputs."""

    def __init__(self, theory):
        self.theory = theory

    def solve(self, inputs):
        self.answer(sum((sign > 0) << 7 - i for i, sign in enumerate(inputs)))
        return Row(Status.SAT, inputs, inputs[3:])

    def maximize(self, inputs, weights, outputs):
        row = self.solve(inputs)
        return Row(Status.SAT, inputs, [y or x for x, y in zip(row.outputs, outputs, strict=True)])

    def core(self, inputs, weights, outputs):
        return Status.UNSAT, [i for i, weight in enumerate(weights) if weight > 0.5]

    def answer(self, number):
        """What it does to answer."""


class Doubts(Echo):
    def maximize(self, inputs, weights, outputs):
        return Row(Status.SAT, inputs, inputs[3:], inputs[7] > 0)


class Throws(Echo):
    def answer(self, number):
        if number == BAD:
            raise ZeroDivisionError("no such row")


class Crashes(Echo):
    def answer(self, number):
        if number == BAD:
            raise SolverCrashedError("out of memory")


class Dies(Echo):
    def answer(self, number):
        if number == BAD:
            os.kill(os.getpid(), signal.SIGKILL)


class DiesOnce(Echo):
    """Dies on its bad row unless the file is there."""

    def __init__(self, path, theory):
        super().__init__(theory)
        self.path = Path(path)

    def answer(self, number):
        if number == BAD and not self.path.exists():
            self.path.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Hangs(Echo):
    def answer(self, number):
        if number == BAD:
            time.sleep(1_000)


class HoldsTheInterpreter(Echo):
    """Sleeps in C without letting any other thread run."""

    def answer(self, number):
        if number == BAD:
            ctypes.PyDLL(None).sleep(1_000)


class WaitsForRelease(Echo):
    def answer(self, number):
        if number == BAD:
            RELEASE.wait(600)


class Sleeps(Echo):
    """Takes as many milliseconds as the row's number."""

    def answer(self, number):
        time.sleep(number / 1_000)


class Logs(Sleeps):
    """Writes down who answered which row."""

    def __init__(self, path, theory):
        super().__init__(theory)
        self.path = Path(path)

    def answer(self, number):
        super().answer(number)
        with self.path.open("a") as log:
            log.write(f"{os.getpid()} {number}\n")


class CannotOpen:
    def __init__(self, theory):
        raise ValueError("the licence has expired")


class DiesAtOpening:
    def __init__(self, theory):
        os._exit(3)


class Wide(Echo):
    """Models with an output too many."""

    def solve(self, inputs):
        return Row(Status.SAT, inputs, [*inputs[3:], 1])


def at_full_strength(pool, log):
    """Whether as many workers answer as the pool has room for, once there is work for all."""
    answering = set()
    for _ in range(100):  # a worker that starts late finds the rows of others answered
        solver(partial(Logs, log), pool.size).solve(rows(*[20] * 10))
        answering = {int(line.split()[0]) for line in log.read_text().splitlines()[-10:]}
        if len(answering) == pool.size:
            break
    return answering == set(pool.pids) and len(answering) == pool.size
