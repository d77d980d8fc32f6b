"""Orders of variables, from which the size of a diagram depends.

No heuristic is best for every theory, and each is cheap, so several are tried. All of them place
the variables of a constraint near each other. Columns of a one-hot symbol stay together.

Reference:
    Aloul, Markov, Sakallah, *FORCE: a fast and easy-to-implement variable-ordering heuristic*,
    2003; Cuthill, McKee, *Reducing the bandwidth of sparse symmetric matrices*, 1969.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.circuit.problem import Problem

_ROUNDS = 60

_Places = NDArray[np.float64]


class _Graph:
    """Which blocks of variables occur in which constraints."""

    def __init__(self, problem: Problem) -> None:
        self.blocks = problem.blocks
        block_of = np.zeros(problem.cnf.n_variables + 1, dtype=np.int64)
        for i, block in enumerate(self.blocks):
            block_of[[abs(x) for x in block]] = i
        constraint, variable = problem.incidence()
        pairs = np.unique(np.stack([constraint, block_of[variable]]), axis=1)
        shared = np.bincount(pairs[0])[pairs[0]] > 1
        self.constraint, self.block = pairs[0][shared], pairs[1][shared]
        self._sizes = np.maximum(np.bincount(self.constraint), 1)
        self._degrees = np.bincount(self.block, minlength=len(self.blocks))

    def declared(self, problem: Problem) -> _Places:
        """Blocks of columns as declared, all others at the mean of their neighbours."""
        first = {abs(x): i for i, x in reversed(list(enumerate(problem.columns)))}
        known = [min(first.get(abs(x), -1) for x in block) for block in self.blocks]
        fixed = np.array(known) >= 0
        places = np.where(fixed, known, np.mean(np.array(known)[fixed]))
        for _ in range(_ROUNDS):
            places = np.where(fixed, places, self.pulled(places))
        return places

    def pulled(self, places: _Places) -> _Places:
        """The mean place of the constraints of each block, which are at the mean of their own."""
        if not len(self.block):
            return places
        count = len(self._sizes)
        centres = np.bincount(self.constraint, places[self.block], count) / self._sizes
        sums = np.bincount(self.block, centres[self.constraint], len(self.blocks))
        return np.where(self._degrees > 0, sums / np.maximum(self._degrees, 1), places)

    def force(self, places: _Places) -> _Places:
        """Pulls until the constraints get no shorter; returns the places with the least span."""
        best, least, stale = places, self.span(places), 0
        for _ in range(_ROUNDS):
            places = ranks(self.pulled(places))
            span = self.span(places)
            best, least, stale = (places, span, 0) if span < least else (best, least, stale + 1)
            if stale == 5:
                break
        return best

    def span(self, places: _Places) -> float:
        """The sum over all constraints of the distance between their outermost blocks."""
        place = ranks(places)[self.block]
        order = np.argsort(self.constraint, kind="stable")
        starts = np.flatnonzero(np.diff(self.constraint[order], prepend=-1))
        if not len(starts):
            return 0.0
        high = np.maximum.reduceat(place[order], starts)
        return float((high - np.minimum.reduceat(place[order], starts)).sum())

    def breadth_first(self) -> _Places:
        """Reverse Cuthill-McKee on the graph of blocks and constraints."""
        of_block: list[list[int]] = [[] for _ in self.blocks]
        of_constraint: list[list[int]] = [[] for _ in self._sizes]
        for c, b in zip(self.constraint.tolist(), self.block.tolist(), strict=True):
            of_block[b].append(c)
            of_constraint[c].append(b)
        degrees = self._degrees.tolist()
        places = np.zeros(len(self.blocks))
        seen: set[int] = set()
        for start in np.argsort(self._degrees, kind="stable").tolist():
            if start in seen:
                continue
            far = _traversal(start, of_block, of_constraint, degrees)[-1]
            for block in _traversal(far, of_block, of_constraint, degrees):
                places[block] = len(self.blocks) - len(seen)
                seen.add(block)
        return places


def _traversal(
    start: int, of_block: list[list[int]], of_constraint: list[list[int]], degrees: list[int]
) -> list[int]:
    """The blocks reachable from one, breadth first, those with few constraints first."""
    reached, used, queue, found = {start}, set[int](), deque([start]), []
    while queue:
        block = queue.popleft()
        found.append(block)
        fresh = set[int]()
        for constraint in of_block[block]:
            if constraint not in used:
                used.add(constraint)
                fresh.update(of_constraint[constraint])
        fresh -= reached
        reached |= fresh
        queue.extend(sorted(fresh, key=lambda b: (degrees[b], b)))
    return found


def ranks(places: _Places) -> _Places:
    """Whole places 0, 1, ... in the same order."""
    found = np.empty(len(places))
    found[np.argsort(places, kind="stable")] = np.arange(len(places))
    return found


def orders(problem: Problem) -> Iterator[list[int]]:
    """Orders of all variables to try, without repetition."""
    graph = _Graph(problem)
    declared, breadth_first = graph.declared(problem), graph.breadth_first()
    candidates = [breadth_first, graph.force(breadth_first), declared, graph.force(declared)]
    tried = set[tuple[int, ...]]()
    for places in candidates:
        order = tuple(np.argsort(places, kind="stable").tolist())
        if order not in tried:
            tried.add(order)
            yield [abs(x) for block in order for x in graph.blocks[block]]
