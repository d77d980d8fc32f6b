"""One-hot symbols that formulas only compare with values: each column is a Boolean, without bits.

The sort of such a symbol does not matter; it may be a string or a real number. All that a theory
says about it is that exactly one of the columns `symbol == value` is true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import z3

from smtlayer.theory import Theory
from smtlayer.theory.terms import BOUND, Terms
from smtlayer.theory.values import sides

_PAIRS = 20  # columns, up to which "at most one" is encoded by pairs, without new variables
_KINDS = (z3.Z3_OP_EQ, z3.Z3_OP_DISTINCT)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The comparisons `symbol == value` and `symbol != value` of such symbols.

    Each value of each symbol has the name of a Boolean; so have all values that are not listed.
    """

    columns: list[list[str] | None]  # by one-hot symbol of the theory; None for the other ones
    names: dict[int, str]  # by position of the comparison among the terms of the theory
    groups: list[list[str]]  # the names of each symbol's values
    never: str  # the name for values that a symbol cannot have

    def clauses(self, variable: Mapping[str, int], top: int) -> tuple[list[list[int]], int]:
        """Clauses for "at most one value", and the number of variables, of which some are new."""
        clauses = [[-variable[self.never]]] if self.never in variable else []
        for group in self.groups:
            literals = [variable[name] for name in group]
            if len(literals) <= _PAIRS:
                clauses += [[-one, -other] for one, other in combinations(literals, 2)]
                continue
            seen = literals[0]  # one of the literals so far is true
            for literal in literals[1:]:
                top += 1
                clauses += [[-seen, -literal], [-seen, top], [-literal, top], [seen, literal, -top]]
                seen = top
        return clauses, top


def find_comparisons(theory: Theory) -> Comparisons:
    """The one-hot symbols of a theory that are only compared with values."""
    terms, prefix = theory.terms, "value"
    while any(prefix in name for name in terms.names.values()):
        prefix += "_"
    symbols = [symbol.name for symbol in theory.symbols if symbol.domain is not None]
    domains = terms.roots[len(theory.constraints) :]
    columns: list[tuple[int, list[str]]] = []  # by symbol, with its position among the terms
    values: dict[int, dict[int, str]] = {}  # by position of the symbol and of the value
    for i, (symbol, domain) in enumerate(zip(symbols, domains, strict=True)):
        pairs = [terms.args(equation) for equation in terms.args(domain)]
        place = next(x for x in pairs[0] if terms.names.get(x) == symbol)
        own = values.setdefault(place, {})
        found = [
            own.setdefault(value, f"{prefix}{i}!{len(own)}")
            for pair in pairs for value in pair if value != place
        ]  # fmt: skip
        columns.append((place, found))
    names, others = _compared(terms, values, never := f"{prefix}!")
    return Comparisons(
        [None if place in others else found for place, found in columns],
        names,
        [list(own.values()) for place, own in values.items() if place not in others],
        never,
    )


def _compared(
    terms: Terms, values: Mapping[int, Mapping[int, str]], never: str
) -> tuple[dict[int, str], set[int]]:
    """The names of all comparisons, and the symbols that have other uses."""
    uses = np.flatnonzero(np.isin(np.asarray(terms.flat), list(values)))
    users = np.searchsorted(np.asarray(terms.starts), uses, side="right") - 1
    names, others = dict[int, tuple[int, str]](), values.keys() & set(terms.roots)
    for i in users.tolist():
        args = terms.args(i)
        place = args[0] if args[0] in values else args[-1]
        value = args[0] if place == args[-1] else args[-1]
        if terms.kinds[i] in _KINDS and len(args) == 2 and _is_value(terms, value):
            names[i] = place, values[place].get(value, never)
        else:
            others |= values.keys() & set(args)
    return {i: name for i, (place, name) in names.items() if place not in others}, others


def _is_value(terms: Terms, i: int) -> bool:
    """Whether a term is a value by its form: distinct terms of this form have distinct values."""
    leaf = terms.starts[i] == terms.starts[i + 1]
    return leaf and terms.kinds[i] not in (z3.Z3_OP_UNINTERPRETED, BOUND)


def as_booleans(own: Theory, formulas: Sequence[Any], found: Comparisons) -> list[Any]:
    """Formulas of a theory or its copy with a Boolean of that name in place of each comparison."""
    context = own.inputs[0].ctx
    one_hot = [symbol for symbol in own.symbols if symbol.domain is not None]
    names: dict[tuple[int, str], str] = {}
    for symbol, columns in zip(one_hot, found.columns, strict=True):
        for equation, name in zip(symbol.column_terms, columns or (), strict=False):
            names[symbol.term.get_id(), _text(sides(equation)[1])] = name
    symbols = {symbol for symbol, _ in names}
    replaced, seen, stack = list[tuple[Any, Any]](), set[int](), list(formulas)
    while stack:
        term = stack.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if symbols.isdisjoint(child.get_id() for child in term.children()):
            stack.extend(term.children())
            continue
        place, value = sides(term)
        name = z3.Bool(names.get((place.get_id(), _text(value)), found.never), context)
        replaced.append((term, z3.Not(name) if z3.is_distinct(term) else name))
    return [z3.substitute(formula, *replaced) for formula in formulas]


def _text(value: Any) -> str:
    """The text of a value, the same in a copy: there -1 and 1/2 may be terms, not numerals."""
    return str(z3.simplify(value).sexpr())
