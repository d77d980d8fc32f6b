"""Tseitin's translation of Boolean terms to clauses.

Terms that are clauses already stay as they are. Every other term gets one variable that is
equivalent to it, shared by all its uses, so the symbols determine all variables.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import z3
from numpy.typing import NDArray

from smtlayer.solvers.clauses.cnf import NUMBERS
from smtlayer.theory.terms import Terms

_EQUATIONS = (z3.Z3_OP_EQ, z3.Z3_OP_IFF, z3.Z3_OP_XOR, z3.Z3_OP_DISTINCT)


def logical_clauses(
    terms: Terms, roots: Sequence[int], atoms: Mapping[int, str] = MappingProxyType({})
) -> tuple[NDArray[np.int32], dict[str, int], int]:
    """Clauses that assert the terms at these positions, all of whose subterms are Boolean.

    Equations and disequations at the positions `atoms` are symbols of these names, or negated ones.

    Returns:
        The literals of all clauses, each clause ended by a 0; the variable of each symbol; and the
        number of variables.
    """
    found = _Tseitin(terms, atoms)
    for clause in found.asserted(roots):
        found.add(*map(found.literal, clause))
    return np.array(found.numbers, dtype=NUMBERS), found.variable, found.top


class _Tseitin:
    """Translates terms, each given as its position plus 1, with a minus sign if negated."""

    def __init__(self, terms: Terms, atoms: Mapping[int, str]) -> None:
        self._terms, self._kinds, self._atoms = terms, terms.kinds, atoms
        self._uses = np.bincount(terms.flat, minlength=len(terms.kinds)).tolist()
        self._literals: dict[int, int] = {}  # by positive term
        self.numbers: list[int] = []
        self.variable: dict[str, int] = {}
        self.top = 0

    def add(self, *literals: int) -> None:
        """Adds a clause."""
        self.numbers.extend(literals)
        self.numbers.append(0)

    def asserted(self, roots: Sequence[int]) -> Iterator[list[int]]:
        """Clauses over terms that together assert all roots."""
        stack, seen = [root + 1 for root in reversed(roots)], set[int]()
        while stack:
            term = self._strip(stack.pop())[0]
            if term in seen:
                continue
            seen.add(term)
            kind = self._kinds[abs(term) - 1]
            if self._is_or(-term):
                stack.extend(-part for part in reversed(self._parts(-term)))
            elif self._is_or(term):
                yield self._parts(term)
            elif abs(term) - 1 in self._atoms:
                yield [term]
            elif kind in _EQUATIONS and len(self._args(term)) == 2:
                one, other = self._args(term)
                other = other if (term > 0) == (kind in _EQUATIONS[:2]) else -other
                yield from ([-one, other], [one, -other])
            elif kind == z3.Z3_OP_ITE:
                test, yes, no = self._args(term)
                sign = 1 if term > 0 else -1
                yield from ([-test, sign * yes], [test, sign * no])
            else:
                yield [term]

    def literal(self, term: int) -> int:
        """The literal of a term; a new term is translated first."""
        known, stack = self._literals, [abs(term)]
        while stack:
            new = stack[-1]
            if new in known:
                stack.pop()
                continue
            args = self._parts(new if self._is_or(new) else -new)
            if not args and new - 1 not in self._atoms:
                args = self._args(new)
            missing = [abs(arg) for arg in args if abs(arg) not in known]
            if missing:
                stack.extend(missing)
            else:
                known[new] = self._gate(new, [self._signed(arg) for arg in args])
        return self._signed(term)

    def _signed(self, term: int) -> int:
        found = self._literals[abs(term)]
        return found if term > 0 else -found

    def _strip(self, term: int) -> tuple[int, bool]:
        """A term without its negations, and whether it has other uses."""
        i, shared = abs(term) - 1, False
        while True:
            shared = shared or self._uses[i] > 1
            if self._kinds[i] != z3.Z3_OP_NOT:
                return (i + 1 if term > 0 else -i - 1), shared
            i, term = self._terms.flat[self._terms.starts[i]], -term

    def _args(self, term: int) -> list[int]:
        return [self._strip(i + 1)[0] for i in self._terms.args(abs(term) - 1)]

    def _is_or(self, term: int) -> bool:
        kind = self._kinds[abs(term) - 1]
        if term > 0:
            return kind in (z3.Z3_OP_OR, z3.Z3_OP_IMPLIES)
        return bool(kind == z3.Z3_OP_AND)

    def _parts(self, term: int) -> list[int]:
        """The disjuncts of a term, with nested disjunctions of a single use flattened; or none."""
        parts, stack = list[int](), [term] if self._is_or(term) else []
        while stack:
            i = abs(stack.pop())
            args = [j + 1 for j in self._terms.args(i - 1)]
            if self._kinds[i - 1] == z3.Z3_OP_AND:
                args = [-x for x in args]
            elif self._kinds[i - 1] == z3.Z3_OP_IMPLIES:
                args[0] = -args[0]
            for arg in args:
                part, shared = self._strip(arg)
                (parts if shared or not self._is_or(part) else stack).append(part)
        return parts

    def _gate(self, term: int, args: list[int]) -> int:
        """The literal of a term with these arguments, with the clauses that define it."""
        kind = self._kinds[term - 1]
        if term - 1 in self._atoms:
            return self._symbol(self._atoms[term - 1]) * (1 if kind == z3.Z3_OP_EQ else -1)
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._symbol(self._terms.names[term - 1])
        if kind == z3.Z3_OP_ITE:
            return self._choice(*args)
        if kind in _EQUATIONS[:3]:
            found = args[0]
            for arg in args[1:]:
                found = self._unequal(found, arg)
            return found if kind == z3.Z3_OP_XOR else -found
        if kind == z3.Z3_OP_DISTINCT and len(args) == 2:
            return self._unequal(*args)
        found, always = self._new(), kind == z3.Z3_OP_TRUE
        if kind == z3.Z3_OP_DISTINCT:  # three or more Booleans cannot all differ
            always, args = len(args) < 2, []
        for arg in args:
            self.add(found, -arg)
        self.add(-found, *args)
        return -found if always or kind == z3.Z3_OP_AND else found

    def _symbol(self, name: str) -> int:
        if name not in self.variable:
            self.variable[name] = self._new()
        return self.variable[name]

    def _new(self) -> int:
        self.top += 1
        return self.top

    def _unequal(self, one: int, other: int) -> int:
        found = self._new()
        self.add(-found, one, other)
        self.add(-found, -one, -other)
        self.add(found, -one, other)
        self.add(found, one, -other)
        return found

    def _choice(self, test: int, yes: int, no: int) -> int:
        found = self._new()
        for sign in (1, -1):
            self.add(-test, -sign * yes, sign * found)
            self.add(test, -sign * no, sign * found)
            self.add(-sign * yes, -sign * no, sign * found)  # propagates without the test
        return found
