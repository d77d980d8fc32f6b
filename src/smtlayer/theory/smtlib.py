"""This file reads and writes SMT-LIB 2; z3 does the parsing, and errors get a line and a remedy."""

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import z3

from smtlayer.errors import TheoryError

_TOKEN = re.compile(r';[^\n]*|"(?:[^"]|"")*"|\|[^|]*\||[()]|[^\s()"|;]+')
_REFUSED = {"push", "pop", "reset", "reset-assertions", "assert-soft", "minimize", "maximize"}


def write(constraints: Sequence[Any]) -> str:
    """Declarations and one `assert` a constraint, the same text for the same formulas."""
    solver = z3.Solver(ctx=constraints[0].ctx)
    solver.add(*constraints)
    return str(solver.sexpr())


def parse(text: str, context: Any = None) -> list[Any]:
    """The assertions of a script, in a context of their own unless one is given."""
    try:
        return list(z3.parse_smt2_string(text, ctx=context or z3.Context()))
    except z3.Z3Exception as error:
        raise TheoryError(f"SMT-LIB text cannot be read: {_reason(error)}.") from error


def read(text_or_path: str | Path, names: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """The assertions of a script, and the constants it declares under the given names."""
    text = _load(text_or_path)
    commands = list(_commands(text))
    for name, _, line in commands:
        if name in _REFUSED:
            raise TheoryError(
                f"Theory.from_smtlib: line {line} has the command '{name}', which a theory cannot "
                f"hold. Give a script of declarations and plain assertions."
            )
    script = "\n".join(body for name, body, _ in commands if name != "exit")
    context = z3.Context()
    constraints = parse(text if "exit" not in {c[0] for c in commands} else script, context)
    return constraints, {name: _constant(script, name, commands) for name in names}


def _constant(script: str, name: str, commands: Sequence[tuple[str, str, int]]) -> Any:
    """The constant that the script declares as `name`; z3's own parser resolves it."""
    quoted = f"|{name}|"
    try:
        # A question to the parser, not a guess about the text: what does this name stand for?
        term = parse(f"{script}\n(assert (= {quoted} {quoted}))")[-1].arg(0)
    except TheoryError:
        term = None
    if term is None or not z3.is_const(term) or term.decl().kind() != z3.Z3_OP_UNINTERPRETED:
        declared = [_declared(body) for kind, body, _ in commands if kind.startswith("declare-")]
        close = difflib.get_close_matches(name, declared, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Declared: {', '.join(declared)}."
        raise TheoryError(f"Theory.from_smtlib: no constant is declared as {name!r}. {hint}")
    return term


def _load(text_or_path: str | Path) -> str:
    if isinstance(text_or_path, str) and "(" in text_or_path:
        return text_or_path
    path = Path(text_or_path)
    if not path.is_file():
        raise TheoryError(
            f"Theory.from_smtlib: there is no file {str(path)!r}, and it is not SMT-LIB text either."
        )
    return path.read_text(encoding="utf-8")


def _commands(text: str) -> Iterator[tuple[str, str, int]]:
    """Top-level commands as (name, text, line); what is not a command is left to z3 to refuse."""
    depth, start, words = 0, 0, list[str]()
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == "(":
            if depth == 0:
                start, words = token.start(), []
            depth += 1
        elif word == ")":
            depth -= 1
            if depth == 0 and words:
                yield words[0], text[start : token.end()], text.count("\n", 0, start) + 1
        elif depth == 1 and not word.startswith(";"):
            words.append(word)


def _declared(body: str) -> str:
    words = [t for t in _TOKEN.findall(body) if not t.startswith(";")]
    return words[2].strip("|") if len(words) > 2 else ""


def _reason(error: Exception) -> str:
    """z3's first complaint, out of its `(error "...")` wrapping."""
    raw = error.args[0] if error.args else str(error)
    text = raw.decode() if isinstance(raw, bytes) else str(raw)
    found = re.search(r'\(error "(.*?)"\)', text, re.DOTALL)
    return (found.group(1) if found else text).strip().rstrip(".")
