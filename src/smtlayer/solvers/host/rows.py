"""This file holds a batch of questions and answers as arrays, and answers them row by row."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from smtlayer.errors import SolverCrashedError
from smtlayer.solvers.base import Row, RowSolver, Signs
from smtlayer.solvers.host.row_solvers import RowSolverHandle
from smtlayer.solvers.results import Status

Kind = Literal["solve", "maximize", "core"]


@dataclass(frozen=True, slots=True)
class Questions:
    """The same question about each row of a batch."""

    kind: Kind
    inputs: NDArray[np.int8]  # (B, n)
    weights: NDArray[np.float64]  # (B, n), or (B, 0) where the question has none
    outputs: NDArray[np.int8]  # (B, m), zeros where the question wants none

    def __len__(self) -> int:
        return len(self.inputs)

    def cut(self, rows: range) -> "Questions":
        """The questions about a range of rows."""
        part = slice(rows.start, rows.stop)
        return Questions(self.kind, self.inputs[part], self.weights[part], self.outputs[part])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack, (Questions, (self.kind,), _packed(self.inputs, self.weights, self.outputs))


@dataclass(frozen=True, slots=True)
class Answers:
    """What a row solver said about each row; rows not answered yet are UNKNOWN."""

    status: NDArray[np.int8]  # (B,)
    inputs: NDArray[np.int8]  # (B, n) signs of the model, or 1 where an input is blamed
    outputs: NDArray[np.int8]  # (B, m) signs of the model
    proved: NDArray[np.bool_]  # (B,)
    seconds: float = 0.0  # that the row solver was at work
    error: str = ""  # the first failure that no row solver should have, if any

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = _packed(self.status, self.inputs, self.outputs, self.proved)
        return _unpack, (Answers, (), arrays, (self.seconds, self.error))

    @classmethod
    def unknown(cls, questions: Questions) -> "Answers":
        """No answer yet."""
        status = np.full(len(questions), Status.UNKNOWN, dtype=np.int8)
        inputs, outputs = np.zeros_like(questions.inputs), np.zeros_like(questions.outputs)
        return cls(status, inputs, outputs, np.zeros(len(questions), dtype=np.bool_))

    def store(self, rows: range, part: "Answers") -> None:
        """Takes over the answers about a range of rows."""
        where = slice(rows.start, rows.stop)
        self.status[where], self.proved[where] = part.status, part.proved
        self.inputs[where], self.outputs[where] = part.inputs, part.outputs

    def store_row(self, i: int, row: Row) -> None:
        """Takes over the answer about one row; its status last, in case the rest does not fit."""
        if len(row.inputs):
            self.inputs[i] = row.inputs
        if len(row.outputs):
            self.outputs[i] = row.outputs
        self.proved[i] = row.proved and row.status != Status.UNKNOWN
        self.status[i] = row.status

    def clear_row(self, i: int) -> None:
        """Leaves a row UNKNOWN."""
        self.inputs[i], self.outputs[i], self.proved[i] = 0, 0, False


_Packed = tuple[tuple[bytes, str, tuple[int, ...]], ...]


def _packed(*arrays: NDArray[Any]) -> _Packed:
    """Arrays as plain bytes, which pickle in half the time."""
    return tuple((array.tobytes(), array.dtype.char, array.shape) for array in arrays)


def _unpack(
    kind: Callable[..., Any], before: tuple[Any, ...], arrays: _Packed, after: tuple[Any, ...] = ()
) -> Any:
    """What was packed; its arrays are only to be read."""
    whole = (np.ndarray(shape, dtype, data) for data, dtype, shape in arrays)
    return kind(*before, *whole, *after)


def answer_rows(questions: Questions, opened: RowSolverHandle) -> Answers:
    """Asks about one row after another; a row whose solver fails is UNKNOWN.

    Raises:
        Exception: Whatever the row solver raises when it is opened for the first time.
    """
    answers, error = Answers.unknown(questions), ""
    if not len(questions):
        return answers
    opened.prepare()
    ask, start = _ASK[questions.kind], time.perf_counter()
    columns = (questions.inputs, questions.weights, questions.outputs)
    for i, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        try:
            answers.store_row(i, ask(opened.row(), *row))
        except Exception as failure:
            opened.drop()
            answers.clear_row(i)
            if not isinstance(failure, SolverCrashedError):
                error = error or f"{type(failure).__name__}: {failure}"
        except BaseException:  # Ctrl-C, in the middle of anything
            opened.drop()
            raise
    return replace(answers, seconds=time.perf_counter() - start, error=error)


def _solve(solver: RowSolver, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
    return _with_model(solver.solve(inputs))


def _maximize(solver: RowSolver, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
    return _with_model(solver.maximize(inputs, weights, outputs))


def _core(solver: RowSolver, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
    status, columns = solver.core(inputs, weights, outputs)
    blamed = [0] * len(inputs)
    for i in columns:
        blamed[i] = 1
    return Row(status, blamed, ())


def _with_model(row: Row) -> Row:
    return row if row.status == Status.SAT else Row(row.status, (), (), row.proved)


_ASK: dict[Kind, Callable[[RowSolver, Any, Any, Any], Row]] = {
    "solve": _solve,
    "maximize": _maximize,
    "core": _core,
}
