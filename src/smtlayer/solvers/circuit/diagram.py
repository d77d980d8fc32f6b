"""Decision diagrams with one level per pack of columns, as arrays.

A *pack* is a one-hot symbol, or a few columns that are neighbours in the order; its values are the
assignments to its variables that a model can have. A node has one arc per value that some model
continues with, and every arc leads to the next level: a column that does not matter has an arc for
each of its values. So a question is a recursion over the levels, the same for every node of a
level, and a path from the root to the end is a model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smtlayer.errors import TooLargeError
from smtlayer.solvers.circuit.bdd import Bdd
from smtlayer.solvers.circuit.problem import Problem

_FALSE, _TRUE = 0, 1  # of all nodes of a binary diagram
_PACKED = 8  # values of a pack of several columns

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one pack; padding of nodes with fewer arcs has value -1 and child 0."""

    variables: tuple[int, ...]
    signs: NDArray[np.int8]  # (V, variables): the values
    child: _Ints  # (N, F): positions in the next level
    value: _Ints  # (N, F): positions in `signs`


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
        return sum(int((level.value >= 0).sum()) for level in self.levels)

    @property
    def n_padded(self) -> int:
        """Number of arcs if all nodes of a level had as many as the one with most."""
        return sum(level.child.size for level in self.levels)

    @property
    def n_models(self) -> int:
        """Number of models."""
        counts = np.array([1], dtype=object)
        for level in reversed(self.levels):
            ways = np.where(level.value >= 0, counts[level.child], 0)
            counts = ways.sum(-1)
        return int(counts[0])


def extract(bdd: Bdd, problem: Problem, max_nodes: int) -> Diagram:
    """The diagram of a binary one.

    Raises:
        TooLargeError: If it takes more than eight arcs for each of `max_nodes`.
    """
    nodes = _Nodes(bdd)
    functions = np.array([nodes.root])
    levels, arcs = [], 0
    for pack in _packs(bdd, problem):
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
        levels.append(_level(variables, signs, whole, alive))
    return Diagram(tuple(levels), problem.columns)


def _level(
    variables: Sequence[int], signs: NDArray[np.int8], child: _Ints, alive: NDArray[np.bool_]
) -> Level:
    """A level whose arcs are moved to the left, without those that lead nowhere."""
    width = max(1, int(alive.sum(1).max()))
    order = np.argsort(~alive, axis=1, kind="stable")[:, :width]
    child = np.take_along_axis(np.where(alive, child, 0), order, 1)
    value = np.where(np.take_along_axis(alive, order, 1), order, -1)
    return Level(tuple(variables), signs, child, value)


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
