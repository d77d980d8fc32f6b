"""This file finds the cheapest inputs to overrule: weighted MaxSAT, guided by cores.

Literals that the inputs ask for are soft: each has a weight, what it costs to overrule it. Assume
them all, the heaviest first. If the solver refuses, it names a core, literals that cannot all hold.
One of them must go, so the least of their weights w is owed in any case: take w off each of them,
and in their place make it soft, with weight w, that no more than one of them is overruled (a
counter over the core; when that in turn is in a core: no more than two, and so on). Then the total
still owed is the same for every model as before, less w. When all that is left can hold, nothing
more is owed, and the model at hand is the cheapest.

Heavy literals are assumed before light ones (stratification): cores then consist of heavy literals
and owe much, and each layer gives a model that holds if time runs out. Weights are exact integers.

This is OLL with stratification by diversity, as in RC2 (Ignatiev, Morgado, Marques-Silva, 2019).
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

from smtlayer.solvers.base import Row
from smtlayer.solvers.results import Status
from smtlayer.solvers.search.oracle import Answer, Oracle
from smtlayer.solvers.search.totalizer import Counter

_SHORT = 20  # cores, up to which they are taken as they come
_PATIENCE_S = 0.05  # a search that takes longer may be cut off: time to look for a good model
_DIVERSITY = 1.25  # literals a different weight, above which the next layer begins


class Repair(NamedTuple):
    """A model that overrules little."""

    status: Status
    model: Any = None
    proved: bool = True  # whether no model overrules less


def cheapest_repair(oracle: Oracle, wanted: Sequence[int], weights: Mapping[int, int]) -> Repair:
    """The model with the wanted literals that overrules soft literals of the least weight.

    Adds counters to the oracle, over variables above its present `top`. They are of no use
    afterwards; the caller sees to it that they are forgotten.

    Args:
        oracle: Who answers. One that gives up answers UNKNOWN, then and from then on.
        wanted: Literals that must hold.
        weights: The positive weight of each soft literal; see `exact_integers`.

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
        self._owed = dict(weights)  # soft literals and counters, and what is left of their weight
        self._counters: dict[int, tuple[Counter, int]] = {}  # no more than so many: the counter
        self._least = 0  # what every repair costs at the least
        self._cost: int | None = None  # of the best model so far
        self._best: Any = None
        self._patience = time.monotonic() + _PATIENCE_S
        self._cores = 0

    def run(self) -> Repair:
        if self._everything() is Status.SAT:
            return Repair(Status.SAT, self._oracle.model())
        anything = self._oracle.check(self._wanted)
        if anything.status is not Status.SAT:
            return Repair(anything.status)
        self._note()
        proved = self._search()
        return Repair(Status.SAT, self._best, proved)

    def _everything(self) -> Status:
        """Whether nobody need be overruled; half of the time is kept for the case that not."""
        whole = self._oracle.deadline
        self._oracle.deadline = (time.monotonic() + whole) / 2
        try:
            return self._check(min(self._owed.values(), default=0)).status
        finally:
            self._oracle.deadline = whole

    def _search(self) -> bool:
        """Goes down layer by layer; whether it came to the end."""
        layer = next_layer(self._owed, None)
        while layer is not None and self._cost != self._least:
            answer = self._check(layer)
            while answer.status is Status.UNSAT:
                self._pay(self._smaller([x for x in answer.core if x in self._owed]))
                if time.monotonic() > self._patience:
                    self._improve()
                    self._patience = math.inf
                answer = self._check(layer)
            if answer.status is Status.UNKNOWN:
                return False
            self._note()
            layer = next_layer(self._owed, layer)
        return True

    def _smaller(self, core: list[int]) -> list[int]:
        """The core without what it can do without, the lightest first, so that it owes the most.

        In a short search this costs more than it saves; in a long one large cores pile up.
        """
        self._cores += 1
        if self._cores <= _SHORT:
            return core
        for x in sorted(core, key=lambda x: self._owed[x]):
            if x in core and len(core) > 1:
                answer = self._oracle.check([*self._wanted, *(y for y in core if y != x)])
                if answer.status is Status.UNSAT:
                    core = [y for y in core if y in answer.core]
        return core

    def _improve(self) -> None:
        """Keeps soft literals greedily, the heaviest first: a good model for little."""
        kept: list[int] = []
        order = sorted(self._weights, key=lambda x: -self._weights[x])
        holds = dict(zip(order, self._oracle.signs(self._best, order), strict=True))
        for x in order:
            if holds[x] < 0:
                if self._oracle.check([*self._wanted, *kept, x]).status is not Status.SAT:
                    continue
                self._note()
                signs = self._oracle.signs(self._oracle.model(), order)
                holds = dict(zip(order, signs, strict=True))
            kept.append(x)

    def _check(self, layer: int) -> Answer:
        soft = [x for x, weight in self._owed.items() if weight >= layer]
        soft.sort(key=lambda x: -self._owed[x])
        return self._oracle.check(self._wanted + soft)

    def _note(self) -> None:
        """Keeps the model just found if it is the best so far."""
        model = self._oracle.model()
        signs = self._oracle.signs(model, self._weights)
        cost = sum(w for w, sign in zip(self._weights.values(), signs, strict=True) if sign < 0)
        if self._cost is None or cost < self._cost:
            self._cost, self._best = cost, model

    def _pay(self, core: Sequence[int]) -> None:
        """Takes the least weight of a core off its members, and counts how many are overruled."""
        least = min(self._owed[x] for x in core)
        self._least += least
        for x in core:
            self._owed[x] -= least
            if not self._owed[x]:
                del self._owed[x]
            if x in self._counters:
                counter, most = self._counters[x]
                self._allow(counter, most + 1, least)
        if len(core) > 1:
            self._allow(Counter([-x for x in core]), 1, least)

    def _allow(self, counter: Counter, most: int, weight: int) -> None:
        """Makes it soft that no more than `most` of a counter's literals hold."""
        if most >= counter.size:
            return
        self._oracle.add(counter.grow(most + 1, self._new_variable))
        literal = -counter.at_least(most + 1)
        self._owed[literal] = self._owed.get(literal, 0) + weight
        self._counters[literal] = (counter, most)

    def _new_variable(self) -> int:
        self._oracle.top += 1
        return self._oracle.top


def next_layer(weights: Mapping[int, int], layer: int | None) -> int | None:
    """The weight down to which literals are assumed next; None after the last.

    As few layers as keep literals of about the same weight together: a layer ends where there are
    enough literals for each different weight.

    Examples:
        >>> next_layer({1: 100, 2: 90, 3: 2, 4: 2, 5: 2, 6: 1}, None)
        2
        >>> next_layer({1: 100, 2: 90, 3: 2, 4: 2, 5: 2, 6: 1}, 2)
        1
    """
    heavy = sorted(weights.values(), reverse=True)
    different = 0
    for i, weight in enumerate(heavy):
        if layer is not None and weight >= layer:
            continue
        last_of_its_weight = i + 1 == len(heavy) or heavy[i + 1] != weight
        if last_of_its_weight:
            different += 1
            if i + 1 == len(heavy) or (i + 1) / different > _DIVERSITY:
                return weight
    return None


def row_of(oracle: Oracle, repair: Repair, inputs: Sequence[int], outputs: Sequence[int]) -> Row:
    """A repair as the signs of columns, given by their literals."""
    if repair.status is not Status.SAT:
        return Row(repair.status, (), ())
    found, answers = oracle.signs(repair.model, inputs), oracle.signs(repair.model, outputs)
    return Row(repair.status, found, answers, repair.proved)
