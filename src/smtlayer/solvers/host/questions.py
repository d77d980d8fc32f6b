"""Questions and answers about the rows of a batch, as the stages of a solver exchange them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.base import Row, Status

Kind = Literal["solve", "maximize", "core"]
Rows = slice | Sequence[int] | NDArray[np.intp]  # which rows of a batch


@dataclass(frozen=True, slots=True)
class Questions:
    """The same question about each row of a batch."""

    kind: Kind
    inputs: NDArray[np.int8]  # (B, n)
    weights: NDArray[np.float64]  # (B, n), or (B, 0) for the kind "solve"
    outputs: NDArray[np.int8]  # (B, m), zeros where no outputs are wanted

    def __len__(self) -> int:
        return len(self.inputs)

    def pick(self, rows: Rows) -> "Questions":
        """The questions about some of the rows."""
        return Questions(self.kind, self.inputs[rows], self.weights[rows], self.outputs[rows])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack, (Questions, (self.kind,), _packed(self.inputs, self.weights, self.outputs))


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer per row, and counters that add up from stage to stage."""

    status: NDArray[np.int8]  # (B,)
    inputs: NDArray[np.int8]  # (B, n) signs of the model; of the kind "core", 1 for blamed inputs
    outputs: NDArray[np.int8]  # (B, m) signs of the model
    proved: NDArray[np.bool_]  # (B,)
    seconds: float = 0.0  # that row solvers were at work
    error: str = ""  # the first unexpected failure of a row solver, if any
    hits: int = 0  # rows that were answered from a cache

    @classmethod
    def unknown(cls, questions: Questions) -> "Answers":
        """UNKNOWN for every row."""
        rows = len(questions.inputs)
        return cls(
            np.full(rows, Status.UNKNOWN, dtype=np.int8),
            np.zeros(questions.inputs.shape, dtype=np.int8),
            np.zeros(questions.outputs.shape, dtype=np.int8),
            np.zeros(rows, dtype=np.bool_),
        )

    def plus(self, seconds: float = 0.0, error: str = "", hits: int = 0) -> "Answers":
        """The same answers with more on the counters."""
        counters = (self.seconds + seconds, self.error or error, self.hits + hits)
        return Answers(self.status, self.inputs, self.outputs, self.proved, *counters)

    def store(self, rows: Rows, part: "Answers") -> "Answers":
        """Takes over the answers about some of the rows; returns all, with both counters."""
        self.status[rows], self.proved[rows] = part.status, part.proved
        self.inputs[rows], self.outputs[rows] = part.inputs, part.outputs
        return self.plus(part.seconds, part.error, part.hits)

    def store_model(self, i: int, row: Row) -> None:
        """Takes over the model of one row, if it has one."""
        if row.status == Status.SAT:
            self.inputs[i], self.outputs[i] = row.inputs, row.outputs
        self.proved[i] = row.proved and row.status != Status.UNKNOWN
        self.status[i] = row.status  # last, in case the rest does not fit

    def store_core(self, i: int, core: tuple[Status, Sequence[int]]) -> None:
        """Takes over the blamed inputs of one row."""
        self.inputs[i, list(core[1])] = 1
        self.proved[i] = core[0] != Status.UNKNOWN
        self.status[i] = core[0]

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = _packed(self.status, self.inputs, self.outputs, self.proved)
        return _unpack, (Answers, (), arrays, (self.seconds, self.error, self.hits))


class Stage(Protocol):
    """Answers questions, itself or by asking the next stage about some of the rows."""

    def answer(self, questions: Questions) -> Answers:
        """One answer for each of one or more rows."""


_Packed = tuple[tuple[bytes, str, tuple[int, ...]], ...]


def _packed(*arrays: NDArray[Any]) -> _Packed:
    """Arrays as plain bytes, which pickle in half the time."""
    return tuple((array.tobytes(), array.dtype.char, array.shape) for array in arrays)


def _unpack(
    kind: Callable[..., Any], before: tuple[Any, ...], arrays: _Packed, after: tuple[Any, ...] = ()
) -> Any:
    """The inverse of `_packed`, with read-only arrays."""
    whole = (np.ndarray(shape, dtype, data) for data, dtype, shape in arrays)
    return kind(*before, *whole, *after)
