"""The theory page: the queries `solve`, `maximize` and `core` on a pasted theory.

The server calls `answer`, which validates a request and runs `solve_request` in the sandbox.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from smtlayer.explain import Explanation
from smtlayer.nn import SMTLayer
from smtlayer.solvers import Solution, Status
from smtlayer.theory import OneHot, Symbol, Theory, one_hot
from smtlayer_playground.errors import PlaygroundError, TooBigError
from smtlayer_playground.fields import by_column, number, sign, text_field
from smtlayer_playground.limits import Limits
from smtlayer_playground.sandbox import Sandbox
from smtlayer_playground.small_backend import SmallBackend

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.!?$@-]*")
_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})")
_MAX_NAMES_LENGTH = 2_000
_MIN_CONFIDENCE, _MAX_CONFIDENCE, _DEFAULT_CONFIDENCE = 0.05, 10.0, 2.0  # log-odds
XOR: dict[str, Any] = {
    "text": "(declare-const a Bool)(declare-const b Bool)(declare-const y Bool)"
    "(assert (! (= y (xor a b)) :named odd))",
    "inputs": "a, b",
    "outputs": "y",
    "signs": {"a": 1, "b": 1},
    "wanted": {"y": 1},
}


def answer(sandbox: Sandbox, request: Mapping[str, Any]) -> dict[str, Any]:
    """Validates a request and solves it in the sandbox.

    Args:
        sandbox: The sandbox; see `untrusted.make_sandbox`.
        request: `text`, `inputs` and `outputs` as typed, and `signs`, `confidence` and `wanted` by
            column.
    """
    text = text_field(request, "text", sandbox.limits.text)
    valid: dict[str, Any] = {"page": "theory", "text": checked_text(text)}
    for side in ("inputs", "outputs"):
        valid[side] = text_field(request, side, _MAX_NAMES_LENGTH)
    for name, read in (("signs", sign), ("confidence", _confidence), ("wanted", sign)):
        valid[name] = by_column(request, name, read, sandbox.limits.columns)
    return sandbox.run(valid)


def checked_text(text: str) -> str:
    """The text, if it is SMT-LIB whose commands are the same for this package and for z3.

    Raises:
        PlaygroundError: If it can be something else: a path, or commands hidden in quotes.
    """
    if not text.lstrip().startswith(("(", ";")):
        raise PlaygroundError("Paste SMT-LIB 2 text, which begins with '(' or with a comment, ';'.")
    for character in ("|", "\\", "\0"):
        if character in text:
            raise PlaygroundError(
                f"The character {character!r} is not allowed. "
                f"Rename symbols so that they need no quotes."
            )
    return text


def solve_request(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Reads the theory of a valid request and answers the queries; runs in the sandbox."""
    theory = read_theory(request["text"], request["inputs"], request["outputs"], limits)
    layer = SMTLayer(theory, backend=SmallBackend()).eval()
    signs = _signs(layer, request.get("signs", {}))
    wanted = _row(theory.output_names, request.get("wanted", {}), [0] * theory.n_outputs)
    default = [_DEFAULT_CONFIDENCE] * theory.n_inputs
    confidence = _row(theory.input_names, request.get("confidence", {}), default)
    logits, known = signs * confidence, signs != 0
    explanation = layer.explain(logits, wanted if wanted.any() else None, known=known)[0]
    return {
        "backend": layer.solver.name,
        "read": plain(theory.decode_inputs(signs)),
        "signs": dict(zip(theory.input_names, signs.int().tolist(), strict=True)),
        "inputs": symbols_of(theory.input_symbols),
        "outputs": symbols_of(theory.output_symbols),
        **_queries(layer, signs, confidence, wanted),
        "core": _core(explanation),
    }


def read_theory(text: str, inputs: str, outputs: str, limits: Limits) -> Theory:
    """Makes a theory from pasted text and typed names.

    Examples:
        >>> text = "(declare-const n Int) (declare-const big Bool) (assert (= big (> n 2)))"
        >>> read_theory(text, "n in 1..3", "big", Limits()).input_names
        ('n=1', 'n=2', 'n=3')
    """
    names = _parse_names("inputs", inputs, limits), _parse_names("outputs", outputs, limits)
    try:
        theory = Theory.from_smtlib(checked_text(text), *names)
    except TypeError as error:
        raise PlaygroundError(f"{error} On this page, write: n in 1..9") from error
    for side, count in (("inputs", theory.n_inputs), ("outputs", theory.n_outputs)):
        if count > limits.columns:
            raise TooBigError(
                f"The {side} have {count} columns. This page allows at most {limits.columns}. "
                f"Name fewer of them."
            )
    return theory


