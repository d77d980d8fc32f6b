"""Weighted MaxSAT on an incremental solver: the cheapest inputs to overrule.

The literals of the inputs are soft clauses: each has a weight, the cost of overruling it. Assume
all of them, the heaviest first. If they contradict each other, the solver returns a core, a set of
literals that cannot all hold. Every model overrules at least one of them, so the least of their
weights w is a lower bound of the cost: subtract w from each of them, and add a new soft literal of
weight w, "at most one of them is overruled" (an output of a totalizer over the core; when that
literal is in a core itself, "at most two", and so on). Every model then costs w less than before.
When all remaining soft literals hold together, the model costs exactly the lower bound.

Heavy literals are assumed before light ones (stratification): their cores raise the bound faster,
and each stratum yields a model that can be returned if time runs out. Weights are exact integers.

This is OLL with stratification by diversity, as in RC2 (Ignatiev, Morgado, Marques-Silva, 2019).
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

from pysat.card import ITotalizer

from smtlayer.solvers.base import Status
from smtlayer.solvers.search.oracle import Answer, Oracle

_SHORT = 20  # cores; later ones are minimized
_PATIENCE_S = 0.05  # a longer search may run out of time, so it first improves its model
_DIVERSITY = 1.25  # literals per distinct weight, above which a stratum ends


class Repair(NamedTuple):
    """A model of low cost."""

    status: Status
    model: Any = None
    proved: bool = True  # whether no model costs less


def cheapest_repair(oracle: Oracle, wanted: Sequence[int], weights: Mapping[int, int]) -> Repair:
    """The model with the wanted literals that overrules soft literals of the least weight.

    Adds totalizers to the oracle, over variables above its current `top`; the caller removes them
    afterwards. Weights are positive; see `exact_integers`.

    Returns:
        SAT and the model; UNSAT if the wanted literals cannot hold; UNKNOWN if time ran out before
        any model was found. If it ran out later, the best model so far, not `proved`.
    """
    return _Search(oracle, wanted, weights).run()


@final
class _Search:
    def __init__(self, oracle: Oracle, wanted: Sequence[int], weights: Mapping[int, int]) -> None:
        self._oracle = oracle
        self._wanted = list(wanted)
        self._weights = weights
        self._rest = dict(weights)  # of soft literals and totalizer outputs: the remaining weight
        self._totalizers: dict[int, tuple[Any, int]] = {}  # by literal "at most so many"
        self._lower_bound = 0
        self._cost: int | None = None  # of the best model so far
        self._best: Any = None
        self._patience = time.monotonic() + _PATIENCE_S
        self._cores = 0

    def run(self) -> Repair:
        if self._check_all() is Status.SAT:
            return Repair(Status.SAT, self._oracle.model())
        answer = self._oracle.check(self._wanted)
        if answer.status is not Status.SAT:
            return Repair(answer.status)
        self._keep_better()
        proved = self._search()
        return Repair(Status.SAT, self._best, proved)

    def _check_all(self) -> Status:
        """Tries to satisfy every soft literal, using at most half of the time limit."""
        deadline = self._oracle.deadline
        self._oracle.deadline = (time.monotonic() + deadline) / 2
        try:
            return self._check(min(self._rest.values(), default=0)).status
        finally:
            self._oracle.deadline = deadline

    def _search(self) -> bool:
        """Descends stratum by stratum; returns whether the search was completed."""
        least = next_stratum(self._rest, None)
        while least is not None and self._cost != self._lower_bound:
            answer = self._check(least)
            while answer.status is Status.UNSAT:
                self._relax(self._minimized([x for x in answer.core if x in self._rest]))
                if time.monotonic() > self._patience:
                    self._improve()
                    self._patience = math.inf
                answer = self._check(least)
            if answer.status is Status.UNKNOWN:
                return False
            self._keep_better()
            least = next_stratum(self._rest, least)
        return True

    def _minimized(self, core: list[int]) -> list[int]:
        """The core without literals it does not need, the lightest first, for a higher bound.

        In a short search this costs more than it saves; in a long one large cores pile up.
        """
        self._cores += 1
        if self._cores <= _SHORT:
            return core
        for x in sorted(core, key=lambda x: self._rest[x]):
            if x in core and len(core) > 1:
                answer = self._oracle.check([*self._wanted, *(y for y in core if y != x)])
                if answer.status is Status.UNSAT:
                    core = [y for y in core if y in answer.core]
        return core

    def _improve(self) -> None:
        """Satisfies soft literals greedily, the heaviest first: a good model at little cost."""
        kept: list[int] = []
        order = sorted(self._weights, key=lambda x: -self._weights[x])
        holds = dict(zip(order, self._oracle.signs(self._best, order), strict=True))
        for x in order:
            if holds[x] < 0:
                if self._oracle.check([*self._wanted, *kept, x]).status is not Status.SAT:
                    continue
                self._keep_better()
                signs = self._oracle.signs(self._oracle.model(), order)
                holds = dict(zip(order, signs, strict=True))
            kept.append(x)

    def _check(self, least: int) -> Answer:
        """Whether all soft literals of at least this weight hold together."""
        soft = [x for x, weight in self._rest.items() if weight >= least]
        soft.sort(key=lambda x: -self._rest[x])
        return self._oracle.check(self._wanted + soft)

    def _keep_better(self) -> None:
        """Keeps the latest model if it is the best so far."""
        model = self._oracle.model()
        signs = self._oracle.signs(model, self._weights)
        cost = sum(w for w, sign in zip(self._weights.values(), signs, strict=True) if sign < 0)
        if self._cost is None or cost < self._cost:
            self._cost, self._best = cost, model

    def _relax(self, core: Sequence[int]) -> None:
        """Moves the least weight of a core from its literals to a totalizer over them."""
        least = min(self._rest[x] for x in core)
        self._lower_bound += least
        for x in core:
            self._rest[x] -= least
            if not self._rest[x]:
                del self._rest[x]
            if x in self._totalizers:
                totalizer, most = self._totalizers[x]
                if most + 1 < len(totalizer.lits):
                    totalizer.increase(ubound=most + 1, top_id=self._oracle.top)
                    self._add_soft(totalizer, most + 1, least)
        if len(core) > 1:
            totalizer = ITotalizer([-x for x in core], ubound=1, top_id=self._oracle.top)
            self._add_soft(totalizer, 1, least)

    def _add_soft(self, totalizer: Any, most: int, weight: int) -> None:
        """Adds the soft literal "at most `most` of the totalizer's literals hold"."""
        clauses = totalizer.cnf.clauses
        self._oracle.top = totalizer.top_id
        self._oracle.add(clauses[len(clauses) - totalizer.nof_new :])
        literal = -totalizer.rhs[most]  # not "at least most + 1"
        self._rest[literal] = self._rest.get(literal, 0) + weight
        self._totalizers[literal] = (totalizer, most)


def next_stratum(weights: Mapping[int, int], last: int | None) -> int | None:
    """The least weight of the next stratum, below that of the last one; None at the end.

    A stratum ends where it has enough literals per distinct weight, so literals of similar weight
    are assumed together.
    """
    heavy = sorted(weights.values(), reverse=True)
    distinct = 0
    for i, weight in enumerate(heavy):
        if last is not None and weight >= last:
            continue
        if i + 1 == len(heavy) or heavy[i + 1] != weight:
            distinct += 1
            if i + 1 == len(heavy) or (i + 1) / distinct > _DIVERSITY:
                return weight
    return None
