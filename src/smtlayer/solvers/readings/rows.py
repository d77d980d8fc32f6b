"""Rows that training shows, as values by symbol name or in a CSV file, and their labels."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError, TheoryError, did_you_mean
from smtlayer.solvers.readings.answers import Answers
from smtlayer.theory import Symbol, Theory

Rows = str | Path | Iterable[Mapping[str, Any]]
_TRUTH = {"0": False, "1": True, "false": False, "true": True}


def read_rows(theory: Theory, rows: Rows, answers: Answers) -> tuple[Tensor, Tensor]:
    """The signs of rows: inputs (R, n) and outputs (R, m); missing outputs follow from the theory.

    Raises:
        ArgumentError: If there are no rows, a row has a value that cannot be used, or it
            contradicts the theory.
    """
    listed = _read_csv(Path(rows)) if isinstance(rows, str | Path) else _listed(rows)
    if not listed:
        raise ArgumentError("Expected at least one row, such as dict(a=0, b=1). Got none.")
    where = f" of {rows}" if isinstance(rows, str | Path) else ""
    known: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}
    found = []
    for number, row in enumerate(listed, 1):
        key = tuple(sorted((str(name), repr(value)) for name, value in row.items()))
        if key not in known:
            known[key] = _read_row(theory, row, answers, f"Row {number}{where} ({_text(row)})")
        found.append(known[key])
    inputs, outputs = zip(*found, strict=True)
    return torch.stack(inputs), torch.stack(outputs)


def _listed(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    listed = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, Mapping) else [rows]
    for row in listed:
        if not isinstance(row, Mapping) or isinstance(rows, Mapping):
            raise ArgumentTypeError(
                f"Rows must be a list of dicts of values, such as [dict(a=0, b=1)], or the path "
                f"of a CSV file. Got {rows!r}."
            )
    return listed


def _read_csv(path: Path) -> list[Mapping[str, Any]]:
    """The rows of a file whose first line has the names of symbols; empty cells are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file)]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"Rows cannot be read from {str(path)!r}: {error}.") from error
    head, *body = [line for line in lines if any(line)] or [[]]
    if len(set(head)) < len(head):
        raise ArgumentError(f"{path}: the first line has a name twice: {', '.join(head)}.")
    for number, cells in enumerate(body, 1):
        if len(cells) != len(head):
            raise ArgumentError(
                f"{path}: row {number} has {len(cells)} values for the {len(head)} names of the "
                f"first line, {', '.join(head)}."
            )
    return [{n: x for n, x in zip(head, cells, strict=True) if x} for cells in body]


def _read_row(
    theory: Theory, row: Mapping[str, Any], answers: Answers, who: str
) -> tuple[Tensor, Tensor]:
    symbols = {symbol.name: symbol for symbol in theory.symbols}
    in_file = all(isinstance(value, str) for value in row.values())
    for name in row:
        if name not in symbols:
            hint = did_you_mean(str(name), symbols, f"They are {', '.join(symbols)}.")
            hint += " A file has them in its first line, separated by commas." if in_file else ""
            raise ArgumentError(f"{who}: {name!r} is not an input or output of the theory.{hint}")
    for symbol in theory.input_symbols:
        if symbol.name not in row:
            raise ArgumentError(f"{who}: there is no value for the input {symbol.name!r}.")
    try:
        plain = {name: _value(symbols[name], value) for name, value in row.items()}
        inputs = theory.encode(**{s.name: plain[s.name] for s in theory.input_symbols})
        given = {s.name: plain[s.name] for s in theory.output_symbols if s.name in plain}
        outputs = theory.encode_outputs(**given)
    except TheoryError as error:
        reason = str(error).removeprefix("Theory.encode: ")
        raise ArgumentError(f"{who}: {reason}") from error
    if inputs.ndim != 1 or outputs.ndim != 1:
        raise ArgumentError(f"{who}: expected one value per symbol. Give each row its own dict.")
    return inputs, _label(theory, inputs, outputs, answers, who)


def _label(theory: Theory, inputs: Tensor, outputs: Tensor, answers: Answers, who: str) -> Tensor:
    """The given outputs, with those that are missing (0)."""
    signs, label = tuple(inputs.tolist()), tuple(outputs.tolist())
    answer = answers(signs)
    if answer is not None and all(x in (0, y) for x, y in zip(label, answer, strict=True)):
        return torch.tensor(answer, dtype=torch.int8)
    if answer is not None:
        right = _text(theory.decode(torch.tensor(answer)))
        raise ArgumentError(f"{who} contradicts the theory, by which {right}.")
    if not answers.allows(signs, label):
        if not answers.allows((0,) * theory.n_inputs):
            raise TheoryError("The theory has no model at all. Theory.check() shows why.")
        raise ArgumentError(f"{who} contradicts the theory: no model has these values.")
    if 0 in label:
        raise ArgumentError(f"{who} has several labels by the theory. Add the outputs to the row.")
    return outputs


def _value(symbol: Symbol, value: Any) -> Any:
    """A value of the symbol for its text, as a file has it; other values as they are."""
    if not isinstance(value, str):
        return value
    if symbol.kind == "one-hot":
        names = {str(known): known for known in symbol.values}
        return names.get(value, names.get(value.removesuffix(".0"), value))
    if symbol.kind == "bool":
        return _TRUTH.get(value.lower(), value)
    return int(value) if value.isdecimal() else value


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
