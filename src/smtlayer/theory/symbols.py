"""This file finds the symbols of formulas, and sees that their names can be written down."""

import re
from collections.abc import Iterable
from typing import Any

import z3

from smtlayer.errors import TheoryError


def free_symbols(formulas: Iterable[Any]) -> dict[str, Any]:
    """Every uninterpreted symbol of the formulas by name, each name with one meaning only."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    stack = list(formulas)
    while stack:
        term = stack.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if z3.is_quantifier(term):
            _check_bound(term)
        if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            name = str(term.decl().name())
            if not found.setdefault(name, term.decl()).eq(term.decl()):
                raise two_meanings(name, term.decl(), found[name])
            _check_name(name)
        stack.extend(term.children())
    return found


def unheard_of(formulas: Iterable[Any], stem: str) -> str:
    """The beginning of a name that no symbol contains, for fresh constants.

    z3 calls fresh constants `stem!0`, `stem!1`, ... and does not look whether a symbol has that
    name: the two would be one.
    """
    names = free_symbols(formulas)
    while any(stem in name for name in names):
        stem += "_"
    return stem


def _check_bound(quantifier: Any) -> None:
    """z3 writes a bound variable by its name, even where a symbol of that name stands beside it."""
    names = {str(quantifier.var_name(i)) for i in range(quantifier.num_vars())}
    for name in names:
        _check_name(name)
    captured = names & free_symbols([quantifier.body()]).keys()
    if captured:
        raise TheoryError(
            f"Theory: a quantifier binds the name {min(captured)!r} around the symbol of that "
            f"name, and SMT-LIB 2 text would confuse the two. Rename the bound variable."
        )


def _check_name(name: str) -> None:
    if name == "<null>" or "|" in name or "\\" in name:  # the first is z3's word for no name
        raise TheoryError(
            f"Theory: the name {name!r} cannot be written in SMT-LIB 2. "
            f"Choose one that is not empty and has no '|' and no '\\'."
        )
    # z3 writes `(let ((a!1 ...)) ...)` for what occurs twice, and does not look whether a symbol
    # has that name: the text would mean something else.
    if re.fullmatch(r"a!\d+", name):
        raise TheoryError(
            f"Theory: the name {name!r} is one that z3 uses itself when it writes SMT-LIB 2. "
            f"Choose another."
        )


def two_meanings(name: str, one: Any, other: Any) -> TheoryError:
    """The error for a name with two declarations."""
    return TheoryError(
        f"Theory: the name {name!r} stands for two different symbols, {_signature(one)} and "
        f"{_signature(other)}. Rename one of them."
    )


def _signature(declaration: Any) -> str:
    sorts = [str(declaration.domain(i)) for i in range(declaration.arity())]
    kind = f"a function of {', '.join(sorts)} with values" if sorts else "a constant"
    return f"{kind} of sort {declaration.range()}"
