"""Cardinality constraints and weighted sums, which become diagrams without clauses.

As clauses they would be adders, whose diagrams can be much larger than those of the sums.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from smtlayer.forks import uses_z3
from smtlayer.solvers.circuit.problem import BoundedSum, Problem, Term
from smtlayer.solvers.clauses.cnf import Cnf
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix

_MOST_NODES = 100_000  # of the diagram of one sum; larger ones stay with the clauses
_UNBOUNDED = 1 << 62
# Whether the number of a cardinality constraint is its lower bound, and its upper one.
_COUNTED = {
    z3.Z3_OP_PB_AT_MOST: (False, True), z3.Z3_OP_PB_AT_LEAST: (True, False),
    z3.Z3_OP_PB_LE: (False, True), z3.Z3_OP_PB_GE: (True, False), z3.Z3_OP_PB_EQ: (True, True),
}  # fmt: skip
# The bounds of the left side minus the right side.
_COMPARED = {
    z3.Z3_OP_LE: (-_UNBOUNDED, 0), z3.Z3_OP_LT: (-_UNBOUNDED, -1), z3.Z3_OP_EQ: (0, 0),
    z3.Z3_OP_GE: (0, _UNBOUNDED), z3.Z3_OP_GT: (1, _UNBOUNDED),
}  # fmt: skip


class _NotLinearError(Exception):
    """A term that is no sum of numbers, conditions and one-hot integers."""


@dataclass
class _Sum:
    """A sum over conditions with a constant, between two bounds unless something else holds."""

    unless: tuple[Any, ...] = ()
    low: int = 0
    high: int = 0
    constant: int = 0
    weights: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # by z3's id
    conditions: dict[int, Any] = field(default_factory=dict)

    def add(self, condition: Any, weight: int) -> None:
        """Adds a weight where a condition holds."""
        while z3.is_not(condition):
            self.constant += weight
            condition, weight = condition.arg(0), -weight
        self.weights[condition.get_id()] += weight
        self.conditions[condition.get_id()] = condition

    @property
    def is_small(self) -> bool:
        """Whether there are few partial sums."""
        sizes = [abs(w) for w in self.weights.values() if w]
        span = sum(sizes) // math.gcd(*sizes) + 1 if sizes else 1
        return len(sizes) * min(span, 1 << len(sizes)) <= _MOST_NODES


@uses_z3
def to_problem(theory: Theory) -> Problem:
    """The sums of a theory that comes down to bits, and clauses of its other constraints.

    Raises:
        NotFiniteError: If part of it does not come down to bits.
        TooLargeError: If it takes too many clauses.
    """
    columns_of = {
        s.name: tuple(zip(s.column_terms, s.values, strict=True))
        for s in theory.symbols
        if s.kind == "one-hot" and z3.is_int(s.term)
    }
    rest, sums = [], []
    for formula in _conjuncts(theory.constraints):
        found = _bounded(formula, columns_of)
        if found is None:
            rest.append(formula)
        else:
            sums.append(found)
    conditions = {i: c for total in sums for i, c in total.conditions.items()}
    conditions |= {c.get_id(): c for total in sums for c in total.unless}
    cnf = _clauses(theory, rest, list(conditions.values())) if sums else to_cnf(theory)
    n_columns = theory.n_inputs + theory.n_outputs
    columns = cnf.columns[:n_columns]
    literal = dict(zip(conditions, cnf.columns[n_columns:], strict=True))
    groups = _groups(theory, columns)
    bounded = tuple(_bounded_sum(total, literal, groups) for total in sums)
    return Problem(cnf, bounded, groups, columns)


def _clauses(theory: Theory, rest: Sequence[Any], conditions: Sequence[Any]) -> Cnf:
    """The clauses of some constraints, with the conditions as further columns."""
    context = theory.inputs[0].ctx
    prefix = fresh_prefix(theory.formulas, "condition")
    names = [z3.Bool(f"{prefix}{i}", context) for i in range(len(conditions))]
    defined = [x == c for x, c in zip(names, conditions, strict=True)]
    whole = [*rest, *defined] or [z3.BoolVal(True, context)]
    return to_cnf(Theory(whole, theory.input_symbols, (*theory.output_symbols, *names)))


def _groups(theory: Theory, columns: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The literals of each one-hot symbol, unless it shares variables in another way."""
    found, taken, start = dict[frozenset[int], tuple[int, ...]](), set[int](), 0
    for symbol in theory.symbols:
        literals = columns[start : start + symbol.width]
        start += symbol.width
        variables = {abs(x) for x in literals}
        if symbol.kind != "one-hot" or len(variables) < max(symbol.width, 2):
            continue
        if taken.isdisjoint(variables):
            found[frozenset(literals)] = tuple(literals)
            taken |= variables
    return tuple(found.values())


