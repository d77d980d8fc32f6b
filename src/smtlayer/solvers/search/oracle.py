"""The interface of an incremental solver under assumptions, and its literals and weights."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from smtlayer.solvers.base import Signs, Status


class Answer(NamedTuple):
    """The answer to a query under assumptions."""

    status: Status
    core: Sequence[int] = ()  # if UNSAT: some of the assumptions, which cannot all hold


class Oracle(Protocol):
    """An incremental solver of clauses: variables are numbers, a negative number is a negation."""

    top: int  # the last variable in use
    deadline: float  # by `time.monotonic()`; later queries are UNKNOWN

    def check(self, literals: Sequence[int]) -> Answer:
        """Whether these literals can hold together."""

    def model(self) -> Any:
        """The model of the last query, which was SAT."""

    def signs(self, model: Any, literals: Iterable[int]) -> list[int]:
        """1 for each literal that is true in a model, -1 for each other."""

    def add(self, clauses: Iterable[Sequence[int]]) -> None:
        """Adds clauses, which may use variables up to `top`."""


def signed(columns: Sequence[int], signs: Signs) -> list[int]:
    """The literals of columns with these signs; columns of sign 0 have none."""
    return [x * sign for x, sign in zip(columns, signs, strict=True) if sign]


def fact_literals(columns: Sequence[int], signs: Signs, weights: Sequence[float]) -> list[int]:
    """The literals of facts, the inputs of infinite weight."""
    rows = zip(columns, signs, weights, strict=True)
    return [x * sign for x, sign, weight in rows if sign and weight == math.inf]


def exact_integers(weights: Mapping[int, float]) -> dict[int, int]:
    """The weights as integers in exactly the same proportions."""
    ratios = {i: float(weight).as_integer_ratio() for i, weight in weights.items()}
    unit = max((below for _, below in ratios.values()), default=1)  # all are powers of two
    return {i: above * (unit // below) for i, (above, below) in ratios.items()}
