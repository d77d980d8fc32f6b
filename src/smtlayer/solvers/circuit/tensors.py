"""A diagram as tensors on one device: its levels, and how columns make the weights of values.

Tensors have one row per value, node or arc, and one column per row of the batch, so that a step
from level to level moves whole rows of memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.solvers.circuit.diagram import Diagram, Level
from smtlayer.theory import Theory

_PADDED = 4  # entries of a table for each number that it sums, above which padding is too much


@final
class Gather:
    """Adds up rows by target, without atomic additions, whose order would change the result."""

    def __init__(self, targets: NDArray[np.int64], count: int, device: torch.device) -> None:
        sizes = np.bincount(targets, minlength=count)
        width = int(sizes.max(initial=1))
        if count * width > _PADDED * len(targets):  # a few targets have most of the rows
            width = 2 * -(-len(targets) // count)
        order = np.argsort(targets, kind="stable")
        groups = np.maximum(-(-sizes // width), 1)  # of up to `width` rows per target
        rank = np.arange(len(targets)) - (np.cumsum(sizes) - sizes)[targets[order]]
        group = (np.cumsum(groups) - groups)[targets[order]] + rank // width
        table = np.full((int(groups.sum()), width), len(targets))
        table[group, rank % width] = order
        self._shape, self._table = table.shape, torch.from_numpy(table.reshape(-1)).to(device)
        self._again = None
        if len(table) > count:
            self._again = Gather(np.repeat(np.arange(count), groups), count, device)

    def sum(self, rows: Tensor) -> Tensor:
        """The sum of the rows of each target, (count, B); the last row must be zeros."""
        parts = rows.index_select(0, self._table).view(*self._shape, rows.shape[-1]).sum(1)
        if self._again is None:
            return parts
        return self._again.sum(torch.cat([parts, torch.zeros_like(parts[:1])]))


@final
@dataclass(frozen=True, slots=True)
class LevelTensors:
    """The arcs of a level; padding has the value "none", whose weight rules it out."""

    child: Tensor  # (N * F,) positions in the next level
    values: list[Tensor]  # (N * F,) per pack, positions among the values of all packs
    n_nodes: int
    n_arcs: int  # F, of each node
    each: Tensor  # (F,) 0, 1, ...
    by_child: Gather
    by_value: list[Gather]  # one per pack, its values and "none"

    def add(self, below: Tensor, weights: Tensor) -> Tensor:
        """The weight of each arc plus that of the node below it: (N, F, B)."""
        arcs = below.index_select(0, self.child)
        for value in self.values:
            arcs.add_(weights.index_select(0, value))
        return arcs.view(self.n_nodes, self.n_arcs, below.shape[-1])

    def least(self, below: Tensor, weights: Tensor) -> Tensor:
        """The least of the weights of each arc and of the node below it: (N, F, B)."""
        arcs = below.index_select(0, self.child)
        for value in self.values:
            arcs = torch.minimum(arcs, weights.index_select(0, value))
        return arcs.view(self.n_nodes, self.n_arcs, below.shape[-1])

    @classmethod
    def of(
        cls, level: Level, starts: Sequence[int], n_below: int, none: int, device: torch.device
    ) -> "LevelTensors":
        """The arcs of a level whose packs' values begin at some positions, before `none`."""
        child = level.child.reshape(-1)
        sizes = [len(pack.signs) for pack in level.packs]
        parts = list(zip(level.value.reshape(len(sizes), -1), starts, sizes, strict=True))
        shifted = [np.where(value < 0, none, value + start) for value, start, _ in parts]
        local = [(np.where(value < 0, size, value), size + 1) for value, _, size in parts]
        return cls(
            torch.from_numpy(child).to(device),
            [torch.from_numpy(value).to(device) for value in shifted],
            level.child.shape[0],
            level.child.shape[1],
            torch.arange(level.child.shape[1], device=device),
            Gather(child, n_below, device),
            [Gather(value, count, device) for value, count in local],
        )


