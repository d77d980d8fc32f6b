"""What a diagram is compiled from: clauses, and sums that are kept as sums."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.clauses.cnf import Cnf


@dataclass(frozen=True, slots=True)
class Term:
    """A summand: exactly one of its literals is true, and adds its weight.

    A single literal with a weight is the term of that literal and its negation.
    """

    literals: tuple[int, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoundedSum:
    """The constraint that a sum lies between two numbers, unless one of some literals is true."""

    terms: tuple[Term, ...]
    low: int
    high: int
    unless: tuple[int, ...] = ()

    @property
    def variables(self) -> set[int]:
        """The variables of all terms and literals."""
        return {abs(x) for term in self.terms for x in term.literals} | set(map(abs, self.unless))


@dataclass(frozen=True, slots=True)
class Problem:
    """Constraints over the variables 1, 2, ..., and the literal of each column of the theory."""

    cnf: Cnf
    sums: tuple[BoundedSum, ...]
    groups: tuple[tuple[int, ...], ...]
    """Literals of which exactly one is true in every model: the columns of a one-hot symbol."""
    columns: tuple[int, ...]
    """One literal per input, then per output."""

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """What stays together in every order: groups of literals, and single variables."""
        grouped = {abs(x) for group in self.groups for x in group}
        single = ((x,) for x in range(1, self.cnf.n_variables + 1) if x not in grouped)
        return [*self.groups, *single]

    def incidence(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs (constraint, variable), each once: clauses first, then sums."""
        numbers = np.abs(self.cnf.numbers)
        clause = np.cumsum(numbers == 0) - (numbers == 0)
        parts = [np.stack([clause[numbers > 0], numbers[numbers > 0]])]
        start = int((numbers == 0).sum())
        for i, bounded in enumerate(self.sums):
            found = sorted(bounded.variables)
            parts.append(np.stack([np.full(len(found), start + i), np.array(found)]))
        pairs = np.unique(np.concatenate(parts, axis=1), axis=1).astype(np.int64)
        return pairs[0], pairs[1]

    def constraints(self) -> Iterator[Sequence[int] | BoundedSum]:
        """All clauses, then all sums."""
        yield from self.cnf.clauses
        yield from self.sums
