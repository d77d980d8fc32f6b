"""Declarations of the symbols that occur in formulas, and checks of their names."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from smtlayer.errors import TheoryError
from smtlayer.theory.terms import Terms, read_terms


def declarations_in(formulas: Iterable[Any]) -> dict[str, Any]:
    """The declarations of all uninterpreted symbols in formulas, by name."""
    return declarations_of(read_terms(list(formulas)))


def declarations_of(terms: Terms) -> dict[str, Any]:
    """The declarations of all uninterpreted symbols among terms, by name."""
    found: dict[str, Any] = {}
    for name, declaration in terms.declarations.values():
        add_declaration(found, name, declaration)
    for i, quantifier in terms.bound:
        names = {str(quantifier.var_name(k)) for k in range(quantifier.num_vars())}
        for name in names:
            check_name(name)
        captured = names & {terms.names.get(j) for j in terms.inside([i])}
        if captured:
            raise TheoryError(
                f"Theory: a quantifier binds the name {min(captured)!r}, and a symbol inside it "
                f"has the same name. SMT-LIB 2 text cannot tell them apart. Rename the bound "
                f"variable."
            )
    return found


def fresh_prefix(formulas: Iterable[Any], prefix: str) -> str:
    """The prefix, made longer until no symbol's name contains it.

    z3 names fresh constants `prefix!0`, `prefix!1`, ... without checking whether a symbol already
    has that name: the two would be the same constant.
    """
    names = declarations_in(formulas)
    while any(prefix in name for name in names):
        prefix += "_"
    return prefix


def check_repeated(names: Iterable[str], role: str) -> None:
    """Raises if a name occurs more than once among the inputs or outputs."""
    for name, count in Counter(names).items():
        if count > 1:
            raise TheoryError(
                f"Theory has {name!r} among its {role} more than once. Give each position its "
                f"own symbol, and equate them with a constraint if they must agree."
            )


def check_name(name: str) -> None:
    """Raises if SMT-LIB text cannot have this name."""
    if name == "<null>" or "|" in name or "\\" in name:  # "<null>" is how z3 prints an empty name
        raise TheoryError(
            f"Theory: the name {name!r} cannot be written in SMT-LIB 2. "
            f"Choose one that is not empty and has no '|' and no '\\'."
        )
    # z3 writes `(let ((a!1 ...)) ...)` for repeated terms without checking whether a symbol has
    # that name: the text would mean something else.
    if re.fullmatch(r"a!\d+", name):
        raise TheoryError(
            f"Theory: the name {name!r} is one that z3 uses when it writes SMT-LIB 2. "
            f"Choose another name."
        )


def add_declaration(known: dict[str, Any], name: str, declaration: Any) -> None:
    """Adds a declaration under its name, which must be writable and mean nothing else."""
    check_name(name)
    if not known.setdefault(name, declaration).eq(declaration):
        raise TheoryError(
            f"Theory: the name {name!r} belongs to two different symbols, "
            f"{_signature(declaration)} and {_signature(known[name])}. Rename one of them."
        )


def _signature(declaration: Any) -> str:
    sorts = [str(declaration.domain(i)) for i in range(declaration.arity())]
    kind = f"a function of {', '.join(sorts)} with values" if sorts else "a constant"
    return f"{kind} of sort {declaration.range()}"
