"""The arguments of a theory: constraints and their names, inputs and outputs, `one_hot`."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import z3

from smtlayer.errors import ArgumentTypeError, TheoryError
from smtlayer.theory.symbols import BitsSymbol, BoolSymbol, OneHotSymbol, Symbol
from smtlayer.theory.values import name_of, python_value, z3_value


@dataclass(frozen=True, eq=False)
class OneHot:
    """A symbol with one column per value, as `one_hot` returns it."""

    symbol: Any  # a z3 constant, or its name where the theory is read from SMT-LIB
    values: tuple[Any, ...]


def one_hot(symbol: Any, values: Any) -> OneHot:
    """Gives a symbol of any sort one column per value.

    The theory then includes that the symbol has exactly one of these values.

    Args:
        symbol: A z3 constant (Int, Real, BitVec, String, an enumeration...), or, for
            `Theory.from_smtlib`, the name of a declared constant.
        values: The values it may have: Python or z3 values, or names of an enumeration's members.

    Examples:
        >>> from smtlayer import Theory
        >>> digit, double = z3.Ints("digit double")
        >>> theory = Theory(
        ...     double == 2 * digit,
        ...     inputs=[one_hot(digit, range(3))],
        ...     outputs=[one_hot(double, range(0, 6, 2))],
        ... )
        >>> theory.input_names
        ('digit=0', 'digit=1', 'digit=2')
        >>> theory.encode(digit=1)
        tensor([-1,  1, -1], dtype=torch.int8)
    """
    try:
        members = iter(values)
    except TypeError as error:
        raise ArgumentTypeError(
            f"one_hot expects the values of {symbol!r} as a sequence, such as range(10). "
            f"Got {values!r} of type {type(values).__name__}."
        ) from error
    return OneHot(symbol, tuple(members))


def formulas_of(constraints: Any, context: Any) -> list[Any]:
    """The constraints as a list of formulas."""
    single = z3.is_expr(constraints) or isinstance(constraints, bool)
    members = constraints.values() if isinstance(constraints, Mapping) else constraints
    formulas = [constraints] if single else _listed(members, "constraints")
    formulas = [z3.BoolVal(f, context) if isinstance(f, bool) else f for f in formulas]
    for i, formula in enumerate(formulas):
        if not z3.is_expr(formula) or not z3.is_bool(formula):
            raise ArgumentTypeError(
                f"Theory: constraint {i} must be a formula, a z3 term of sort Bool. "
                f"Got {formula!r} of type {type(formula).__name__}."
            )
    return formulas


def names_of(constraints: Any) -> list[str] | None:
    """The names of the constraints, None if they have none."""
    if not isinstance(constraints, Mapping):
        return None
    for i, name in enumerate(constraints):
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"Theory: the name of constraint {i} must be a string. "
                f"Got {name!r} of type {type(name).__name__}."
            )
        if not can_name(name):
            raise TheoryError(
                f"Theory: {name!r} cannot name constraint {i}. "
                f"Choose a name on one line that is not empty and has no '|' and no '\\'."
            )
    return list(constraints)


def can_name(name: str) -> bool:
    """Whether a constraint can have this name."""
    return bool(name.strip()) and name.isprintable() and "|" not in name and "\\" not in name


def listed_symbols(symbols: Any, role: str) -> list[Any]:
    """The inputs or outputs as a list, as they were given."""
    if z3.is_expr(symbols) or isinstance(symbols, (str, OneHot, Symbol)):
        raise ArgumentTypeError(
            f"Theory: {role} must be a sequence, such as [{symbols!r}]. Got one symbol."
        )
    if isinstance(symbols, AbstractSet):
        raise ArgumentTypeError(
            f"Theory: {role} must be in the order of their columns. "
            f"Got a {type(symbols).__name__}. Pass a list."
        )
    found = _listed(symbols, role)
    if not found:
        raise TheoryError(f"Theory needs at least one symbol among its {role}. Got none.")
    return found


def symbols_of(given: Any, role: str) -> tuple[Symbol, ...]:
    """The inputs or outputs of a theory as symbols with their columns."""
    symbols, start = list[Symbol](), 0
    for one in listed_symbols(given, role):
        symbols.append(_symbol(one, role.removesuffix("s"), start))
        start += symbols[-1].width
    return tuple(symbols)


def _symbol(given: Any, role: str, start: int) -> Symbol:
    if isinstance(given, Symbol):
        return replace(given, start=start)
    term = given.symbol if isinstance(given, OneHot) else given
    if not (z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED):
        raise ArgumentTypeError(
            f"Theory: each {role} must be a z3 constant such as z3.Bool('a') or z3.BitVec('a', 4), "
            f"or one_hot(symbol, values). Got {term!r} of type {type(term).__name__}."
        )
    if isinstance(given, OneHot):
        return OneHotSymbol.of(term, start, _value_terms(term, given.values))
    if z3.is_bool(term):
        return BoolSymbol.of(term, start)
    if z3.is_bv(term):
        return BitsSymbol.of(term, start)
    raise ArgumentTypeError(
        f"Theory: {role} {name_of(term)!r} has sort {term.sort()}, which has no columns by itself. "
        f"Wrap it: one_hot({name_of(term)}, [...the values it may have...])."
    )


def _value_terms(symbol: Any, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of a one-hot symbol as z3 has them, at least two and all different."""
    terms = tuple(z3_value(symbol, value) for value in values)
    known = [python_value(term) for term in terms]
    for value in known:
        if known.count(value) > 1:
            raise TheoryError(
                f"one_hot: symbol {name_of(symbol)!r} has the value {value!r} more than once. "
                f"Give each value once."
            )
    compound = any(term.num_args() for term in terms)  # equal terms can be written differently
    for one, other in combinations(terms, 2) if compound else ():
        if not z3.is_false(z3.simplify(one == other)):
            raise TheoryError(
                f"one_hot: the values {one} and {other} of symbol {name_of(symbol)!r} may be "
                f"equal. Give each value once."
            )
    if len(terms) < 2:
        raise TheoryError(
            f"one_hot: symbol {name_of(symbol)!r} needs at least two values. Got {len(terms)}. "
            f"Fix a symbol to one value with a constraint."
        )
    return terms


def check_contexts(terms: Sequence[Any]) -> None:
    """Raises unless all terms belong to one z3 context."""
    if any(term.ctx != terms[0].ctx for term in terms):
        raise TheoryError(
            "Theory: the constraints, inputs and outputs must belong to one z3 context. Got "
            "several. Build them all in one, or move them there with term.translate(context)."
        )


def _listed(given: Any, role: str) -> list[Any]:
    try:
        members = iter(given)
    except TypeError as error:
        raise ArgumentTypeError(
            f"Theory: {role} must be a sequence of z3 terms. "
            f"Got {given!r} of type {type(given).__name__}."
        ) from error
    return list(members)
