"""This file holds clauses: literals in a row, as numbers, each clause ended by a 0."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NUMBERS = np.int32


@dataclass(frozen=True, slots=True, eq=False)
class Cnf:
    """Clauses over variables 1, 2, ..., and the literal that each column of the theory became.

    Two columns that always agree share a literal.
    """

    numbers: NDArray[np.int32]  # the literals of all clauses, each clause ended by a 0
    columns: tuple[int, ...]  # a literal for each input, then for each output
    n_variables: int

    @property
    def clauses(self) -> list[list[int]]:
        """The clauses as lists of literals."""
        return split(self.numbers)


def split(numbers: NDArray[np.int32]) -> list[list[int]]:
    """Clauses from literals in a row, each clause ended by a 0."""
    ends = np.flatnonzero(numbers == 0).tolist()
    flat = numbers.tolist()
    starts = [0, *(end + 1 for end in ends)]
    return [flat[start:end] for start, end in zip(starts, ends, strict=False)]


def join(clauses: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """The inverse of `split`."""
    flat = [x for clause in clauses for x in (*clause, 0)]
    return np.array(flat, dtype=NUMBERS)
