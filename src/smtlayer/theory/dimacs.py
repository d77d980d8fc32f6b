"""Reading of clauses in DIMACS format, and the SMT-LIB script that says the same."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smtlayer.errors import ArgumentTypeError, TheoryError, did_you_mean
from smtlayer.theory import smtlib, text_file
from smtlayer.theory.arguments import listed_symbols
from smtlayer.theory.declarations import check_name, check_repeated
from smtlayer.theory.values import shortened

_WHO = "Theory.from_dimacs"
_TEXT = re.compile(r"[^\n]*\n|\s*(?:[cp]\s|(?:-?\d+\s+)+-?\d+\s*$)")
_MAX_VARIABLES = 10_000_000


@dataclass(frozen=True, slots=True)
class Clauses:
    """Clauses over the variables 1, 2, ...; a negative number negates its variable."""

    clauses: list[list[int]]
    n_variables: int


def read(text_or_path: str | Path) -> Clauses:
    """Reads clauses in DIMACS format; see `Theory.from_dimacs`."""
    text = text_file.load(_WHO, "DIMACS", text_or_path, _is_text, errors="replace")
    if text.startswith("\x1f\ufffd") or "\0" in text:
        raise TheoryError(f"{_WHO} expects text. Got binary data. Unpack the file first.")
    return _Parser().read(text)


def archive(
    text_or_path: str | Path, names: Any, inputs: Any, outputs: Any
) -> tuple[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """The theory as `Theory` archives it: a script with an anchor per symbol, and their kinds."""
    clauses = read(text_or_path)
    known = _names(names, clauses.n_variables)
    ins, outs = _chosen(inputs, known, "inputs"), _chosen(outputs, known, "outputs")
    return _script(clauses, known, ins + outs), ((0,) * len(ins), (0,) * len(outs))


def _is_text(text: str) -> bool:
    return _TEXT.match(text) is not None


class _Parser:
    """Collects clauses line by line, and compares them with the header."""

    def __init__(self) -> None:
        self._clauses: list[list[int]] = []
        self._open: list[int] = []  # literals since the last 0
        self._begun = 0  # line of the first of them
        self._header: tuple[int, int, int] | None = None  # its line, variables and clauses

    def read(self, text: str) -> Clauses:
        for line, content in enumerate(text.split("\n"), start=1):
            words = content.split()
            if not words or words[0][0] == "c":
                continue
            if words[0][0] == "%":  # ends the files of SATLIB
                break
            if words[0] == "p":
                self._add_header(line, words)
            else:
                self._add_literals(line, words)
        return Clauses(self._clauses, self._n_variables())

    def _add_header(self, line: int, words: list[str]) -> None:
        sizes = [int(word) for word in words[2:] if word.isdecimal()]
        if words[1:2] != ["cnf"] or len(words) != 4 or len(sizes) != 2:
            raise _unexpected(line, "'p cnf VARIABLES CLAUSES'", " ".join(words))
        if self._header or self._clauses or self._open:
            raise _unexpected(line, "the header once, before all clauses", " ".join(words))
        self._header = line, sizes[0], sizes[1]

    def _add_literals(self, line: int, words: list[str]) -> None:
        if "c" in words:  # a comment behind the literals
            words = words[: words.index("c")]
        try:
            numbers = list(map(int, words))
        except ValueError:
            wrong = next(word for word in words if not re.fullmatch(r"-?\d+", word))
            raise _unexpected(line, "numbers, with a 0 after each clause", wrong) from None
        self._check_variables(line, numbers)
        for number in numbers:
            if not number:
                self._clauses.append(self._open)
                self._open = []
                continue
            if not self._open:
                self._begun = line
            self._open.append(number)

    def _check_variables(self, line: int, numbers: list[int]) -> None:
        highest = max(map(abs, numbers))
        if self._header and highest > self._header[1]:
            raise TheoryError(
                f"{_WHO}: line {line} has the variable {highest}, and the header in line "
                f"{self._header[0]} announces {self._header[1]} variables. {_REMEDY}"
            )
        if highest > _MAX_VARIABLES:
            raise _unexpected(line, f"at most {_MAX_VARIABLES:,} variables", str(highest))

    def _n_variables(self) -> int:
        """Raises if the last clause is open, or their number is not that of the header."""
        if self._open:
            raise TheoryError(f"{_WHO}: the clause that begins in line {self._begun} has no 0 at "
                              f"its end. Add it, or the missing part.")  # fmt: skip
        if self._header is None:
            return max((abs(x) for clause in self._clauses for x in clause), default=0)
        line, n_variables, n_clauses = self._header
        if n_clauses != len(self._clauses):
            raise TheoryError(
                f"{_WHO}: the header in line {line} announces {n_clauses} clauses. Got "
                f"{len(self._clauses)}. Add what is missing. {_REMEDY}"
            )
        if n_variables > _MAX_VARIABLES:
            raise _unexpected(line, f"at most {_MAX_VARIABLES:,} variables", str(n_variables))
        return n_variables


_REMEDY = "If the clauses are right, correct the header, or delete it: it is not needed."


def _unexpected(line: int, expected: str, got: str) -> TheoryError:
    hint = " This looks like SMT-LIB: use Theory.from_smtlib." if got.startswith(("(", ";")) else ""
    return TheoryError(
        f"{_WHO}: line {line} has {shortened(got, 60)!r}. Expected {expected}.{hint}"
    )


def _names(names: Any, n_variables: int) -> list[str]:
    """The name of each variable: those given, and x1, x2, ... for the others."""
    found = [f"x{i}" for i in range(1, n_variables + 1)]
    if isinstance(names, Mapping):
        for number, name in names.items():
            found[_position(number, n_variables, "names")] = name
    elif names is not None:
        found = list(names)
        if isinstance(names, str) or len(found) != n_variables:
            raise TheoryError(
                f"{_WHO}: names must list one name for each of the {n_variables} variables, or be "
                f"a mapping from numbers to names. Got {len(found)} names."
            )
    if names is not None:
        _check_names(found)
    return found


def _check_names(names: Sequence[Any]) -> None:
    numbers: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{_WHO}: the name of variable {number} must be a string. Got {name!r}."
            )
        check_name(name)
        if numbers.setdefault(name, number) != number:
            raise TheoryError(
                f"{_WHO}: the variables {numbers[name]} and {number} are both named {name!r}. "
                f"Give each its own name."
            )
    declarations = [f"(declare-fun |{name}| () Bool)" for name in names]
    if not _is_readable("".join(declarations)):
        refused = next(n for n, d in zip(names, declarations, strict=True) if not _is_readable(d))
        raise TheoryError(
            f"{_WHO}: the name {refused!r} has a meaning in SMT-LIB. Choose another name."
        )


def _is_readable(script: str) -> bool:
    try:
        smtlib.parse(script)
    except TheoryError:
        return False
    return True


def _chosen(given: Any, names: Sequence[str], role: str) -> list[str]:
    """The names of variables that are given by number or by name; all by default."""
    if given is None:
        return listed_symbols(names, role)
    known = set(names)
    found = []
    for one in listed_symbols(given, role):
        if isinstance(one, str) and one not in known:
            hint = did_you_mean(one, names, f"Names: {shortened(', '.join(names))}.")
            raise TheoryError(f"{_WHO}: no variable is named {one!r}.{hint}")
        found.append(one if isinstance(one, str) else names[_position(one, len(names), role)])
    check_repeated(found, role)
    return found


def _position(number: Any, n_variables: int, role: str) -> int:
    if isinstance(number, int) and 1 <= number <= n_variables:
        return number - 1
    raise TheoryError(
        f"{_WHO}: {role} takes numbers of variables, from 1 to {n_variables}. Got {number!r}."
    )


def _script(clauses: Clauses, names: Sequence[str], symbols: Sequence[str]) -> str:
    """An SMT-LIB script: an assertion per clause, then an equation per symbol, see `Theory`."""
    positive = [f"|{name}|" for name in names]
    literals = ["", *positive, *(f"(not {name})" for name in reversed(positive))]  # -1 is the last
    used = {f"|{name}|" for name in symbols}
    used.update(positive[abs(x) - 1] for clause in clauses.clauses for x in clause)
    lines = [f"(declare-fun {name} () Bool)" for name in positive if name in used]
    for clause in clauses.clauses:
        body = " ".join([literals[x] for x in clause])
        lines.append(f"(assert (or {body}))" if len(clause) > 1 else f"(assert {body or 'false'})")
    lines += [f"(assert (= |{name}| |{name}|))" for name in symbols]
    return "\n".join(lines)
