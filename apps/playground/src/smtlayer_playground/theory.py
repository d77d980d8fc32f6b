"""This file answers for a theory that somebody pasted: solve, maximize and core, side by side.

`answer` runs in a process of its own, shut in by `Limits`; `ask` is what the server calls.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from smtlayer.explain import Contradiction, Explanation
from smtlayer.nn import SMTLayer
from smtlayer.solvers import Auto, Solution, Status
from smtlayer.theory import OneHot, Theory, one_hot
from smtlayer_playground.errors import PlaygroundError, TooBigError
from smtlayer_playground.fields import number, sign, text_field
from smtlayer_playground.limits import Limits
from smtlayer_playground.sandbox import Sandbox

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.!?$@-]*")
_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})")
_NAMES_TEXT = 2_000
_TIMEOUT_MS = 2_000
_MAX_WORK = 1_000_000  # about a second of the five that a question may take
_LEAST, _MOST, _USUAL = 0.05, 10.0, 2.0  # confidence, as log-odds
_WORDS = {Status.SAT: "sat", Status.UNSAT: "unsat", Status.UNKNOWN: "unknown"}
XOR: dict[str, Any] = {
    "text": "(declare-const a Bool)(declare-const b Bool)(declare-const y Bool)"
    "(assert (! (= y (xor a b)) :named odd))",
    "inputs": "a, b",
    "outputs": "y",
    "signs": {"a": 1, "b": 1},
    "wanted": {"y": 1},
}


def make_sandbox(limits: Limits) -> Sandbox:
    """Where pasted theories are asked."""
    return Sandbox(answer, XOR, limits)


def ask(sandbox: Sandbox, question: Mapping[str, Any]) -> dict[str, Any]:
    """Checks how long everything is, then asks in a bounded process.

    Args:
        sandbox: Where to ask.
        question: `text`, `inputs` and `outputs` as they are typed, and for single columns `signs`,
            `confidence` and `wanted`.
    """
    text = text_field(question, "text", sandbox.limits.text)
    checked_text(text)
    asked: dict[str, Any] = {"text": text}
    for side in ("inputs", "outputs"):
        asked[side] = text_field(question, side, _NAMES_TEXT)
    for name, read in (("signs", sign), ("confidence", _confidence), ("wanted", sign)):
        asked[name] = _by_column(question, name, read, sandbox.limits.columns)
    return sandbox.ask(asked)


def checked_text(text: str) -> str:
    """The text, if it can only be SMT-LIB text, whose commands are seen alike by us and by z3.

    Raises:
        PlaygroundError: If it might be anything else: a path, or commands hidden in quotes.
    """
    if not text.lstrip().startswith(("(", ";")):
        raise PlaygroundError(
            "Paste SMT-LIB 2 text: it begins with '(' or with a comment after ';'."
        )
    for character in ("|", "\\", "\0"):
        if character in text:
            raise PlaygroundError(
                f"The character {character!r} is not taken here. "
                f"Rename symbols so that they need no quotes."
            )
    return text


def answer(question: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Reads the theory and answers; in the bounded process."""
    theory = read_theory(question["text"], question["inputs"], question["outputs"], limits)
    layer = SMTLayer(theory, backend=Auto(timeout_ms=_TIMEOUT_MS, max_work=_MAX_WORK)).eval()
    signs = _signs(layer, question.get("signs", {}))
    wanted = _row(theory.output_names, question.get("wanted", {}), [0] * theory.n_outputs)
    usual = [_USUAL] * theory.n_inputs
    confidence = _row(theory.input_names, question.get("confidence", {}), usual)
    logits, known = signs * confidence, signs != 0
    told = layer.explain(logits, wanted if wanted.any() else None, known=known)[0]
    return {
        "backend": layer.solver.name,
        "read": _plain(theory.decode_inputs(signs)),
        "signs": dict(zip(theory.input_names, signs.int().tolist(), strict=True)),
        "inputs": _symbols(theory, "input"),
        "outputs": _symbols(theory, "output"),
        **_answers(layer, signs, confidence, wanted),
        "core": _core(told),
        "constraints": len(theory.constraints),
    }


def read_theory(text: str, inputs: str, outputs: str, limits: Limits) -> Theory:
    """The theory of a text that somebody pasted, with the names that they typed.

    Examples:
        >>> text = "(declare-const n Int) (declare-const big Bool) (assert (= big (> n 2)))"
        >>> read_theory(text, "n in 1..3", "big", Limits()).input_names
        ('n=1', 'n=2', 'n=3')
    """
    asked = [
        _requests(side, given, limits) for side, given in (("inputs", inputs), ("outputs", outputs))
    ]
    try:
        theory = Theory.from_smtlib(checked_text(text), *asked)
    except TypeError as error:
        raise PlaygroundError(f"{error} On this page that is written as: n in 1..9") from error
    for side, count in (("inputs", theory.n_inputs), ("outputs", theory.n_outputs)):
        if count > limits.columns:
            raise TooBigError(
                f"The {side} have {count} columns, and this page takes up to {limits.columns}. "
                f"Name fewer of them."
            )
    return theory