@final
class Tensors:
    """The levels from the top, and which columns add to the weight of which value."""

    def __init__(self, diagram: Diagram, theory: Theory, device: torch.device) -> None:
        sizes = [len(pack.signs) for level in diagram.levels for pack in level.packs]
        *starts, none = np.cumsum([0, *sizes]).tolist()
        below = [*(len(level.child) for level in diagram.levels[1:]), 1]
        first = iter(starts)
        self.levels = [
            LevelTensors.of(level, [next(first) for _ in level.packs], n_below, none, device)
            for level, n_below in zip(diagram.levels, below, strict=True)
        ]
        self.n_padded = diagram.n_padded
        # The values of all packs on all arcs, one pack after the other.
        packs = [(i, value) for i, level in enumerate(self.levels) for value in level.values]
        self._values = torch.cat([value for _, value in packs])
        ends = np.cumsum([0, *(len(value) for _, value in packs)])[:-1, None]
        self._first_arc = torch.from_numpy(ends).to(device)  # (packs, 1)
        self._level_of = torch.tensor([i for i, _ in packs], device=device)
        places = Places(diagram)
        n, both = theory.n_inputs, theory.n_inputs + theory.n_outputs
        one_hot = {
            c for s in theory.input_symbols if s.kind == "one-hot" for c in _range(s.columns)
        }
        self._tables = {
            "inputs": _tables(places.rows(range(n), n), device),
            "all": _tables(places.rows(range(both), n), device),
            "reading": _tables(places.rows(range(both), n, true_only=one_hot), device),
        }
        self._pack_of = torch.from_numpy(places.pack_of).to(device)  # (n + m,)
        # The sign of column c where its pack has value v is signs[start_of[v] + place_of[c]].
        self._start_of, self._place_of, self._signs = (
            torch.from_numpy(array).to(device)
            for array in (places.start_of, places.place_of, places.signs)
        )
        self._values_with = {  # by sign, (n + m, K)
            sign: torch.from_numpy(places.values_with(sign, none)).to(device) for sign in (1, -1)
        }

    def weights(self, columns: Sequence[Tensor], none: float, *, least: bool = False) -> Tensor:
        """The weight of each value: the sum of those of its columns; a last row for "none".

        Args:
            columns: (n, B) where inputs are true, where they are false; then, perhaps, (m, B) twice
                for outputs.
            none: The weight of "none".
            least: Take the least of the weights, not their sum.
        """
        name = "inputs" if len(columns) == 2 else "all"
        return self._weights(self._tables[name], columns, none, least)

    def log_weights(self, columns: Sequence[Tensor]) -> Tensor:
        """The same for log-probabilities, where false columns of one-hot inputs add nothing."""
        return self._weights(self._tables["reading"], columns, -torch.inf, least=False)

    def _weights(
        self, tables: Sequence[Tensor], columns: Sequence[Tensor], none: float, least: bool
    ) -> Tensor:
        rows = torch.cat(list(columns))  # (2n + 2m, B)
        parts = []
        for table in tables:
            shape = (*table.shape, rows.shape[-1])
            if not table.shape[1]:
                parts.append(rows.new_full(shape[::2], torch.inf if least else 0))
                continue
            part = rows.index_select(0, table.reshape(-1)).view(shape)
            parts.append(part.amin(1) if least else part.sum(1))
        parts.append(rows.new_full((1, rows.shape[-1]), none))
        return torch.cat(parts)

    def values_on(self, arcs: Tensor) -> Tensor:
        """The values of all packs on one arc per level: (levels, B) to (packs, B)."""
        return self._values.take(arcs.index_select(0, self._level_of) + self._first_arc)

    def columns(self, chosen: Tensor) -> Tensor:
        """The signs of all columns for one value per pack: (packs, B) to (B, n + m)."""
        start = self._start_of.take(chosen).index_select(0, self._pack_of)  # (n + m, B)
        return self._signs.take(start.add_(self._place_of[:, None])).T.contiguous()

    def column_mass(self, mass: Tensor, sign: int) -> Tensor:
        """The mass of the values in which each column has a sign: (values + 1, B) to (B, n + m)."""
        values = self._values_with[sign]
        count, width = values.shape
        parts = mass.index_select(0, values.reshape(-1))
        return parts.view(count, width, mass.shape[-1]).sum(1).T


