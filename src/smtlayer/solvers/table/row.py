"""The cheapest model of one row, in numpy, over the list of all models."""

from typing import final

import numpy as np

from smtlayer.solvers.one_row import Floats, RowModel, SignArray, sums_are_exact
from smtlayer.solvers.table.models import Models


@final
class RowTable:
    """The list of all models, for one row at a time."""

    def __init__(self, models: Models) -> None:
        inputs, outputs = models.inputs.numpy(), models.outputs.numpy()
        columns = np.concatenate([inputs, outputs], axis=1)
        self._columns = np.concatenate(
            [columns, np.zeros_like(columns, shape=(1, columns.shape[1]))]
        )
        self._disagrees = np.concatenate([inputs < 0, inputs > 0], axis=1).T.astype(np.float64)
        self._slack = 1 + 4 * len(self._disagrees) * np.finfo(np.float64).eps

    def cheapest(self, signs: SignArray, weights: Floats) -> RowModel | None:
        """See `AnswersRow`."""
        if len(self._columns) == 1:
            return self._columns[-1], np.inf
        halves = np.concatenate([np.where(signs > 0, weights, 0), np.where(signs < 0, weights, 0)])
        fact = halves == np.inf
        if fact.any():
            halves[fact] = 0
            sums = halves @ self._disagrees
            sums[fact @ self._disagrees > 0] = np.inf
        else:
            sums = halves @ self._disagrees
        k = int(sums.argmin())
        cost = float(sums[k])
        if cost == np.inf:
            return self._columns[-1], cost
        if cost > 0 and np.count_nonzero(sums <= cost * self._slack) > 1:
            return (self._columns[k], cost) if sums_are_exact(halves) else None
        return self._columns[k], cost
