"""This file lifts a solver of rows to a solver of batches, here or over worker processes."""

import warnings
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from smtlayer.solvers.host.row_solvers import OpenRow
from smtlayer.solvers.host.rows import Answers, Kind, Questions
from smtlayer.solvers.results import Core, Solution, Status
from smtlayer.solvers.validation import check_question
from smtlayer.solvers.workers.options import Workers, answering
from smtlayer.theory import Theory


@final
class Rowwise:
    """Answers a batch row by row, in this process or over workers.

    A row solver that raises leaves that row UNKNOWN and is opened anew. It is opened anew in a
    forked process, too, since solvers do not survive a fork. A worker process that dies or hangs
    is replaced and its rows are asked once more.

    Args:
        theory: The theory that the row solver answers for.
        open_row: Makes the row solver; called in the process that will use it, so with workers it
            must be picklable.
        name: Who answers, for messages.
        limit_ms: Time limit of one question.
        deterministic: Whether a row's model is independent of earlier questions.
        workers: 0 for this process; a number of worker processes, which all solvers with the same
            number share, and which stand by while batches are so small that this process is
            faster; an `Executor`; or a function that makes one, such as
            `partial(ProcessPoolExecutor, 4)` or Dask's `client.get_executor`.
    """

    capturable = False
    on_host = True
    cache_hits = 0

    def __init__(
        self,
        theory: Theory,
        open_row: OpenRow,
        *,
        name: str,
        limit_ms: int | None,
        deterministic: bool,
        workers: Workers = 0,
    ) -> None:
        self.theory = theory
        self.name = name
        self.limit_ms = limit_ms
        self.deterministic = deterministic
        self._answering = answering(theory, open_row, name, limit_ms, workers)
        self._warned = False
        self.trouble = ""  # why rows of the last batch have no answer, if not for their time limit

    def solve(self, inputs: Tensor) -> Solution:
        return self._solution(self._ask("solve", inputs, None, None), inputs, None)

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        return self._solution(self._ask("maximize", inputs, weights, outputs), inputs, weights)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        answers = self._ask("core", inputs, weights, outputs)
        blamed = torch.from_numpy(answers.inputs != 0)
        return Core(torch.from_numpy(answers.status).to(inputs.device), blamed.to(inputs.device))

    def _ask(
        self, kind: Kind, inputs: Tensor, weights: Tensor | None, outputs: Tensor | None
    ) -> Answers:
        check_question(self.name, self.theory, inputs, weights, outputs)
        B = len(inputs)  # noqa: N806
        questions = Questions(
            kind,
            _array(inputs, torch.int8),
            np.zeros((B, 0)) if weights is None else _array(weights, torch.float64),
            np.zeros((B, self.theory.n_outputs), dtype=np.int8)
            if outputs is None
            else _array(outputs, torch.int8),
        )
        answers = self._answering.answer(questions) if B else Answers.unknown(questions)
        self.trouble = answers.error
        if answers.error and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name} failed on a row: {answers.error}. Such rows are UNKNOWN; this "
                f"warning is given once.",
                RuntimeWarning,
                stacklevel=3,
            )
        return answers

    def _solution(self, answers: Answers, inputs: Tensor, weights: Tensor | None) -> Solution:
        arrays = (answers.status, answers.inputs, answers.outputs, answers.proved)
        status, found, outputs, proved = (torch.from_numpy(a).to(inputs.device) for a in arrays)
        cost = torch.zeros(len(inputs), dtype=torch.float64, device=inputs.device)
        if weights is not None:
            overruled = found * inputs < 0
            cost = torch.where(overruled, weights.to(inputs.device).double(), 0).sum(-1)
            cost = cost.clamp(max=torch.finfo(torch.float64).max)  # infinite means: no model
        cost = torch.where(status == Status.SAT, cost, torch.inf)
        return Solution(status, found, outputs, cost, proved)


def _array(values: Tensor, dtype: torch.dtype) -> Any:
    return values.detach().to("cpu", dtype).numpy()