def _requests(side: str, given: str, limits: Limits) -> list[str | OneHot]:
    """`"a, b in 1..9, pet in cat/dog"` as `Theory.from_smtlib` takes it."""
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not parts:
        raise PlaygroundError(f"Name the {side}, as in: a, b")
    if len(parts) > limits.names:
        raise TooBigError(f"Up to {limits.names} {side} can be named here. Got {len(parts)}.")
    return [_request(part, limits) for part in parts]


def _request(part: str, limits: Limits) -> str | OneHot:
    name, has_values, values = (word.strip() for word in part.partition(" in "))
    if not _SYMBOL.fullmatch(name):
        raise PlaygroundError(
            f"{part[:40]!r} is not a name. Write names as in: a, digit in 1..9, pet in cat/dog"
        )
    return one_hot(name, _values(values, limits)) if has_values else name


def _values(text: str, limits: Limits) -> Sequence[Any]:
    span = _RANGE.fullmatch(text)
    if span:
        first, last = int(span[1]), int(span[2])
        if not 1 <= last - first < limits.columns:
            raise PlaygroundError(f"{text!r} must hold from 2 to {limits.columns} numbers.")
        return range(first, last + 1)
    return [value.strip() for value in text.split("/")]


def _row(names: Sequence[str], by_name: Mapping[str, float], usual: Sequence[float]) -> Tensor:
    """One row of numbers, column by column."""
    columns = zip(names, usual, strict=True)
    return torch.tensor([float(by_name.get(name, value)) for name, value in columns])


def _signs(layer: SMTLayer, given: Mapping[str, float]) -> Tensor:
    """The inputs: columns that are not given are true, of one-hot symbols only the first.

    If none is given, the theory may contradict that: the page then starts with the nearest inputs
    that fit.
    """
    theory = layer.theory
    all_true = theory.decode_inputs(torch.ones(theory.n_inputs))
    start: list[float] = []
    for value, width in zip(all_true.values(), theory.input_widths, strict=True):
        start += [1.0] + [-1.0 if value is None else 1.0] * (width - 1)
    signs = _row(theory.input_names, given, start)
    if given:
        return signs
    found = layer.solver.maximize(signs.to(torch.int8)[None], torch.ones(1, theory.n_inputs))
    return found.inputs[0].float() if found.status[0] == Status.SAT else signs


def _answers(layer: SMTLayer, signs: Tensor, confidence: Tensor, wanted: Tensor) -> dict[str, Any]:
    """What `solve` and `maximize` say, the latter with and without the wanted outputs."""
    inputs, outputs = (row.to(torch.int8)[None] for row in (signs, wanted))
    weights, solver = confidence.double()[None], layer.solver
    repaired = solver.maximize(inputs, weights)
    return {
        "solve": _told(layer.theory, solver.solve(inputs), inputs),
        "maximize": _told(layer.theory, repaired, inputs),
        "wanted": _told(layer.theory, solver.maximize(inputs, weights, outputs), inputs)
        if wanted.any()
        else None,
    }


def _told(theory: Theory, found: Solution, asked: Tensor) -> dict[str, Any]:
    cost = found.cost[0].item()
    columns = zip(theory.input_names, found.inputs[0], asked[0], strict=True)
    return {
        "status": _WORDS[Status(int(found.status[0]))],
        "inputs": _plain(theory.decode_inputs(found.inputs[0])),
        "outputs": _plain(theory.decode(found.outputs[0])),
        "input_signs": found.inputs[0].tolist(),
        "output_signs": found.outputs[0].tolist(),
        "overruled": [name for name, taken, sign in columns if taken * sign < 0],
        "cost": cost if cost < float("inf") else None,
        "proved": bool(found.proved[0]),
    }


def _core(told: Explanation) -> dict[str, Any]:
    """Why the inputs contradict the wanted outputs, or else themselves."""
    blame = told.blame if told.wanted is not None else told.conflict
    return {
        "of": "inputs" if told.wanted is None else "wanted",
        "status": "unknown" if told.status == "unknown" else "sat" if blame is None else "unsat",
        "columns": [] if blame is None else [c for part in blame.inputs for c in part.columns],
        "constraints": [] if blame is None else _broken(blame),
        "minimal": blame is not None and blame.minimal,
    }


def _broken(blame: Contradiction) -> list[dict[str, Any]]:
    return [{"label": part.label, "text": part.text} for part in blame.constraints]


def _symbols(theory: Theory, side: str) -> list[dict[str, Any]]:
    """Symbols with their columns, in the theory's order."""
    symbols = theory.input_symbols if side == "input" else theory.output_symbols
    return [{"name": symbol.name, "columns": list(symbol.column_names)} for symbol in symbols]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that JSON has; others as text."""
    kept = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, kept) else str(value) for name, value in values.items()
    }


def _confidence(value: Any) -> float:
    return min(_MOST, max(_LEAST, number(value, "confidence")))


def _by_column(question: Mapping[str, Any], name: str, read: Any, most: int) -> dict[str, Any]:
    given = question.get(name, {})
    if not isinstance(given, dict) or len(given) > most:
        raise PlaygroundError(f"{name!r} must be an object with up to {most} columns.")
    return {str(column)[:100]: read(value) for column, value in given.items()}
