"""The interface of solvers that answer one row on the host, in numpy.

For a single row a torch operation takes much longer than its work, and a numpy operation less.
"""

from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

SignArray = NDArray[np.int8]
Floats = NDArray[np.float64]
RowModel = tuple[SignArray, float]
"""The signs of inputs and outputs in a model, and its cost; zeros and infinite for no model."""

_SMALL = -900  # exponent of a sum, below which its unit is no float


@runtime_checkable
class AnswersRow(Protocol):
    """A solver that answers one row faster than a batch of one, with the same model."""

    def cheapest(self, signs: SignArray, weights: Floats) -> RowModel | None:
        """A model that overrules inputs of the least total weight.

        None if rounding may hide which model is the cheapest; `maximize` then compares exactly.

        Args:
            signs: (n,), 0 where an input is free.
            weights: (n,), positive where an input is observed; below 2**900, or infinite for a
                fact.
        """


def answers_row(solver: object) -> TypeGuard[AnswersRow]:
    """Whether a solver is `AnswersRow`; eighty times faster than `isinstance`."""
    return issubclass(type(solver), AnswersRow)


def sums_are_exact(weights: Floats) -> bool:
    """Whether no sum of these finite weights is rounded in float64.

    So if every weight is a multiple of a unit of which the largest sum has less than 2**52.
    """
    _, exponent = np.frexp(weights.sum())
    units = np.ldexp(weights, 51 - exponent)
    return bool(exponent > _SMALL and (units == np.floor(units)).all())
