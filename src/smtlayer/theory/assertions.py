"""The assertions of a z3 solver as constraints with names, and symbols that are given by name."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import z3

from smtlayer.errors import ArgumentTypeError, TheoryError, did_you_mean
from smtlayer.theory.arguments import OneHot, can_name, formulas_of, listed_symbols, names_of
from smtlayer.theory.declarations import declarations_of
from smtlayer.theory.symbols import Symbol
from smtlayer.theory.terms import Terms, read_terms

_WHO = "Theory.from_z3"


def read(
    solver: Any, inputs: Sequence[Any], outputs: Sequence[Any]
) -> tuple[list[Any], list[list[Any]], Sequence[str | None]]:
    """The constraints, the inputs and outputs as z3 constants, and the constraints' names."""
    if isinstance(solver, z3.Optimize):
        raise ArgumentTypeError(
            f"{_WHO} expects a Solver, a Goal or formulas. Got an Optimize, whose objectives a "
            f"theory cannot have. Pass optimize.assertions() for its hard constraints alone."
        )
    given = solver.assertions() if isinstance(solver, z3.Solver) else solver
    formulas = formulas_of(given, None)
    if not formulas:
        raise TheoryError(
            f"{_WHO}: the {type(solver).__name__} has no assertions. If you added some, it is a "
            f"solver that does not list them: add them to a plain z3.Solver()."
        )
    terms = read_terms(formulas)
    sides = [
        [_resolved(one, terms, formulas[0].ctx) for one in listed_symbols(side, role)]
        for side, role in ((inputs, "inputs"), (outputs, "outputs"))
    ]
    names = names_of(given)
    if names is not None:
        return formulas, sides, names
    trackers = _trackers(terms, {str(_term(one)) for side in sides for one in side})
    untracked = [f if p is None else f.arg(1) for f, p in zip(formulas, trackers, strict=True)]
    return untracked, sides, trackers


def _trackers(terms: Terms, kept: set[str]) -> list[str | None]:
    """The constant by which each formula is tracked, or None.

    z3 lists a tracked formula as an implication from a constant. Without tracking, an implication
    from a constant that occurs nowhere else would say nothing.
    """
    uses, found = Counter(terms.flat), list[str | None]()
    for root in terms.roots:
        premise = terms.args(root)[0] if terms.kinds[root] == z3.Z3_OP_IMPLIES else root
        name = terms.names.get(premise, "")
        tracks = premise != root and uses[premise] == 1 and not terms.args(premise)
        found.append(name if tracks and name not in kept and can_name(name) else None)
    return found


def _term(given: Any) -> Any:
    """The z3 constant, or its name, of an input or output in any form."""
    given = given.symbol if isinstance(given, OneHot) else given
    return given.term if isinstance(given, Symbol) else given


def _resolved(given: Any, terms: Terms, context: Any) -> Any:
    """An input or output with its constant in this context, looked up if it is a name."""
    term = _term(given)
    if isinstance(term, str):
        term = _constant(term, terms)
    elif z3.is_expr(term) and term.ctx != context and not isinstance(given, Symbol):
        term = term.translate(context)
    else:
        return given
    return replace(given, symbol=term) if isinstance(given, OneHot) else term


def _constant(name: str, terms: Terms) -> Any:
    known = {n: d for n, d in declarations_of(terms).items() if d.arity() == 0}
    if name not in known:
        hint = did_you_mean(name, known, f"Constants: {', '.join(known) or 'none'}.")
        raise TheoryError(f"{_WHO}: no constant in the assertions is named {name!r}.{hint}")
    return known[name]()