def _bounded_sum(
    total: _Sum, literal: Mapping[int, int], groups: Sequence[Sequence[int]]
) -> BoundedSum:
    """The sum over literals; conditions that are columns of a one-hot symbol are one term."""
    weights, constant = defaultdict[int, int](int), total.constant
    for i, weight in total.weights.items():
        x = literal[i]
        weights[abs(x)] += weight if x > 0 else -weight
        constant += 0 if x > 0 else weight
    terms = []
    for group in groups:
        parts = [(x, weights.pop(abs(x), 0)) for x in group]
        false = sum(w for x, w in parts if x < 0)
        if any(w for _, w in parts):
            terms.append(Term(tuple(group), tuple(false + (w if x > 0 else -w) for x, w in parts)))
    terms += [Term((x, -x), (weight, 0)) for x, weight in weights.items() if weight]
    unless = tuple(literal[c.get_id()] for c in total.unless)
    return BoundedSum(tuple(terms), total.low - constant, total.high - constant, unless)


def _conjuncts(formulas: Iterable[Any]) -> Iterator[Any]:
    for formula in formulas:
        if z3.is_and(formula):
            yield from _conjuncts(formula.children())
        else:
            yield formula


def _bounded(formula: Any, columns_of: Mapping[str, Sequence[tuple[Any, Any]]]) -> _Sum | None:
    """The formula as a sum with few partial sums, or None."""
    if z3.is_implies(formula):
        return _unless([z3.Not(formula.arg(0))], [formula.arg(1)], columns_of)
    if z3.is_or(formula):
        compared = [c for c in formula.children() if _is_compared(c)]
        others = [c for c in formula.children() if not _is_compared(c)]
        return _unless(others, compared, columns_of)
    kind, total = formula.decl().kind() if z3.is_app(formula) else None, _Sum()
    if kind in _COUNTED:
        number, *weights = formula.decl().params()
        for i, condition in enumerate(formula.children()):
            total.add(condition, weights[i] if weights else 1)
        has_low, has_high = _COUNTED[kind]
        total.low = number if has_low else -_UNBOUNDED
        total.high = number if has_high else _UNBOUNDED
        return total if total.is_small else None
    if not _is_compared(formula):
        return None
    total.low, total.high = _COMPARED[kind]
    try:
        _add_linear(total, formula.arg(0), 1, columns_of)
        _add_linear(total, formula.arg(1), -1, columns_of)
    except _NotLinearError:
        return None
    return total if total.conditions and total.is_small else None


def _is_compared(formula: Any) -> bool:
    kind = formula.decl().kind() if z3.is_app(formula) else None
    return kind in _COUNTED or (kind in _COMPARED and z3.is_int(formula.arg(0)))


def _unless(
    others: Sequence[Any], sums: Sequence[Any], columns_of: Mapping[str, Any]
) -> _Sum | None:
    """A disjunction of conditions and one sum, or None."""
    found = _bounded(sums[0], columns_of) if len(sums) == 1 and _is_compared(sums[0]) else None
    if found is not None:
        found.unless = tuple(others)
    return found


def _add_linear(
    total: _Sum, term: Any, factor: int, columns_of: Mapping[str, Sequence[tuple[Any, Any]]]
) -> None:
    """Adds a multiple of a linear term to a sum; raises if it has other parts."""
    kind = term.decl().kind() if z3.is_app(term) else None
    if z3.is_int_value(term):
        total.constant += factor * term.as_long()
    elif kind in (z3.Z3_OP_ADD, z3.Z3_OP_SUB):
        for i, part in enumerate(term.children()):
            sign = -1 if i and kind == z3.Z3_OP_SUB else 1
            _add_linear(total, part, sign * factor, columns_of)
    elif kind == z3.Z3_OP_UMINUS:
        _add_linear(total, term.arg(0), -factor, columns_of)
    elif kind == z3.Z3_OP_MUL and term.num_args() == 2 and z3.is_int_value(term.arg(0)):
        _add_linear(total, term.arg(1), factor * term.arg(0).as_long(), columns_of)
    elif kind == z3.Z3_OP_MUL and term.num_args() == 2 and z3.is_int_value(term.arg(1)):
        _add_linear(total, term.arg(0), factor * term.arg(1).as_long(), columns_of)
    elif kind == z3.Z3_OP_ITE and all(map(z3.is_int_value, term.children()[1:])):
        yes, no = (part.as_long() for part in term.children()[1:])
        total.constant += factor * no
        total.add(term.arg(0), factor * (yes - no))
    elif kind == z3.Z3_OP_UNINTERPRETED and term.decl().name() in columns_of:
        for condition, value in columns_of[term.decl().name()]:
            total.add(condition, factor * int(value))
    else:
        raise _NotLinearError
