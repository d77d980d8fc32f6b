"""The direct encoding of terms that must all differ, which propagates better than their bits.

Compared bit by bit, two numbers propagate nothing until both are known. With one variable per value
of each number, a known number rules out its value for all others, and a value that is possible in
one place only is set there. The bits stay as well, linked to the values, for constraints on bits.

For terms x of one group, values k, and v[x, k] for x == k:

    some v[x, k] for each x;  a bit of x holds only with a value that has it;
    at most one v[x, k] for each k;  some v[x, k] for each k if there are as many values as terms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import z3
from numpy.typing import NDArray
from pysat.card import CardEnc, EncType
from pysat.solvers import Minisat22

from smtlayer.solvers.clauses.cnf import Budget, split

_WIDTH = 6  # bits, above which a term keeps only its bits
_PAIRS = 20  # terms, up to which "at most one" is encoded by pairs, without new variables
_LEAST = 3  # terms; smaller groups keep only their bits

Group = tuple[Any, ...]


def all_different_groups(formulas: Sequence[Any]) -> tuple[list[Group], list[Any]]:
    """Groups of small bit-vector terms that must all differ, and the remaining formulas.

    Groups come from Distinct and from cliques of pairwise disequalities.
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
    """The two small terms of a disequality; None for any other formula."""
    if z3.is_distinct(formula) and formula.num_args() == 2:
        one, other = formula.children()
    elif z3.is_not(formula) and z3.is_eq(formula.arg(0)):
        one, other = formula.arg(0).children()
    else:
        return None
    fit = _small(one) and not (z3.is_bv_value(one) or z3.is_bv_value(other))
    return (one, other) if fit and one.get_id() != other.get_id() else None


def _cliques(edges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Maximal sets of mutually unequal terms that cover all edges, found greedily."""
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
class DirectEncoding:
    """One Boolean per bit and per value of each term of some groups.

    The Booleans are fresh z3 constants at first, and variables of a CNF once `numbered`.
    """

    groups: tuple[tuple[int, ...], ...]  # positions of terms
    bits: tuple[tuple[Any, ...], ...]  # of each term, least significant first
    values: tuple[tuple[Any, ...], ...]  # of each term, from 0 up
    definitions: tuple[Any, ...]  # equations that define the Booleans

    @classmethod
    def of(cls, groups: Sequence[Group], prefix: str) -> "DirectEncoding":
        """Fresh Booleans, named with a prefix, for the bits and values of the groups' terms."""
        terms = {x.get_id(): x for group in groups for x in group}
        position = {key: i for i, key in enumerate(terms)}
        bits, values, definitions = [], [], []
        for x in terms.values():
            width = x.size()
            meanings = [z3.Extract(j, j, x) == 1 for j in range(width)]
            meanings += [x == z3.BitVecVal(k, width, x.ctx) for k in range(2**width)]
            fresh = [z3.FreshBool(prefix, ctx=x.ctx) for _ in meanings]
            definitions += [b == meaning for b, meaning in zip(fresh, meanings, strict=True)]
            bits.append(tuple(fresh[:width]))
            values.append(tuple(fresh[width:]))
        places = [tuple(position[x.get_id()] for x in group) for group in groups]
        return cls(tuple(places), tuple(bits), tuple(values), tuple(definitions))

    @property
    def literals(self) -> list[Any]:
        """All Booleans, term by term, bits before values."""
        pairs = zip(self.bits, self.values, strict=True)
        return [x for bits, values in pairs for x in (*bits, *values)]

    def numbered(self, numbers: Sequence[int]) -> "DirectEncoding":
        """This encoding over variables of a CNF, given in the order of `literals`."""
        left = iter(numbers)
        bits, values = [], []
        for old_bits, old_values in zip(self.bits, self.values, strict=True):
            bits.append(tuple(next(left) for _ in old_bits))
            values.append(tuple(next(left) for _ in old_values))
        return DirectEncoding(self.groups, tuple(bits), tuple(values), ())


def direct_clauses(
    numbers: NDArray[np.int32], encoding: DirectEncoding, budget: Budget
) -> list[list[int]]:
    """The clauses of the module docstring, to be added to those given."""
    if not encoding.groups:
        return []
    known = list(split(numbers))
    top = max(int(np.abs(numbers).max(initial=0)), *encoding.literals)
    added: list[list[int]] = []
    for bits, literals in zip(encoding.bits, encoding.values, strict=True):
        added.append(list(literals))
        for j, bit in enumerate(bits):
            added.append([-bit, *(v for k, v in enumerate(literals) if k >> j & 1)])
            added.append([bit, *(v for k, v in enumerate(literals) if not k >> j & 1)])
    with Minisat22(bootstrap_with=known + added) as solver:  # not refuted by unit propagation
        possible = {v for term in encoding.values for v in term if solver.propagate([v])[0]}
    added += [[-v] for term in encoding.values for v in term if v not in possible]
    for group in encoding.groups:
        budget.clauses(len(known) + len(added), "at least ")
        columns = [
            [v for v in column if v in possible]
            for column in zip(*(encoding.values[i] for i in group), strict=True)
        ]
        used = [column for column in columns if column]
        if len(used) == len(group):
            added += used
        for column in used:
            one = _at_most_one(column, top)
            top = max([top, *(abs(x) for clause in one for x in clause)])
            added += one
    return added


def _at_most_one(literals: list[int], top: int) -> list[list[int]]:
    if len(literals) <= _PAIRS:
        return [[-one, -other] for one, other in combinations(literals, 2)]
    encoded = CardEnc.atmost(literals, bound=1, top_id=top, encoding=EncType.seqcounter)
    return list(encoded.clauses)
