"""This file gives symbols that must differ a variable for each value, so that clauses propagate.

Compared bit by bit, the numbers of a Sudoku row tell a solver nothing until both are known. With a
variable for each value of each number, as a person pencils candidates into a cell, one known number
rules its value out for all others, and a value with one place left goes there. The bits stay, tied
to the values: what the theory says of bits it still says.

For terms x of one group, values k, and v[x, k] for x == k:

    some v[x, k] for each x;  a bit of x holds only with a value that has it;
    at most one v[x, k] for each k;  some v[x, k] for each k if there are as many values as terms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import z3
from pysat.card import CardEnc, EncType
from pysat.solvers import Minisat22

from smtlayer.solvers.clauses.budget import Budget
from smtlayer.solvers.clauses.cnf import split

_WIDTH = 6  # bits of a term that gets a variable for each value
_PAIRS = 20  # up to this many terms, "at most one" by pairs; no new variables
_LEAST = 3  # terms in a group worth the trouble

Group = tuple[Any, ...]


def differing(formulas: Sequence[Any]) -> tuple[list[Group], list[Any]]:
    """Groups of small bit-vector terms that must all differ, and the formulas that do not say so.

    Groups come from Distinct and from pairwise inequations, which are put together again.
    """
    groups: list[Group] = []
    edges: dict[tuple[int, int], Any] = {}
    terms: dict[int, Any] = {}
    rest = []
    for formula in formulas:
        pair = _unequal(formula)
        if z3.is_distinct(formula) and _small(formula.arg(0)) and formula.num_args() >= _LEAST:
            groups.append(tuple(formula.children()))
        elif pair is not None:
            terms |= {x.get_id(): x for x in pair}
            one, other = sorted(x.get_id() for x in pair)
            edges[one, other] = formula
        else:
            rest.append(formula)
    for clique in _cliques(list(edges)):
        if len(clique) >= _LEAST:
            groups.append(tuple(terms[i] for i in clique))
        else:
            rest.append(edges[clique[0], clique[1]])
    return groups, rest


def _small(term: Any) -> bool:
    return bool(z3.is_bv(term)) and int(term.size()) <= _WIDTH


def _unequal(formula: Any) -> tuple[Any, Any] | None:
    """The two terms that a formula says are unequal, if it says just that of small terms."""
    if z3.is_distinct(formula) and formula.num_args() == 2:
        one, other = formula.children()
    elif z3.is_not(formula) and z3.is_eq(formula.arg(0)):
        one, other = formula.arg(0).children()
    else:
        return None
    fit = _small(one) and not (z3.is_bv_value(one) or z3.is_bv_value(other))
    return (one, other) if fit and one.get_id() != other.get_id() else None


def _cliques(edges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Sets of mutually unequal terms that cover all edges, each grown as far as it goes."""
    near: dict[int, set[int]] = {}
    for one, other in edges:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    covered: set[tuple[int, int]] = set()
    for edge in sorted(edges):
        if edge in covered:
            continue
        clique = list(edge)
        common = near[edge[0]] & near[edge[1]]
        while common:
            clique.append(min(common))
            common &= near[clique[-1]]
        clique.sort()
        covered.update(combinations(clique, 2))
        yield tuple(clique)


@dataclass(frozen=True)
class Values:
    """For each term of some groups: a Boolean for each of its bits and for each of its values.

    A Boolean is a fresh z3 constant at first and the number of a variable once `numbered`.
    """

    groups: tuple[tuple[int, ...], ...]  # positions of terms
    bits: tuple[tuple[Any, ...], ...]  # of each term, least significant first
    values: tuple[tuple[Any, ...], ...]  # of each term, from 0 up
    equations: tuple[Any, ...]  # what the Booleans mean

    @classmethod
    def of(cls, groups: Sequence[Group], prefix: str) -> "Values":
        """Fresh Booleans, named with a prefix, for the bits and values of the groups' terms."""
        terms = {x.get_id(): x for group in groups for x in group}
        position = {key: i for i, key in enumerate(terms)}
        bits, values, equations = [], [], []
        for x in terms.values():
            width = x.size()
            meanings = [z3.Extract(j, j, x) == 1 for j in range(width)]
            meanings += [x == z3.BitVecVal(k, width, x.ctx) for k in range(2**width)]
            fresh = [z3.FreshBool(prefix, ctx=x.ctx) for _ in meanings]
            equations += [b == meaning for b, meaning in zip(fresh, meanings, strict=True)]
            bits.append(tuple(fresh[:width]))
            values.append(tuple(fresh[width:]))
        places = [tuple(position[x.get_id()] for x in group) for group in groups]
        return cls(tuple(places), tuple(bits), tuple(values), tuple(equations))

    @property
    def literals(self) -> list[Any]:
        """All Booleans, term by term, bits before values."""
        pairs = zip(self.bits, self.values, strict=True)
        return [x for bits, values in pairs for x in (*bits, *values)]

    def numbered(self, numbers: Sequence[int]) -> "Values":
        """The same with variables in place of the Booleans, given in the order of `literals`."""
        left = iter(numbers)
        bits, values = [], []
        for old_bits, old_values in zip(self.bits, self.values, strict=True):
            bits.append(tuple(next(left) for _ in old_bits))
            values.append(tuple(next(left) for _ in old_values))
        return Values(self.groups, tuple(bits), tuple(values), ())


def value_clauses(clauses: Any, values: Values, budget: Budget) -> list[list[int]]:
    """What is to be added to the clauses for these values, within the budget; see above."""
    if not values.groups:
        return []
    known = split(clauses)
    top = max((abs(x) for clause in known for x in clause), default=0)
    top = max(top, *(v for term in (*values.bits, *values.values) for v in term))
    added: list[list[int]] = []
    for bits, literals in zip(values.bits, values.values, strict=True):
        added.append(list(literals))
        for j, bit in enumerate(bits):
            added.append([-bit, *(v for k, v in enumerate(literals) if k >> j & 1)])
            added.append([bit, *(v for k, v in enumerate(literals) if not k >> j & 1)])
    possible = _possible(known + added, values)
    added += [[-v] for term in values.values for v in term if v not in possible]
    for group in values.groups:
        budget.clauses(len(known) + len(added), "at least ")
        columns = [
            [v for v in column if v in possible]
            for column in zip(*(values.values[i] for i in group), strict=True)
        ]
        used = [column for column in columns if column]
        if len(used) == len(group):
            added += used
        for column in used:
            one = _at_most_one(column, top)
            top = max([top, *(abs(x) for clause in one for x in clause)])
            added += one
    return added


def _possible(clauses: list[list[int]], values: Values) -> set[int]:
    """The values that do not contradict the clauses outright."""
    with Minisat22(bootstrap_with=clauses) as solver:
        return {v for term in values.values for v in term if solver.propagate([v])[0]}


def _at_most_one(literals: list[int], top: int) -> list[list[int]]:
    if len(literals) <= _PAIRS:
        return [[-one, -other] for one, other in combinations(literals, 2)]
    encoded = CardEnc.atmost(literals, bound=1, top_id=top, encoding=EncType.seqcounter)
    return list(encoded.clauses)
