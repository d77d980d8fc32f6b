"""Decision diagrams over packs of columns, as arrays.

A *pack* is a one-hot symbol, or a few columns that are neighbours in the order; its values are the
assignments to its variables that a model can have. A level has one pack or several. Its nodes have
one arc per choice of values that some model continues with, and every arc leads to the next level:
a column that does not matter has an arc for each of its values. So a question is a recursion over
the levels, the same for every node of a level, and a path from the root to the end is a model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smtlayer.errors import TooLargeError
from smtlayer.solvers.circuit.bdd import Bdd
from smtlayer.solvers.circuit.problem import Problem

_FALSE, _TRUE = 0, 1  # of all nodes of a binary diagram
_PACKED = 8  # values of a pack of several columns
_MOST_PACKS = 4  # of one level
_CELLS = 100  # signs of the values of all packs, for each node of the limit

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pack:
    """Variables that are decided together, and the values they can have."""

    variables: tuple[int, ...]
    signs: NDArray[np.int8]  # (V, variables)


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes that decide some packs; nodes with fewer arcs are padded."""

    packs: tuple[Pack, ...]
    child: _Ints  # (N, F): positions in the next level, 0 for padding
    value: _Ints  # (packs, N, F): the value of each pack, -1 for padding

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which arcs are no padding: (N, F)."""
        return np.asarray(self.value[0] >= 0)

    def trimmed(self) -> "Level":
        """The same with all padding on the right, and no more of it than needed."""
        alive = self.alive
        width = max(1, int(alive.sum(1).max()))
        order = np.argsort(~alive, axis=1, kind="stable")[:, :width]
        child = np.take_along_axis(np.where(alive, self.child, 0), order, 1)
        return Level(self.packs, child, np.take_along_axis(self.value, order[None], 2))

    def n_fused(self, lower: "Level") -> int:
        """Number of arcs of this level fused with the next one."""
        return int(np.where(self.alive, lower.alive.sum(1)[self.child], 0).sum())

    def fused(self, lower: "Level") -> "Level":
        """This level and the next one as a single one: its arcs are paths of two."""
        shape = (*self.child.shape, lower.child.shape[1])
        above = np.broadcast_to(self.value[..., None], (len(self.value), *shape))
        below = lower.value[:, self.child]
        alive = self.alive[..., None] & lower.alive[self.child]
        value = np.where(alive, np.concatenate([above, below]), -1)
        flat = (shape[0], shape[1] * shape[2])
        child = lower.child[self.child].reshape(flat)
        return Level(self.packs + lower.packs, child, value.reshape(-1, *flat)).trimmed()


@dataclass(frozen=True, slots=True)
class Diagram:
    """All models of a theory over its columns: the paths through the levels, from node 0."""

    levels: tuple[Level, ...]
    columns: tuple[int, ...]  # the literal of each input, then of each output

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return sum(len(level.child) for level in self.levels)

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return sum(int(level.alive.sum()) for level in self.levels)

    @property
    def n_padded(self) -> int:
        """Number of arcs if all nodes of a level had as many as the one with most."""
        return sum(level.child.size for level in self.levels)

    def fused(self, overhead: int) -> "Diagram":
        """The same with neighbouring levels fused where that takes few arcs more.

        Args:
            overhead: The number of arcs that take as long as the operations of one more level.
        """
        return Diagram(tuple(_fuse(self.levels, overhead)), self.columns)

    @property
    def n_models(self) -> int:
        """Number of models."""
        counts = np.array([1], dtype=object)
        for level in reversed(self.levels):
            ways = np.where(level.alive, counts[level.child], 0)
            counts = ways.sum(-1)
        return int(counts[0])


def extract(bdd: Bdd, problem: Problem, max_nodes: int) -> Diagram:
    """The diagram of a binary one.

    Raises:
        TooLargeError: If it takes more than eight arcs for each of `max_nodes`, or one-hot symbols
            have far too many values.
    """
    nodes = _Nodes(bdd)
    functions = np.array([nodes.root])
    levels, arcs, packs = [], 0, list(_packs(bdd, problem))
    cells = sum(sum(map(len, pack)) * prod(max(len(b), 2) for b in pack) for pack in packs)
    if cells > _CELLS * max_nodes:
        raise TooLargeError(
            f"the values of its one-hot symbols take {cells:,} signs, more than {_CELLS} for each "
            f"of max_nodes={max_nodes:,}"
        )
    for pack in packs:
        signs = np.array(list(_values(pack)), dtype=np.int8)
        variables = [abs(x) for block in pack for x in block]
        children = nodes.cofactors(functions, [bdd.level[x] for x in variables], signs)
        alive = children != _FALSE
        arcs += int(alive.sum())
        if arcs > _PACKED * max_nodes:
            raise TooLargeError(
                f"its decision diagram takes more than {_PACKED * max_nodes:,} arcs, {_PACKED} for "
                f"each of max_nodes={max_nodes:,}"
            )
        functions, child = np.unique(children[alive], return_inverse=True)
        if not len(functions):
            functions = np.array([_FALSE])  # the theory has no model
        whole = np.zeros_like(children)
        whole[alive] = child.reshape(-1)
        value = np.where(alive, np.arange(len(signs)), -1)[None]
        levels.append(Level((Pack(tuple(variables), signs),), whole, value).trimmed())
    return Diagram(tuple(_fuse(levels, 0)), problem.columns)


def _fuse(levels: Sequence[Level], overhead: int) -> list[Level]:
    """Fuses neighbours, those that save most first."""
    levels = list(levels)
    saved = [_saved(*pair, overhead) for pair in pairwise(levels)]
    while saved and max(saved) >= 0:
        i = saved.index(max(saved))
        levels[i : i + 2] = [levels[i].fused(levels[i + 1])]
        near = range(max(0, i - 1), min(len(levels) - 1, i + 1))
        saved[near.start : i + 2] = [_saved(levels[k], levels[k + 1], overhead) for k in near]
    return levels


def _saved(upper: Level, lower: Level, overhead: int) -> int:
    """What fusing two levels saves, in arcs; negative if they should stay apart."""
    if len(upper.packs) + len(lower.packs) > _MOST_PACKS:
        return -1
    return overhead + int(upper.alive.sum() + lower.alive.sum()) - upper.n_fused(lower)


def _packs(bdd: Bdd, problem: Problem) -> Iterator[list[tuple[int, ...]]]:
    """Blocks of columns by level; neighbours that have few values together are joined."""
    kept = {abs(x) for x in problem.columns}
    blocks = [block for block in problem.blocks if kept.issuperset(map(abs, block))]
    pack: list[tuple[int, ...]] = []
    size = 1
    for block in sorted(blocks, key=lambda block: bdd.level[abs(block[0])]):
        count = max(len(block), 2)
        if pack and size * count > _PACKED:
            yield pack
            pack, size = [], 1
        pack.append(block)
        size *= count
    if pack:
        yield pack


def _values(pack: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The signs of a pack's variables: one literal of a group is true, single ones have both."""
    choices = [
        [[(x > 0) * 2 - 1 if y == x else (y < 0) * 2 - 1 for y in block] for x in block]
        if len(block) > 1
        else [[-1], [1]]
        for block in pack
    ]
    for parts in product(*choices):
        yield [sign for part in parts for sign in part]


