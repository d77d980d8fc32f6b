"""Reading and writing of SMT-LIB 2, with z3 as the parser."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import z3

from smtlayer.errors import ArgumentTypeError, TheoryError, UndeclaredSymbolError, did_you_mean
from smtlayer.theory import text_file
from smtlayer.theory.arguments import OneHot, listed_symbols, one_hot

_TOKEN = re.compile(r';[^\n]*|"(?:[^"]|"")*"|\|[^|]*\||[()]|[^\s()"|;]+')
_TAKEN = {
    "assert", "declare-const", "declare-datatype", "declare-datatypes", "declare-fun",
    "declare-sort", "define-const", "define-fun", "define-fun-rec", "define-funs-rec",
    "define-sort", "set-info", "set-logic",
}  # fmt: skip
# Queries and options, which do not belong to the theory. (With the option for unsat cores, z3 would
# read a named assertion as one that may be left out.)
_SKIPPED = {
    "check-sat", "check-sat-assuming", "check-sat-using", "echo", "eval", "get-assertions",
    "get-assignment", "get-info", "get-model", "get-option", "get-proof",
    "get-unsat-assumptions", "get-unsat-core", "get-value", "set-option", "simplify",
}  # fmt: skip
_DIMACS = re.compile(r"\s*(?:c\b[^\n]*\n\s*)*p\s+cnf\b")
_PREFIX = "constraint "  # of a constraint's name that the script also uses for something else


class _Command(NamedTuple):
    name: str
    start: int
    stop: int


def write(constraints: Sequence[Any]) -> str:
    """A script with one `assert` per constraint; equal formulas give equal text."""
    solver = z3.Solver(ctx=constraints[0].ctx)
    solver.add(*constraints)
    return str(solver.sexpr())


def pack(formulas: Sequence[Any], *, shared: bool) -> str:
    """A script from which `unpack` restores the formulas, two or more.

    If they share large terms, they become a single assertion, in which z3 writes each term once;
    this takes three times as long.
    """
    if shared:  # negated, so that z3 does not split those that are conjunctions
        formulas = [z3.And([z3.Not(formula) for formula in formulas])]
    return write(formulas)


def unpack(text: str) -> list[Any]:
    """The formulas of a script by `pack`, in a new z3 context."""
    formulas = parse(text)
    if len(formulas) > 1:
        return formulas
    return [negated.arg(0) for negated in formulas[0].children()]


def with_names(script: str, names: Sequence[str | None]) -> str:
    """The script with names for its first assertions, where there is one."""
    used = _words(script)
    asserts = [command for command in _commands(script) if command.name == "assert"]
    for command, name in reversed(list(zip(asserts, names, strict=False))):
        if name is not None:
            label = _PREFIX + name if _is_taken(name, used) else name
            body = script[command.start + len("(assert") : command.stop - 1].strip()
            named = f"(assert (! {body} :named |{label}|))"
            script = script[: command.start] + named + script[command.stop :]
    return script


def _assertion_names(script: str) -> list[str | None]:
    """The name of each assertion, or None."""
    used = _words(script)
    asserts = [command for command in _commands(script) if command.name == "assert"]
    return [_own_name(script[command.start : command.stop], used) for command in asserts]


def _own_name(command: str, used: set[str]) -> str | None:
    """The `:named` of an assertion as a whole, not that of a part of it."""
    words = [word for word in _TOKEN.findall(command) if word[0] != ";"]
    if words[2:4] != ["(", "!"]:
        return None
    name, depth = None, 0
    for word, after in pairwise(words):
        depth += (word == "(") - (word == ")")
        if depth == 2 and word == ":named":
            name = " ".join(after.strip("|").split())
    rest = name.removeprefix(_PREFIX) if name else name
    return rest if rest and rest != name and _is_taken(rest, used) else name or None


def _words(script: str) -> set[str]:
    """All words of a script."""
    return {word.strip("|") for word in _TOKEN.findall(script)}


def _is_taken(name: str, used: set[str]) -> bool:
    """Whether a constraint's name needs the prefix: the script uses it, or z3 predefines it."""
    if name in used or name.startswith(_PREFIX):
        return True
    try:
        parse(f"(assert (! true :named |{name}|))")
    except TheoryError:
        return True
    return False


def parse(text: str) -> list[Any]:
    """The assertions of a script, in a new z3 context."""
    try:
        return list(z3.parse_smt2_string(text, ctx=_new_context()))
    except z3.Z3Exception as error:
        raise TheoryError(f"SMT-LIB text cannot be read{_reason(error)}.") from error


def _new_context() -> Any:
    """A z3 context that can be freed even if Ctrl-C interrupts its construction."""
    context = z3.Context.__new__(z3.Context)
    context.owner = False  # until there is something to free
    context.__init__()
    return context


