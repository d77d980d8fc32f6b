"""Helpers of several test files: backends, queries, and solvers that are wrong on purpose."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import z3
from torch import Tensor, nn
from torch.utils.data import Dataset

from smtlayer import Z3, Core, Enumerate, SMTLayer, Solution, Status, Table, Theory
from smtlayer.solvers import Solver

BACKENDS = (Table(), Z3(), Enumerate())
FORWARD = ("smt", "maxsmt")
BACKWARD = ("core", "maxsmt")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Answer = Solution | Core


@dataclass(frozen=True, eq=False)
class Asked:
    """A question as a solver got it."""

    name: str  # solve, maximize or core
    inputs: Tensor
    weights: Tensor | None
    outputs: Tensor | None


Change = Callable[[Asked, Answer], Answer]


@dataclass(frozen=True, eq=False)
class Changed:
    """A solver whose answers pass through a function before anybody sees them."""

    inner: Solver
    change: Change
    limit_ms: int | None = 25
    deterministic: bool = True
    capturable: frozenset[str] = frozenset()
    on_host: bool = False
    cache_hits: int = 0
    last_error: str = ""
    name: str = "Changed"

    @property
    def theory(self) -> Theory:
        return self.inner.theory

    def solve(self, inputs: Tensor) -> Solution:
        return self.change(Asked("solve", inputs, None, None), self.inner.solve(inputs))

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        asked = Asked("maximize", inputs, weights, outputs)
        return self.change(asked, self.inner.maximize(inputs, weights, outputs))

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        asked = Asked("core", inputs, weights, outputs)
        return self.change(asked, self.inner.core(inputs, weights, outputs))


def unknown_where(rows: Tensor, answer: Answer) -> Answer:
    """The answer with some rows given up, as law 7 wants it."""
    status = torch.where(rows, Status.UNKNOWN, answer.status).to(torch.int8)
    if isinstance(answer, Core):
        return Core(status, answer.inputs & ~rows[:, None])
    keep = (~rows[:, None]).to(torch.int8)
    cost = torch.where(rows, torch.inf, answer.cost)
    return Solution(status, answer.inputs * keep, answer.outputs * keep, cost)


@dataclass(frozen=True)
class GivesUp:
    """A backend that gives up on rows with the given signs, in the given questions."""

    signs: tuple[int, ...]
    questions: tuple[str, ...] = ("solve", "maximize", "core")

    def compile(self, theory: Theory) -> Solver:
        return Changed(Table().compile(theory), self._change, name="GivesUp")

    def _change(self, asked: Asked, answer: Answer) -> Answer:
        if asked.name not in self.questions:
            return answer
        rows = (asked.inputs == torch.tensor(self.signs, dtype=torch.int8)).all(-1)
        return unknown_where(rows, answer)


def seeds(default: int, slow: int, step: int = 1) -> list[Any]:
    """Seeds for `parametrize`: so many in the default suite, the others with `-m slow`."""
    more = [pytest.param(n * step, marks=pytest.mark.slow) for n in range(default, slow)]
    return [*(n * step for n in range(default)), *more]


def random_logits(rows: int, columns: int, seed: int = 0, dtype: torch.dtype = torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(rows, columns, generator=generator, dtype=dtype)


def input_gradient(layer: SMTLayer, logits: Tensor, grad: Tensor, known: Tensor | None = None):
    """The gradient of the logits for a given gradient of the outputs."""
    leaf = logits.detach().clone().requires_grad_()
    layer(leaf, known).backward(grad.to(leaf.dtype))
    return leaf.grad


def bijection(bits: int, seed: int, dropped: int = 0) -> Theory:
    """Each label fits one input and each input one label; `dropped` inputs have no model."""
    order = torch.randperm(2**bits, generator=torch.Generator().manual_seed(seed)).tolist()
    x, y = z3.BitVecs("x y", bits)
    pairs = [z3.And(x == a, y == b) for a, b in enumerate(order)]
    return Theory(z3.Or(pairs[dropped:]), inputs=[x], outputs=[y])


def majority_of_three() -> Theory:
    """y is what most inputs say: blame has a choice to make."""
    a, b, c, y = z3.Bools("a b c y")
    return Theory(y == z3.AtLeast(a, b, c, 2), inputs=[a, b, c], outputs=[y])


def all_equal(columns: int) -> Theory:
    """Inputs that must all agree; y is what they agree on."""
    inputs = [z3.Bool(f"x{i}") for i in range(columns)]
    y = z3.Bool("y")
    return Theory([x == y for x in inputs], inputs=inputs, outputs=[y])


class Answers(Dataset):
    """A data set that asks a layer for each of its items, as a worker process would."""

    def __init__(self, layer: SMTLayer, logits: Tensor) -> None:
        self.layer = layer
        self.logits = logits

    def __len__(self) -> int:
        return len(self.logits)

    def __getitem__(self, index: int) -> Tensor:
        return self.layer(self.logits[index])


def small_network(layer: nn.Module, columns: int) -> nn.Sequential:
    """A network with the layer in its middle of nowhere: features, logits, layer."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, columns), layer)


class Stop:
    """Interrupts the training after so many steps, as Ctrl-C does."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, event: object) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """A process whose output is read here; however the test ends, it does not outlive it.

    One that hangs is killed after ten minutes, which no busy machine takes, so that its test fails.
    Lines that arrive together with one that was read by `readline` are lost to `communicate`.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as it:
        alarm = threading.Timer(600, it.kill)
        alarm.start()
        try:
            yield it
        finally:
            alarm.cancel()
            it.kill()
