"""This file finds the cheapest inputs to overrule, given only a way to ask about some of them.

It is the implicit hitting set method. Every unsat core must lose a member, so a repair hits every
core; the cheapest set that hits the cores seen so far costs no more than the cheapest repair. Ask
whether the theory can do without that set: if yes, it *is* the cheapest repair; if not, the answer
holds a new core. Weights are compared as exact integers.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction

from smtlayer.solvers.results import Status

# Whether the given inputs can hold together; if not, a subset of them that cannot.
Check = Callable[[Collection[int]], tuple[Status, frozenset[int]]]


def cheapest_repair(check: Check, weights: Mapping[int, float], deadline: float) -> Status:
    """Asks `check` until its last SAT answer is a model that overrules the least weight.

    Args:
        check: Answers about a subset of the observed inputs.
        weights: The positive weight of each observed input.
        deadline: When to give up, by `time.monotonic()`.

    Returns:
        SAT once the last model found is the best one, UNSAT if there is none, else UNKNOWN.
    """
    exact = exact_integers(weights)
    cores: list[frozenset[int]] = []
    while True:
        try:
            overruled = cheapest_hitting_set(cores, exact, deadline)
        except TimeoutError:
            return Status.UNKNOWN
        kept = weights.keys() - overruled
        status, core = check(kept)
        if status is not Status.UNSAT:
            return status
        while status is Status.UNSAT:  # further cores that share nothing with those of this round
            if not core:
                return Status.UNSAT
            cores.append(core)
            kept = kept - core
            status, core = check(kept)
        if status is Status.UNKNOWN:
            return status


def exact_integers(weights: Mapping[int, float]) -> dict[int, int]:
    """The weights as integers in the same proportions, none of them lost.

    Example:
        >>> exact_integers({0: 1.0, 1: 0.75})
        {0: 4, 1: 3}
    """
    fractions = {i: Fraction(weight) for i, weight in weights.items()}
    unit = max((f.denominator for f in fractions.values()), default=1)
    return {i: int(f * unit) for i, f in fractions.items()}  # denominators are powers of two


def cheapest_hitting_set(
    sets: Sequence[frozenset[int]], weights: Mapping[int, int], deadline: float = math.inf
) -> frozenset[int]:
    """The cheapest set that shares a member with each of the given sets, by branch and bound.

    Example:
        >>> sorted(cheapest_hitting_set([frozenset({0, 1}), frozenset({1, 2})], {0: 1, 1: 3, 2: 1}))
        [0, 2]
    """
    incumbent: list[tuple[int, frozenset[int]]] = []

    def search(open_sets: list[frozenset[int]], chosen: frozenset[int], cost: int) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError
        if incumbent and cost + _bound(open_sets, weights) >= incumbent[0][0]:
            return
        if not open_sets:
            incumbent[:] = [(cost, chosen)]
            return
        smallest = min(open_sets, key=len)
        banned: set[int] = set()
        for member in sorted(smallest, key=lambda i: (weights[i], i)):
            rest = [s - banned for s in open_sets if member not in s]
            if all(rest):
                search(rest, chosen | {member}, cost + weights[member])
            banned.add(member)

    search(list(sets), frozenset(), 0)
    return incumbent[0][1]


def _bound(sets: Sequence[frozenset[int]], weights: Mapping[int, int]) -> int:
    """What disjoint sets must cost at the least."""
    total, used = 0, set[int]()
    for members in sorted(sets, key=len):
        if used.isdisjoint(members):
            used |= members
            total += min(weights[i] for i in members)
    return total
