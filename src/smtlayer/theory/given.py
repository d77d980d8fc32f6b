"""This file checks what a theory is made of: constraints and their names, inputs, outputs."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import z3

from smtlayer.errors import TheoryError
from smtlayer.theory.encodings import OneHot


def formulas_of(constraints: Any, context: Any) -> list[Any]:
    """The constraints as a list of formulas."""
    single = z3.is_expr(constraints) or isinstance(constraints, bool)
    members = constraints.values() if isinstance(constraints, Mapping) else constraints
    formulas = [constraints] if single else _listed(members, "constraints")
    formulas = [z3.BoolVal(f, context) if isinstance(f, bool) else f for f in formulas]
    for i, formula in enumerate(formulas):
        if not z3.is_expr(formula) or not z3.is_bool(formula):
            raise TypeError(
                f"Theory: constraint {i} must be a formula, a z3 term of sort Bool. "
                f"Got {formula!r} of type {type(formula).__name__}."
            )
    return formulas


def names_of(constraints: Any) -> list[str] | None:
    """The names of the constraints, if they have any."""
    if not isinstance(constraints, Mapping):
        return None
    for i, name in enumerate(constraints):
        if not isinstance(name, str):
            raise TypeError(
                f"Theory: the name of constraint {i} must be a string. "
                f"Got {name!r} of type {type(name).__name__}."
            )
        if not name.strip() or not name.isprintable() or "|" in name or "\\" in name:
            raise TheoryError(
                f"Theory: {name!r} cannot name constraint {i}. "
                f"Choose a name on one line that is not empty and has no '|' and no '\\'."
            )
    return list(constraints)


def symbols_of(symbols: Any, role: str) -> list[Any]:
    """The inputs or outputs as a list of requests."""
    if z3.is_expr(symbols) or isinstance(symbols, (str, OneHot)):
        raise TypeError(
            f"Theory: {role} must be a sequence, such as [{symbols!r}]. Got one symbol."
        )
    if isinstance(symbols, AbstractSet):
        raise TypeError(
            f"Theory: {role} must be in an order, that of their columns. "
            f"Got a {type(symbols).__name__}. Give a list."
        )
    found = _listed(symbols, role)
    if not found:
        raise TheoryError(f"Theory needs at least one symbol among its {role}. Got none.")
    return found


def check_contexts(terms: Sequence[Any]) -> None:
    """Raises unless all terms belong to one z3 context."""
    if any(term.ctx != terms[0].ctx for term in terms):
        raise TheoryError(
            "Theory: the constraints, inputs and outputs must belong to one z3 context. Got "
            "several. Build them all in one, or bring them there with term.translate(context)."
        )


def _listed(given: Any, role: str) -> list[Any]:
    try:
        members = iter(given)
    except TypeError as error:
        raise TypeError(
            f"Theory: {role} must be a sequence of z3 terms. "
            f"Got {given!r} of type {type(given).__name__}."
        ) from error
    return list(members)
