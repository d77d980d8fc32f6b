"""Reads requirements: lines of a small language in Python's syntax, or clauses in DIMACS format."""

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import z3

from smtlayer.errors import SMTLayerError
from smtlayer.theory import Theory, dimacs, one_hot
from smtlayer.theory.arguments import can_name
from smtlayer.theory.values import shortened
from smtlayer_playground.errors import PlaygroundError, TooBigError
from smtlayer_playground.expressions import FUNCTIONS, ExpressionReader
from smtlayer_playground.limits import Limits
from smtlayer_playground.operations import Term, formula
from smtlayer_playground.theory import values_of

_TOKEN = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\#.*|\w+|.""")
_DECLARATION = re.compile(r"(output\s+)?([^\W\d][\w\s,]*?)(?:\s+in\s+([^\s\"'(\[][^\"'()\[\]]*))?")
_VALUE = re.compile(r"[\w.+-]{1,40}")
_NUMBER = re.compile(r"-?\d{1,6}")
_CLAUSES = re.compile(r"[\s\d-]+")
_CLAUSE_NAME = re.compile(r"c\s+(\d{1,4})\s+([^\W\d]\w*)\s*")
_SIGNS = {
    "=>": "implies", "->": "implies", "&&": "and", "||": "or", "<>": "!=", "=": "==", "!": "not",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """A symbol of the text."""

    name: str
    values: tuple[Any, ...]  # empty if it is true or false
    is_input: bool = True

    def symbol(self) -> Any:
        """A `Bool`, or a `one_hot` of an `Int` or a `String`."""
        if not self.values:
            return z3.Bool(self.name)
        make = z3.String if isinstance(self.values[0], str) else z3.Int
        return one_hot(make(self.name), self.values)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line that must hold."""

    line: int
    text: str
    term: Term

    @property
    def name(self) -> str:
        """Its name in a theory, which forbids some characters."""
        return self.text if can_name(self.text) else f"line {self.line}"


@dataclass(frozen=True)
class Requirements:
    """Symbols and requirements; see `read`."""

    symbols: tuple[Declared, ...]
    requirements: tuple[Requirement, ...]

    @property
    def labels(self) -> list[str]:
        """The text of each constraint of the theory."""
        return [one.text for one in self.requirements]

    @cached_property
    def theory(self) -> Theory:
        """The theory: all symbols are outputs, and most are inputs."""
        symbols = {one.name: one.symbol() for one in self.symbols}
        formulas = {}
        for one in self.requirements:
            try:
                formulas[one.name] = formula(one.term, symbols)
            except SMTLayerError as error:  # from a pattern
                raise PlaygroundError(f"Line {one.line}: {error}") from error
        inputs = [symbols[one.name] for one in self.symbols if one.is_input]
        return Theory(formulas, inputs=inputs, outputs=list(symbols.values()))


@dataclass(frozen=True)
class DimacsRequirements:
    """Clauses in DIMACS format."""

    text: str
    names: dict[int, str]
    clauses: list[list[int]]

    @cached_property
    def labels(self) -> list[str]:
        """Each clause with its names: `car or not parked`."""
        return [" or ".join(map(self._literal, clause)) for clause in self.clauses]

    @cached_property
    def theory(self) -> Theory:
        """The theory; a variable that is not named is x1, x2, ..."""
        return Theory.from_dimacs(self.text, self.names or None)

    def _literal(self, number: int) -> str:
        name = self.names.get(abs(number), f"x{abs(number)}")
        return name if number > 0 else f"not {name}"


def read(text: str, limits: Limits) -> Requirements | DimacsRequirements:
    """Reads requirements, and checks their size.

    Raises:
        PlaygroundError: If a line cannot be read; the message has its number.

    Examples:
        >>> found = read("tag1, tag2 in O/B/I\\nred implies tag1 == 'B'", Limits())
        >>> found.theory.input_names
        ('tag1=O', 'tag1=B', 'tag1=I', 'tag2=O', 'tag2=B', 'tag2=I', 'red')
        >>> read("1 -2 0\\n2 3 0", Limits()).labels
        ['x1 or not x2', 'x2 or x3']
    """
    found = _dimacs(text, limits) if _is_dimacs(text) else _lines(text, limits)
    sizes = (found.theory.n_inputs, found.theory.n_outputs)
    if max(sizes) > limits.columns:
        raise TooBigError(
            f"The symbols have {max(sizes)} columns. This page allows at most {limits.columns}. "
            f"Use fewer symbols, or fewer values."
        )
    return found


def _is_dimacs(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(line.split()[:2] == ["p", "cnf"] for line in lines):
        return True
    clauses = [line for line in lines if not line.startswith("c ")]
    return bool(clauses) and all(_CLAUSES.fullmatch(line) for line in clauses)


def _dimacs(text: str, limits: Limits) -> DimacsRequirements:
    text = f"{text}\n"  # never a path
    clauses = dimacs.read(text)
    if clauses.n_variables > limits.columns:
        raise TooBigError(
            f"The clauses have {clauses.n_variables} variables. This page allows at most "
            f"{limits.columns}. Use fewer."
        )
    named = (_CLAUSE_NAME.fullmatch(line.strip()) for line in text.splitlines())
    names = {int(found[1]): found[2] for found in named if found}
    names = {number: n for number, n in names.items() if 1 <= number <= clauses.n_variables}
    return DimacsRequirements(text, names, clauses.clauses)


def _lines(text: str, limits: Limits) -> Requirements:
    lines = [(number, *_without_comment(line)) for number, line in enumerate(text.splitlines(), 1)]
    lines = [line for line in lines if line[1]]
    declared: dict[str, Declared] = {}
    rest = []
    for number, line, tokens in lines:
        with _in_line(number):
            found = _declaration(line, declared, limits)
        if found is None:
            rest.append((number, line, tokens))
        declared |= found or {}
    reader = ExpressionReader({one.name: one.values for one in declared.values()})
    requirements: dict[str, Requirement] = {}  # by text: a line that repeats another adds nothing
    for number, line, tokens in rest:
        with _in_line(number):
            term = reader.requirement(_parsed(line, tokens))
        requirements.setdefault(line, Requirement(number, line, term))
    symbols = declared | {n: Declared(n, ()) for n in reader.names if n not in declared}
    _check_complete(requirements, symbols)
    return Requirements(tuple(symbols.values()), tuple(requirements.values()))


def _check_complete(requirements: Any, symbols: dict[str, Declared]) -> None:
    if not requirements:
        raise PlaygroundError(
            "There is no requirement yet. Type one per line, as in: not (red and green)"
        )
    if not any(one.is_input for one in symbols.values()):
        raise PlaygroundError("All symbols are outputs. Declare fewer of them as output.")


@contextmanager
def _in_line(number: int) -> Iterator[None]:
    """Adds the number of the line to an error."""
    try:
        yield
    except PlaygroundError as error:
        raise type(error)(f"Line {number}: {error}") from error


def _without_comment(line: str) -> tuple[str, list[str]]:
    """The line without its comment, and its tokens."""
    found = (" " if token.isspace() else token for token in _TOKEN.findall(line))
    tokens = [token for token in found if not token.startswith("#")]
    return "".join(tokens).strip(), tokens


def _declaration(
    line: str, known: dict[str, Declared], limits: Limits
) -> dict[str, Declared] | None:
    """The symbols that a line declares, or None if it is a requirement."""
    found = _DECLARATION.fullmatch(" ".join(line.split()))
    if not found or not (found[1] or found[3]):
        return None
    values = tuple(_values(found[3].strip(), limits)) if found[3] else ()
    names = [_name(part) for part in found[2].split(",")]
    for one, other in pairwise(sorted([*names, *known])):
        if one == other:
            raise PlaygroundError(f"{one!r} is declared more than once. Delete one of them.")
    return {name: Declared(name, values, is_input=not found[1]) for name in names}


def _name(text: str) -> str:
    name = text.strip()
    try:
        node = ast.parse(name, mode="eval").body
    except SyntaxError:
        node = None
    if not isinstance(node, ast.Name) or node.id in (*FUNCTIONS, "implies"):
        raise PlaygroundError(
            f"{shortened(name, 40)!r} is not a name. Declare symbols as in: tag1, tag2 in O/B/I"
        )
    return node.id  # in the form to which Python normalises it


def _values(text: str, limits: Limits) -> Sequence[Any]:
    values = values_of(text, limits)
    if isinstance(values, range):
        return values
    for value in values:
        if not _VALUE.fullmatch(value):
            raise PlaygroundError(
                f"{shortened(text, 40)!r} are not values. Declare them as in: hours in 0..5, or "
                f"size in S/M/L"
            )
    if len(values) < 2 or len(set(values)) < len(values):
        raise PlaygroundError(f"{shortened(text, 40)!r} must be two or more different values.")
    numbers = all(_NUMBER.fullmatch(value) for value in values)
    return [int(value) for value in values] if numbers else values


def _parsed(line: str, tokens: Sequence[str]) -> ast.expr:
    """The syntax tree of a line; `A implies B` becomes `implies(A, B)`."""
    try:
        return ast.parse(_with_calls(tokens), mode="eval").body
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte, or a very long number
        raise PlaygroundError(
            f"{shortened(line, 60)!r} cannot be read. {_remedy(line, tokens)}"
        ) from error


def _with_calls(tokens: Sequence[str]) -> str:
    """The text with calls in place of the infix operator, at each level of brackets."""
    levels = [_Level("")]
    for token in tokens:
        if token in "([{":
            levels.append(_Level(token))
        elif token in ")]}" and len(levels) > 1:
            inner = levels.pop()
            levels[-1].operands[-1] += inner.text() + token
        elif token == ",":
            levels[-1] = _Level(levels[-1].text() + token)
        elif token == "implies":
            levels[-1].operands.append("")
        else:
            levels[-1].operands[-1] += token
    return "".join(level.text() for level in levels).strip()


class _Level:
    """The text between two brackets, up to now: what is done, and the operands of `implies`."""

    def __init__(self, done: str) -> None:
        self.done, self.operands = done, [""]

    def text(self) -> str:
        *conditions, last = self.operands
        if conditions and not all(one.strip() for one in self.operands):
            raise SyntaxError("implies needs two sides")
        calls = "".join(f"implies({one.strip()}, " for one in conditions)
        return f"{self.done}{calls}{last}{')' * len(conditions)}"


def _remedy(line: str, tokens: Sequence[str]) -> str:
    code = "".join(token for token in tokens if token[0] not in "\"'")
    if line.startswith("if ") and ":" in code:
        return "Write 'A implies B' for 'if A: B'."
    for sign in re.findall(r"=>|->|&&|\|\||<>|(?<![<>=!])=(?!=)|!(?!=)", code):
        return f"Write {_SIGNS[sign]!r} for {sign!r}."
    return "Write requirements as in: not (red and green), or: person implies not car"