def _parse_names(side: str, text: str, limits: Limits) -> list[str | OneHot]:
    """Parses text such as `"a, b in 1..9, pet in cat/dog"` for `Theory.from_smtlib`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise PlaygroundError(f"Name the {side}, as in: a, b")
    if len(parts) > limits.names:
        raise TooBigError(f"At most {limits.names} {side} can be named. Got {len(parts)}.")
    return [_parse_name(part, limits) for part in parts]


def _parse_name(part: str, limits: Limits) -> str | OneHot:
    name, has_values, values = (word.strip() for word in part.partition(" in "))
    if not _SYMBOL.fullmatch(name):
        raise PlaygroundError(
            f"{part[:40]!r} is not a name. Write names as in: a, digit in 1..9, pet in cat/dog"
        )
    return one_hot(name, values_of(values, limits)) if has_values else name


def values_of(text: str, limits: Limits) -> Sequence[Any]:
    """The values in text such as `"1..9"`, a range, or `"cat/dog"`, a list of strings."""
    span = _RANGE.fullmatch(text)
    if span:
        first, last = int(span[1]), int(span[2])
        if not 1 <= last - first < limits.columns:
            raise PlaygroundError(f"{text!r} must contain 2 to {limits.columns} numbers.")
        return range(first, last + 1)
    return [value.strip() for value in text.split("/")]


def _row(names: Sequence[str], by_name: Mapping[str, float], default: Sequence[float]) -> Tensor:
    """One value per column."""
    columns = zip(names, default, strict=True)
    return torch.tensor([float(by_name.get(name, value)) for name, value in columns])


def _signs(layer: SMTLayer, given: Mapping[str, float]) -> Tensor:
    """The signs of the inputs. By default a column is true; of a one-hot symbol, only the first is.

    If no sign is given and the default contradicts the theory, the page starts with its repair.
    """
    theory = layer.theory
    all_true = theory.decode_inputs(torch.ones(theory.n_inputs))
    start: list[float] = []
    for value, width in zip(all_true.values(), theory.input_widths, strict=True):
        start += [1.0] + [-1.0 if value is None else 1.0] * (width - 1)
    signs = _row(theory.input_names, given, start)
    if given:
        return signs
    repair = layer.solver.maximize(signs.to(torch.int8)[None], torch.ones(1, theory.n_inputs))
    return repair.inputs[0].float() if repair.status[0] == Status.SAT else signs


def _queries(layer: SMTLayer, signs: Tensor, confidence: Tensor, wanted: Tensor) -> dict[str, Any]:
    """Answers `solve`, and `maximize` with and without the wanted outputs."""
    inputs, outputs = (row.to(torch.int8)[None] for row in (signs, wanted))
    weights, solver = confidence.double()[None], layer.solver
    found = {"solve": solver.solve(inputs), "maximize": solver.maximize(inputs, weights)}
    if wanted.any():
        found["wanted"] = solver.maximize(inputs, weights, outputs)
    answers = {name: _summary(layer.theory, one, inputs) for name, one in found.items()}
    return {"wanted": None} | answers


def _summary(theory: Theory, solution: Solution, signs: Tensor) -> dict[str, Any]:
    cost = solution.cost[0].item()
    columns = zip(theory.input_names, solution.inputs[0], signs[0], strict=True)
    return {
        "status": Status(int(solution.status[0])).name.lower(),
        "inputs": plain(theory.decode_inputs(solution.inputs[0])),
        "outputs": plain(theory.decode(solution.outputs[0])),
        "overruled": [name for name, taken, sign in columns if taken * sign < 0],
        "cost": cost if cost < float("inf") else None,
        "proved": bool(solution.proved[0]),
    }


def _core(explanation: Explanation) -> dict[str, Any]:
    """Why the inputs contradict the wanted outputs, or each other if no outputs are wanted."""
    wanted = explanation.wanted is not None
    found = explanation.blame if wanted else explanation.conflict
    return {
        "of": "wanted" if wanted else "inputs",
        "status": "unknown" if explanation.status == "unknown" else "unsat" if found else "sat",
        "columns": [column for part in found.inputs for column in part.columns] if found else [],
        "constraints": [part.label for part in found.constraints] if found else [],
        "minimal": found is not None and found.minimal,
    }


def symbols_of(symbols: Sequence[Symbol]) -> list[dict[str, Any]]:
    """The names of symbols and of their columns."""
    return [{"name": symbol.name, "columns": list(symbol.column_names)} for symbol in symbols]


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Converts values that JSON does not have to strings."""
    json_types = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, json_types) else str(value)
        for name, value in values.items()
    }


def _confidence(value: Any) -> float:
    return min(_MAX_CONFIDENCE, max(_MIN_CONFIDENCE, number(value, "confidence")))