class Places:
    """Where the columns of a theory are in a diagram."""

    def __init__(self, diagram: Diagram) -> None:
        self._literals = diagram.columns
        self._packs = [pack for level in diagram.levels for pack in level.packs]
        where = {x: (i, k) for i, v in enumerate(self._packs) for k, x in enumerate(v.variables)}
        self._where = [where[abs(x)] for x in diagram.columns]
        self.pack_of = np.array([i for i, _ in self._where], dtype=np.int64)
        # Each pack has a block of signs per value, with one sign per column of the pack.
        self._columns: list[list[int]] = [[] for _ in self._packs]
        self.place_of = np.zeros(len(diagram.columns), dtype=np.int64)
        for c, (i, _) in enumerate(self._where):
            self.place_of[c] = len(self._columns[i])
            self._columns[i].append(c)
        blocks = [self._signs_of(i) for i in range(len(self._packs))]
        widths = np.concatenate([np.full(len(b), b.shape[1]) for b in blocks])
        # An entry more for "none", on the ways of a diagram without models.
        self.start_of = np.append(np.cumsum(widths) - widths, 0).astype(np.int64)
        self.signs = np.concatenate([b.reshape(-1) for b in blocks]).astype(np.int8)
        self._blocks = blocks
        self.no_model = np.zeros(len(diagram.columns), dtype=np.int8)

    def columns_of(self, chosen: Sequence[int]) -> NDArray[np.int8]:
        """The signs of all columns for one value per pack."""
        start = self.start_of[chosen]
        return self.signs.take(start[self.pack_of] + self.place_of)

    def _signs_of(self, i: int) -> NDArray[np.int8]:
        """The signs of the columns of a pack for each of its values: (V, columns)."""
        places = [self._where[c][1] for c in self._columns[i]]
        signs = np.sign([self._literals[c] for c in self._columns[i]])
        return (self._packs[i].signs[:, places] * signs).astype(np.int8)

    def rows(
        self, columns: range, n_inputs: int, true_only: set[int] | None = None
    ) -> list[list[int]]:
        """For each value, the rows of its columns among (true, false) inputs, then outputs."""
        n, m = n_inputs, len(self._where) - n_inputs
        found = []
        for i, block in enumerate(self._blocks):
            for signs in block.tolist():
                rows = []
                for c, sign in zip(self._columns[i], signs, strict=True):
                    if c not in columns or (sign < 0 and true_only and c in true_only):
                        continue
                    true, size = (c, n) if c < n else (n + c, m)
                    rows.append(true if sign > 0 else true + size)
                found.append(rows)
        return found

    def values_with(self, sign: int, none: int) -> NDArray[np.int64]:
        """The values in which each column has a sign, padded with `none`: (n + m, K)."""
        found: list[list[int]] = [[] for _ in self._where]
        value = 0
        for i, block in enumerate(self._blocks):
            for signs in block.tolist():
                for c, own in zip(self._columns[i], signs, strict=True):
                    if own == sign:
                        found[c].append(value)
                value += 1
        width = max(1, *map(len, found))
        return np.array([[*values, *[none] * (width - len(values))] for values in found])


def _tables(rows: Sequence[Sequence[int]], device: torch.device) -> list[Tensor]:
    """The rows of each value, one table per run of values with equally many."""
    return [
        torch.tensor(list(run), dtype=torch.int64, device=device).reshape(-1, width)
        if width
        else torch.zeros(len(list(run)), 0, dtype=torch.int64, device=device)
        for width, run in groupby(rows, key=len)
    ]


def _range(columns: slice) -> range:
    return range(columns.start, columns.stop)