class _Nodes:
    """The nodes of a binary diagram as arrays."""

    def __init__(self, bdd: Bdd) -> None:
        index: dict[Any, int] = {bdd.manager.false(): _FALSE, bdd.manager.true(): _TRUE}
        levels, high, low = [1 << 62] * 2, [_FALSE, _TRUE], [_FALSE, _TRUE]
        stack: list[Any] = [bdd.root]
        while stack:
            node = stack.pop()
            if node in index:
                continue
            yes, no = node.cofactors()
            missing = [child for child in (yes, no) if child not in index]
            if missing:
                stack += [node, *missing]
                continue
            index[node] = len(levels)
            levels.append(node.node_level())
            high.append(index[yes])
            low.append(index[no])
        self._level, self._high, self._low = np.array(levels), np.array(high), np.array(low)
        self.root = index[bdd.root]

    def cofactors(self, functions: _Ints, levels: Sequence[int], signs: NDArray[np.int8]) -> _Ints:
        """The functions with the variables at some levels fixed to each of the values: (N, V)."""
        found = np.repeat(functions[:, None], len(signs), 1)
        for i, level in enumerate(levels):
            branch = np.where(signs[:, i] > 0, self._high[found], self._low[found])
            found = np.where(self._level[found] == level, branch, found)
        return found
