"""The operations of the requirement language: the z3 formula and the Python text of a term."""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from smtlayer.theory import OneHot, matches

_ATOM = 9  # binds more tightly than every infix operator


@dataclass(frozen=True, slots=True)
class Name:
    """A symbol."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on terms."""

    operation: str
    arguments: "tuple[Term, ...]"

    @property
    def has_names(self) -> bool:
        """Whether a symbol occurs in it."""
        return any(
            isinstance(one, Name) or (isinstance(one, Apply) and one.has_names)
            for one in self.arguments
        )


Term = Apply | Name | int | str


@dataclass(frozen=True, slots=True)
class Operation:
    """How an operation is built, and how it is written."""

    build: Callable[..., Any]
    write: Callable[[Sequence[str]], str]
    level: int = _ATOM  # of an infix operator: how tightly it binds


def formula(term: Term, symbols: Mapping[str, Any]) -> Any:
    """The z3 formula of a term.

    Args:
        term: The term.
        symbols: A `Bool` or a `one_hot` for each name.

    Examples:
        >>> formula(Apply("implies", (Name("a"), Name("b"))), {n: z3.Bool(n) for n in "ab"})
        Implies(a, b)
    """
    if isinstance(term, Name):
        found = symbols[term.name]
        return found.symbol if isinstance(found, OneHot) else found
    if not isinstance(term, Apply):
        return term
    if term.operation == "matches":
        *letters, pattern = term.arguments
        return matches(
            [symbols[one.name] for one in letters if isinstance(one, Name)], str(pattern)
        )
    parts = [formula(one, symbols) for one in term.arguments]
    return OPERATIONS[term.operation].build(*parts)


def python_text(term: Term, variables: Mapping[str, str]) -> str:
    """The same formula as Python text.

    Args:
        term: The term.
        variables: The Python variable for each name.

    Examples:
        >>> sum_of = Apply("+", (Name("a"), Name("b")))
        >>> python_text(Apply("<=", (Apply("*", (2, sum_of)), 8)), {"a": "a", "b": "b"})
        '2 * (a + b) <= 8'
    """
    return _written(term, variables)[0]


def quoted(text: str) -> str:
    """A Python literal of a string, with double quotes where possible."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def _written(term: Term, variables: Mapping[str, str]) -> tuple[str, int]:
    if isinstance(term, Name):
        return variables[term.name], _ATOM
    if not isinstance(term, Apply):
        return quoted(term) if isinstance(term, str) else str(term), _ATOM
    if term.operation == "matches":
        *letters, pattern = term.arguments
        listed = ", ".join(
            f"symbols[{quoted(one.name)}]" for one in letters if isinstance(one, Name)
        )
        return f"matches([{listed}], {quoted(str(pattern))})", _ATOM
    operation = OPERATIONS[term.operation]
    parts = [_written(one, variables) for one in term.arguments]
    if operation.level == _ATOM:
        return operation.write([text for text, _ in parts]), _ATOM
    least = [operation.level, operation.level + 1]  # infix operators associate to the left
    levels = zip(parts, least, strict=True)
    texts = [text if level >= need else f"({text})" for (text, level), need in levels]
    return operation.write(texts), operation.level


def _call(build: Callable[..., Any], name: str) -> Operation:
    return Operation(build, lambda parts: f"{name}({', '.join(parts)})")


def _infix(build: Callable[..., Any], sign: str, level: int) -> Operation:
    return Operation(build, lambda parts: f"{parts[0]} {sign} {parts[1]}", level)


def _bound(build: Callable[..., Any], name: str) -> Operation:
    """A bound on the number of arguments that are true; the first argument is the bound."""

    def write(parts: Sequence[str]) -> str:
        return f"{name}({', '.join(parts[1:])}, {parts[0]})"

    return Operation(lambda count, *parts: build(*parts, count), write)


def _exactly(count: int, *parts: Any) -> Any:
    return z3.PbEq([(part, 1) for part in parts], count)


def _write_exactly(parts: Sequence[str]) -> str:
    listed = ", ".join(f"({part}, 1)" for part in parts[1:])
    return f"z3.PbEq([{listed}], {parts[0]})"


COMPARISONS: dict[str, Callable[..., Any]] = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
OPERATIONS = {
    "and": _call(z3.And, "z3.And"),
    "or": _call(z3.Or, "z3.Or"),
    "not": _call(z3.Not, "z3.Not"),
    "implies": _call(z3.Implies, "z3.Implies"),
    "all_different": _call(z3.Distinct, "z3.Distinct"),
    "at_most": _bound(z3.AtMost, "z3.AtMost"),
    "at_least": _bound(z3.AtLeast, "z3.AtLeast"),
    "exactly": Operation(_exactly, _write_exactly),
    "+": _infix(operator.add, "+", 2),
    "-": _infix(operator.sub, "-", 2),
    "*": _infix(operator.mul, "*", 3),
    **{sign: _infix(build, sign, 1) for sign, build in COMPARISONS.items()},
}
