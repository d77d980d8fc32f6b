"""Clauses in conjunctive normal form, as one array of integers, and a limit on making them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Glucose4

from smtlayer.errors import TooLargeError

NUMBERS = np.int32
MAX_CLAUSES = 5_000_000
_STEPS = 10  # visits of a term, per clause of the limit
_ROUNDS = 100  # of unit propagation; later rounds find little


@dataclass(frozen=True, slots=True, eq=False)
class Cnf:
    """Clauses over variables 1, 2, ..., and the literal that stands for each column of the theory.

    Two columns that are equal in every model share a literal.
    """

    numbers: NDArray[np.int32]  # the literals of all clauses, each clause ended by a 0
    columns: tuple[int, ...]  # one literal per input, then per output
    n_variables: int

    @property
    def clauses(self) -> Iterator[list[int]]:
        """The clauses as lists of literals, one at a time.

        Tens of thousands of lists at once would trigger Python's garbage collector.
        """
        return split(self.numbers)


def open_solver(cnf: Cnf) -> Any:
    """An incremental SAT solver with these clauses and all their variables."""
    solver = Glucose4(bootstrap_with=cnf.clauses)
    solver.add_clause([cnf.n_variables, -cnf.n_variables])  # if no clause mentions the last ones
    return solver


def split(numbers: NDArray[np.int32]) -> Iterator[list[int]]:
    """Clauses from an array of literals in which a 0 ends each clause."""
    flat, start = numbers.tolist(), 0
    for end in np.flatnonzero(numbers == 0).tolist():
        yield flat[start:end]
        start = end + 1


def join(clauses: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """The inverse of `split`."""
    flat = [x for clause in clauses for x in (*clause, 0)]
    return np.array(flat, dtype=NUMBERS)


def facts(numbers: NDArray[np.int32], n_variables: int) -> set[int]:
    """The literals of unit clauses, and those that follow from them by unit propagation."""
    holds = np.zeros(2 * n_variables + 1, dtype=np.int8)  # by literal: 1 true, -1 false, 0 open
    holds[0] = -1
    starts = np.flatnonzero(np.concatenate([[0], numbers[:-1]]) == 0)  # each clause with its 0
    clause = np.cumsum(numbers == 0) - (numbers == 0)
    for _ in range(_ROUNDS if len(numbers) else 0):
        now = holds[numbers]
        left = np.add.reduceat(now == 0, starts, dtype=np.int32)
        left[np.logical_or.reduceat(now > 0, starts)] = 0
        found = numbers[(left[clause] == 1) & (now == 0)]
        if not len(found):
            break
        holds[found], holds[-found] = 1, -1
    true = np.flatnonzero(holds > 0)
    return set(np.where(true > n_variables, true - len(holds), true).tolist())


class Budget:
    """Counts the work of one translation, in clauses, and stops it at a limit.

    No clock is read: a theory that is translated on a quiet machine is translated on a busy one.
    """

    def __init__(self, max_clauses: float = math.inf) -> None:
        self._limit = max_clauses
        self._steps = 0
        self.spent = 0  # the lowest limit under which the work so far would have passed

    def clauses(self, count: int, about: str = "") -> None:
        """Raises TooLargeError if this many clauses are above the limit."""
        self.spent = max(self.spent, count)
        if count > self._limit:
            raise TooLargeError(
                f"it takes {about}{count:,} clauses, more than max_clauses={self._limit:,}"
            )

    def steps(self, count: int, what: str) -> None:
        """Adds steps; raises TooLargeError if they are more than 10 per clause of the limit."""
        self._steps += count
        self.spent = max(self.spent, -(-self._steps // _STEPS))
        if self._steps > _STEPS * self._limit:
            raise TooLargeError(
                f"{what} took {self._steps:,} steps, more than {_STEPS} for each clause of "
                f"max_clauses={self._limit:,}"
            )