def theory_of(
    text_or_path: str | Path, inputs: Sequence[Any], outputs: Sequence[Any]
) -> tuple[list[Any], list[list[Any]], list[str | None]]:
    """Reads a theory: its assertions, the inputs and outputs that are named, and its names."""
    sides = [listed_symbols(inputs, "inputs"), listed_symbols(outputs, "outputs")]
    names = [r.symbol if isinstance(r, OneHot) else r for side in sides for r in side]
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"Theory.from_smtlib takes the names of declared constants. Got {name!r} "
                f"of type {type(name).__name__}."
            )
    constraints, constants, named = read(text_or_path, names)
    if not constraints:
        raise TheoryError(
            "Theory.from_smtlib: the script asserts nothing. Add an (assert ...) command."
        )
    symbols = [
        [one_hot(constants[r.symbol], r.values) if isinstance(r, OneHot) else constants[r]
         for r in side] for side in sides
    ]  # fmt: skip
    return constraints, symbols, named


def read(
    text_or_path: str | Path, names: Sequence[str]
) -> tuple[list[Any], dict[str, Any], list[str | None]]:
    """Reads a script: its assertions, the constants with these names, and the assertions' names."""
    text = text_file.load("Theory.from_smtlib", "SMT-LIB", text_or_path, _is_text)
    if _DIMACS.match(text):
        raise TheoryError(
            "Theory.from_smtlib expects SMT-LIB 2. Got DIMACS ('p cnf ...'). Use "
            "Theory.from_dimacs(text_or_path)."
        )
    _refuse_ambiguous(text, names)
    script = _theory_part(text)
    try:
        parse(script)
    except TheoryError as error:
        raise TheoryError(f"Theory.from_smtlib: {error}") from error
    # Added assertions let z3's own parser resolve the names.
    equations = "".join(f"\n(assert (= |{name}| |{name}|))" for name in names)
    try:
        formulas = parse(script + equations)
    except TheoryError as error:
        declared = _declared(script)
        unknown = next((name for name in names if name not in declared), names[0])
        raise _undeclared(unknown, declared) from error
    split = len(formulas) - len(names)
    constants = dict(zip(names, (f.arg(0) for f in formulas[split:]), strict=True))
    for name, term in constants.items():
        if term.decl().kind() != z3.Z3_OP_UNINTERPRETED or str(term.decl().name()) != name:
            raise _undeclared(name, _declared(script))
    return formulas[:split], constants, _assertion_names(script)


def _refuse_ambiguous(text: str, names: Sequence[str]) -> None:
    """Raises where z3 would find other commands than `_commands`: they could write files."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise TheoryError(
            f"Theory.from_smtlib: line {line} has a NUL character, at which z3 would stop reading. "
            f"Remove it."
        )
    for token in _TOKEN.finditer(text):
        word = token.group()
        quoted = word.startswith("|") and "\\" in word
        if quoted or (word.endswith("#") and text[token.end() : token.end() + 1] == "|"):
            line = text.count("\n", 0, token.start()) + 1
            found = "a backslash in a quoted symbol" if quoted else "a comment within #| and |#"
            raise TheoryError(
                f"Theory.from_smtlib: line {line} has {found}, which is not SMT-LIB. Remove it."
            )
    for name in names:
        if "|" in name or "\\" in name:
            raise _undeclared(name, _declared(text))


def _undeclared(name: str, declared: Sequence[str]) -> UndeclaredSymbolError:
    hint = did_you_mean(name, declared, f"Declared: {', '.join(declared) or 'none'}.")
    return UndeclaredSymbolError(f"no constant is declared as {name!r}.{hint}")


def _is_text(text: str) -> bool:
    return text.lstrip().startswith(("(", ";")) or _DIMACS.match(text) is not None


def _theory_part(text: str) -> str:
    """The script up to `(exit)`, with blanks in place of queries and options."""
    for command in _commands(text):
        if command.name == "exit":
            return text[: command.start]
        if command.name in _SKIPPED:
            blank = re.sub(r"[^\n]", " ", text[command.start : command.stop])
            text = text[: command.start] + blank + text[command.stop :]
        elif command.name not in _TAKEN:
            hint = did_you_mean(command.name, _TAKEN)
            line = text.count("\n", 0, command.start) + 1
            raise TheoryError(
                f"Theory.from_smtlib: line {line} has the command '{command.name}', which "
                f"a theory cannot hold.{hint} Give a script of declarations and plain assertions."
            )
    return text


def _commands(text: str) -> Iterator[_Command]:
    """Top-level commands; z3 rejects everything else."""
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
                yield _Command(words[0], start, token.end())
        elif depth == 1 and not word.startswith(";"):
            words.append(word)


def _declared(script: str) -> list[str]:
    """Names of the constants that a script declares, for hints."""
    names = []
    for command in _commands(script):
        body = script[command.start : command.stop]
        words = [t for t in _TOKEN.findall(body) if not t.startswith(";")]
        if words[1] == "declare-const" or words[1:2] + words[3:5] == ["declare-fun", "(", ")"]:
            names.append(words[2].strip("|"))
    return names


def _reason(error: Exception) -> str:
    """The first error of z3, taken out of `(error "line 1 column 2: ...")`."""
    raw = error.args[0] if error.args else str(error)
    text = raw.decode() if isinstance(raw, bytes) else str(raw)
    found = re.search(r'\(error "(?:line (\d+) column (\d+): )?(.*?)"\)', text, re.DOTALL)
    line, column, message = found.groups() if found else (None, None, text)
    place = f" at line {line}, column {column}" if line else ""
    return f"{place}: {message.strip().rstrip('.')}"
