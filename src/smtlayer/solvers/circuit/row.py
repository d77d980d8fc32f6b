"""The cheapest model of one row, in numpy, over a diagram of few levels."""

from typing import final

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.circuit.diagram import Diagram
from smtlayer.solvers.circuit.tensors import Places
from smtlayer.solvers.one_row import Floats, RowModel, SignArray, sums_are_exact

_LEVEL = 400  # arcs that take as long as the operations of one more level


@final
class RowCircuit:
    """A diagram for one row at a time."""

    def __init__(self, diagram: Diagram, n_inputs: int) -> None:
        fused = diagram.fused(_LEVEL)
        places = Places(fused)
        # Which inputs add to the weight of each value; the last two rows are zero and infinite.
        rows = [*places.rows(range(n_inputs), n_inputs), [2 * n_inputs + 1]]
        width = max(map(len, rows))
        self._table = np.array([[*row, *[2 * n_inputs] * (width - len(row))] for row in rows])
        self._levels = []
        start, none = 0, len(rows) - 1
        for level in fused.levels:
            values: list[NDArray[np.int64]] = []
            weighed: list[NDArray[np.int64]] = []
            for pack, value in zip(level.packs, level.value, strict=True):
                end = start + len(pack.signs)
                values.append(np.where(value < 0, none, value + start))
                if any(rows[start:end]) or not weighed:  # outputs alone weigh nothing
                    weighed.append(values[-1])
                start = end
            self._levels.append((level.child, np.stack(values), weighed))
        self._places = places
        self._slack = 1 + 8 * (n_inputs + len(fused.levels)) * np.finfo(np.float64).eps

    def cheapest(self, signs: SignArray, weights: Floats) -> RowModel | None:
        """See `AnswersRow`."""
        ends = np.array([0.0, np.inf])
        against = np.concatenate([
            np.where(signs < 0, weights, 0), np.where(signs > 0, weights, 0), ends
        ])  # fmt: skip
        by_value = against.take(self._table).sum(1)
        nodes, arcs = ends[:1], []
        for child, _, weighed in reversed(self._levels):
            cost = nodes.take(child)
            for value in weighed:
                cost += by_value.take(value)
            arcs.append(cost)
            nodes = np.minimum.reduce(cost, 1)  # without the wrapper of `min`
        total = float(nodes[0])
        if total == np.inf:
            return self._places.no_model, total
        node, chosen, close = 0, [], False
        for (child, value, _), costs in zip(self._levels, reversed(arcs), strict=True):
            cost = costs[node]
            k = int(cost.argmin())
            if total and cost[k]:
                close |= bool(np.count_nonzero(cost <= cost[k] * self._slack) > 1)
            chosen += value[:, node, k].tolist()
            node = child[node, k]
        if close and not sums_are_exact(against[against < np.inf]):
            return None
        return self._places.columns_of(chosen), total
