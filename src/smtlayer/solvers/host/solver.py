"""The solver of batches that works on the host, and `Rowwise`, which makes one of a row solver."""

import warnings
from typing import final

import numpy as np
import torch
from torch import Tensor

from smtlayer.solvers.base import Core, Solution, Status
from smtlayer.solvers.host.questions import Answers, Kind, Questions, Stage
from smtlayer.solvers.host.rows import OpenRow
from smtlayer.solvers.validation import check_question, sign_array, weight_array
from smtlayer.solvers.workers.options import Workers, row_stage
from smtlayer.theory import Theory

_LARGEST = np.finfo(np.float64).max


@final
class HostSolver:
    """Answers batches by a pipeline of stages on the host, whatever the device of the tensors.

    It validates the tensors of a query and converts them to arrays, asks the first stage, and
    converts the answers back.

    Args:
        theory: The theory that the stages answer for.
        first: The first stage; a stage that does not answer all rows itself asks the next one.
        name: The name of the solver in messages.
        limit_ms: Time limit of one row's question; None if it always comes to an answer.
        deterministic: Whether the same question always gets the same model.
    """

    capturable: frozenset[str] = frozenset()
    on_host = True

    def __init__(
        self,
        theory: Theory,
        first: Stage,
        *,
        name: str,
        limit_ms: int | None,
        deterministic: bool,
    ) -> None:
        self.theory, self.name, self.limit_ms = theory, name, limit_ms
        self.deterministic = deterministic
        self.cache_hits = 0
        self.last_error = ""
        self._first = first
        self._warned = False

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""
        questions = self._questions("solve", inputs)
        answers = self._first.answer(questions) if len(inputs) else Answers.unknown(questions)
        return self._solution(questions, answers, inputs.device)

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        questions = self._questions("maximize", inputs, weights, outputs)
        answers = self._first.answer(questions) if len(inputs) else Answers.unknown(questions)
        if (questions.weights == np.inf).any():
            answers = _facts_kept(questions, answers)
        return self._solution(questions, answers, inputs.device)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """A minimal set of inputs that contradicts the wanted outputs."""
        questions = self._questions("core", inputs, weights, outputs)
        answers = self._first.answer(questions) if len(inputs) else Answers.unknown(questions)
        if (questions.weights == np.inf).any():
            answers = _facts_kept(questions, answers)
        self._count(answers)
        status, blamed = torch.from_numpy(answers.status), torch.from_numpy(answers.inputs != 0)
        return Core(status.to(inputs.device), blamed.to(inputs.device))

    def _questions(
        self,
        kind: Kind,
        inputs: Tensor,
        weights: Tensor | None = None,
        outputs: Tensor | None = None,
    ) -> Questions:
        check_question(self.name, self.theory, inputs, weights, outputs, values=False)
        signs = sign_array(self.name, "inputs", inputs)
        if outputs is None:
            wanted = np.zeros((len(signs), self.theory.n_outputs), dtype=np.int8)
        else:
            wanted = sign_array(self.name, "outputs", outputs)
        if weights is None:
            return Questions(kind, signs, np.zeros((len(signs), 0)), wanted)
        return Questions(kind, signs, weight_array(self.name, weights, signs), wanted)

    def _solution(self, questions: Questions, answers: Answers, device: torch.device) -> Solution:
        self._count(answers)
        cost = np.where(answers.status == Status.SAT, 0.0, np.inf)
        if questions.kind == "maximize":
            overruled = (answers.inputs * questions.inputs < 0).ravel().nonzero()[0]
            if len(overruled):
                rows = overruled // questions.inputs.shape[1]
                total = np.bincount(rows, questions.weights.take(overruled), len(cost))
                cost += np.minimum(total, _LARGEST)  # infinite means: no model
        arrays = (answers.status, answers.inputs, answers.outputs, cost, answers.proved)
        tensors = map(torch.from_numpy, arrays)
        return Solution(*tensors if device.type == "cpu" else (part.to(device) for part in tensors))

    def _count(self, answers: Answers) -> None:
        self.cache_hits += answers.hits
        self.last_error = answers.error
        if answers.error and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name} failed on a row: {answers.error}. Such rows are UNKNOWN; this "
                f"warning is given once.",
                RuntimeWarning,
                stacklevel=4,
            )


def _facts_kept(questions: Questions, answers: Answers) -> Answers:
    """The answers, UNKNOWN for rows in which a row solver overruled or blamed a fact.

    Such an answer is wrong, but it does not follow that the row is UNSAT: a row solver that does
    not know facts may have missed a model that agrees with them.
    """
    facts = questions.inputs * (questions.weights == np.inf)
    core = questions.kind == "core"
    wrong = (answers.inputs * facts) != 0 if core else answers.inputs * facts < 0
    if not wrong.any():
        return answers
    kept, column = ~wrong.any(-1), int(wrong.nonzero()[1][0])
    error = f"it {'blamed' if core else 'overruled'} input {column}, which is a fact"
    status = np.where(kept, answers.status, Status.UNKNOWN).astype(np.int8)
    inputs, outputs = (part * kept[:, None] for part in (answers.inputs, answers.outputs))
    counters = (answers.seconds, answers.error or error, answers.hits)
    return Answers(status, inputs, outputs, answers.proved & kept, *counters)


def Rowwise(  # noqa: N802 (makes a solver, as a class would)
    theory: Theory,
    open_row: OpenRow,
    *,
    name: str,
    limit_ms: int | None,
    deterministic: bool,
    workers: Workers = 0,
) -> HostSolver:
    """A solver that answers a batch row by row, in this process or over workers.

    A row solver that raises leaves that row UNKNOWN and is opened anew. It is opened anew in a
    forked process, too, since solvers do not survive a fork. A worker process that dies or hangs
    is replaced and its rows are asked once more. A row whose facts, the inputs of infinite weight,
    were overruled or blamed is UNKNOWN, with a warning.

    Args:
        theory: The theory that the row solver answers for.
        open_row: Makes the row solver; called in the process that will use it, so with workers it
            must be picklable.
        name: The name of the solver in messages.
        limit_ms: Time limit of one question.
        deterministic: Whether a row's model is independent of earlier questions.
        workers: 0 for this process; a number of worker processes, which all solvers with the same
            number share, and which stand by while batches are so small that this process is
            faster; an `Executor`; or a function that makes one, such as
            `partial(ProcessPoolExecutor, 4)` or Dask's `client.get_executor`.
    """
    rows = row_stage(theory, open_row, name, limit_ms, workers)
    return HostSolver(theory, rows, name=name, limit_ms=limit_ms, deterministic=deterministic)
