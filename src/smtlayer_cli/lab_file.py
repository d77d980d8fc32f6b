"""A theory in an SMT-LIB file as a problem for the lab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import z3

from smtlayer.errors import ArgumentError, ConfigError, UndeclaredSymbolError, did_you_mean
from smtlayer.lab import LabProblem, problem_of
from smtlayer.solvers.z3_calls import ask
from smtlayer.theory import Theory, one_hot
from smtlayer.theory.smtlib import read
from smtlayer_cli.plugins import lab_problems

_WIDEST = 1_000  # most values of an integer
_TIMEOUT_MS = 10_000  # of a question about an integer's range


def read_problem(
    name: str,
    *,
    inputs: str | None,
    outputs: str | None,
    widths: str | None,
    separate: bool,
    shown: float,
    rows: Path | None,
) -> LabProblem:
    """The problem of a file, for the options of `smtlayer lab` with the same names."""
    path = Path(name)
    if not path.is_file():
        known = lab_problems()
        names = f", or one of {', '.join(known)}" if known else ""
        raise ConfigError(
            f"smtlayer lab expects an SMT-LIB 2 file{names}. Got {name!r}, and there is no such "
            f"file.{did_you_mean(name, known)}"
        )
    sides = _split(inputs), _split(outputs)
    if not all(sides):
        raise ConfigError(
            f"smtlayer lab needs the inputs and outputs of {name}: "
            f"add --inputs a,b --outputs y with names that it declares."
        )
    sizes = _split(widths)
    if not all(size.isdecimal() for size in sizes):
        raise ConfigError(f"--widths expects whole numbers, as 7,7,7. Got {widths!r}.")
    read(path, ())  # first reports errors in the file itself
    ranges = _ranges(path, "--inputs", sides[0])
    if ranges and not separate:  # so that they have the same columns, and share a reader
        every = range(min(r.start for r in ranges.values()), max(r.stop for r in ranges.values()))
        ranges = dict.fromkeys(ranges, every)
    named = [_columns(sides[0], ranges), _columns(sides[1], _ranges(path, "--outputs", sides[1]))]
    theory = Theory.from_smtlib(path, *named)
    try:
        return problem_of(
            theory, name=path.stem, widths=[int(size) for size in sizes] or None, separate=separate,
            shown=shown, rows=rows,
        )  # fmt: skip
    except ArgumentError as error:
        raise error if rows is None else ConfigError(f"--rows: {error}") from error


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _columns(names: Sequence[str], ranges: Mapping[str, range]) -> list[Any]:
    return [one_hot(name, ranges[name]) if name in ranges else name for name in names]


def _ranges(path: Path, option: str, names: Sequence[str]) -> dict[str, range]:
    """The values of the integers among some names, which must be declared, each once."""
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{option} expects each name once. Got {name!r} more than once.")
    try:
        constraints, constants, _ = read(path, names)
    except UndeclaredSymbolError as error:
        raise ConfigError(f"{option}: {error.reason}") from error
    for name, constant in constants.items():
        if not (isinstance(constant, z3.BoolRef | z3.BitVecRef) or z3.is_int(constant)):
            raise ConfigError(
                f"{option} expects symbols of sort Bool, (_ BitVec n) or Int. Got {name!r} of sort "
                f"{constant.sort()}. Declare one in {path}, or use Theory and one_hot in Python."
            )
    integers = {name: constant for name, constant in constants.items() if z3.is_int(constant)}
    return {name: _range(path, constraints, term) for name, term in integers.items()}


def _range(path: Path, constraints: Sequence[Any], symbol: Any) -> range:
    """The values of an integer in models: from the least to the greatest, at least two."""
    solver = z3.Solver(ctx=symbol.ctx)
    solver.add(*constraints)
    if ask(solver, _TIMEOUT_MS) != z3.sat:
        return range(2)  # the lab then reports that there is no model
    inside = solver.model().eval(symbol, model_completion=True).as_long()

    def distance(sign: int) -> int:
        near, far = 0, _WIDEST
        if ask(solver, _TIMEOUT_MS, sign * (symbol - inside) >= far) != z3.unsat:
            raise ConfigError(
                f"smtlayer lab lists the values of integers, at most {_WIDEST:,}. Got {symbol} "
                f"with more, or without bounds. Add some to {path}: (assert (<= 0 {symbol} 9))."
            )
        while far - near > 1:
            middle = (near + far) // 2
            possible = ask(solver, _TIMEOUT_MS, sign * (symbol - inside) >= middle) != z3.unsat
            near, far = (middle, far) if possible else (near, middle)
        return near

    low, high = inside - distance(-1), inside + distance(1)
    return range(low, max(high, low + 1) + 1)
