"""This file lifts a solver of rows to a solver of batches."""

import os
import threading
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import TypeVar, final

import torch
from torch import Tensor

from smtlayer.errors import SolverCrashedError
from smtlayer.solvers.base import Row, RowSolver
from smtlayer.solvers.results import Core, Solution, Status
from smtlayer.theory import Theory

_T = TypeVar("_T")
_GAVE_UP = Row(Status.UNKNOWN, (), ())


@final
class Rowwise:
    """Answers a batch row by row, in this process.

    A row solver that raises `SolverCrashedError` leaves that row UNKNOWN and is opened anew. It is
    opened anew in a forked process, too, since solvers do not survive a fork.

    Args:
        theory: The theory that the row solver answers for.
        open_row: Makes the row solver; called in the process that will use it.
        name: Who answers, for messages.
        limit_ms: Time limit of one question.
        deterministic: Whether a row's model is independent of earlier questions.
    """

    capturable = False
    cache_hits = 0

    def __init__(
        self,
        theory: Theory,
        open_row: Callable[[Theory], RowSolver],
        *,
        name: str,
        limit_ms: int | None,
        deterministic: bool,
    ) -> None:
        self.theory = theory
        self.name = name
        self.limit_ms = limit_ms
        self.deterministic = deterministic
        self._open_row = open_row
        self._row: RowSolver | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    def solve(self, inputs: Tensor) -> Solution:
        rows = [self._ask(methodcaller("solve", x), _GAVE_UP) for x in inputs.tolist()]
        return self._solution(rows, inputs, torch.zeros(inputs.shape, dtype=torch.float64))

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        wanted = outputs if outputs is not None else self._free(inputs)
        rows = [
            self._ask(methodcaller("maximize", x, w, y), _GAVE_UP)
            for x, w, y in zip(inputs.tolist(), weights.tolist(), wanted.tolist(), strict=True)
        ]
        return self._solution(rows, inputs, weights)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        status = torch.empty(len(inputs), dtype=torch.int8)
        blamed = torch.zeros(inputs.shape, dtype=torch.bool)
        questions = zip(inputs.tolist(), weights.tolist(), outputs.tolist(), strict=True)
        for i, (x, w, y) in enumerate(questions):
            answer, columns = self._ask(methodcaller("core", x, w, y), (Status.UNKNOWN, ()))
            status[i] = answer
            blamed[i, list(columns)] = True
        return Core(status.to(inputs.device), blamed.to(inputs.device))

    def _ask(self, question: Callable[[RowSolver], _T], gave_up: _T) -> _T:
        if self._process != os.getpid():
            self._row, self._process, self._lock = None, os.getpid(), threading.Lock()
        with self._lock:  # a solver serves one thread at a time
            if self._row is None:
                self._row = self._open_row(self.theory)
            try:
                return question(self._row)
            except SolverCrashedError:
                self._row = None
                return gave_up

    def _free(self, inputs: Tensor) -> Tensor:
        return torch.zeros((len(inputs), self.theory.n_outputs), dtype=torch.int8)

    def _solution(self, rows: Sequence[Row], inputs: Tensor, weights: Tensor) -> Solution:
        n, m = self.theory.n_inputs, self.theory.n_outputs
        none = ((0,) * n, (0,) * m)
        models = [(r.inputs, r.outputs) if r.status is Status.SAT else none for r in rows]
        status = torch.tensor([r.status for r in rows], dtype=torch.int8)
        found = torch.tensor([x for x, _ in models], dtype=torch.int8).reshape(len(rows), n)
        answers = torch.tensor([y for _, y in models], dtype=torch.int8).reshape(len(rows), m)
        overruled = found * inputs.cpu() < 0
        cost = torch.where(overruled, weights.cpu().double(), 0).sum(-1)
        cost = torch.where(status == Status.SAT, cost, torch.inf)
        device = inputs.device
        proved = torch.tensor([r.proved for r in rows], dtype=torch.bool)
        proved &= status != Status.UNKNOWN
        parts = (status, found, answers, cost, proved)
        return Solution(*(part.to(device) for part in parts))
