"""The requirements page: probabilities, repair and unsat core of requirements that a user types.

The server calls `answer`, which validates a request and runs `solve_request` in the sandbox.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from smtlayer.errors import UnsatisfiableTheoryError
from smtlayer.explain import Contradiction, Explanation
from smtlayer.nn import SMTLayer
from smtlayer.solvers.base import WeighsModels
from smtlayer.solvers.check import conflict_of
from smtlayer.solvers.search.constraint_core import ConstraintRef
from smtlayer.theory import Theory
from smtlayer_playground import requirement_text
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import by_column, number, text_field
from smtlayer_playground.limits import Limits
from smtlayer_playground.program import program
from smtlayer_playground.requirement_text import DimacsRequirements, Requirements
from smtlayer_playground.sandbox import Sandbox
from smtlayer_playground.small_backend import SmallBackend
from smtlayer_playground.theory import plain, symbols_of

_MAX_LOGIT = 10.0
_WARM_UP = """\
tag1, tag2 in O/B/I
hours, breaks in 0..2
output alarm
matches(tag1, tag2, "(O|BI*)*")
hours + 2 * breaks <= 3
exactly(1, red, green, tag1 == "B")
all_different(hours, breaks)
red implies not alarm
"""


def answer(sandbox: Sandbox, request: Mapping[str, Any]) -> dict[str, Any]:
    """Validates a request and solves it in the sandbox.

    Requests with the same text are answered by the same process, which is kept for a short time.

    Args:
        sandbox: The sandbox; see `untrusted.make_sandbox`.
        request: `text` as typed, `logits` by column, and `given`, the names of the inputs that are
            facts.
    """
    text = text_field(request, "text", sandbox.limits.text)
    given = request.get("given", [])
    if not isinstance(given, list) or len(given) > sandbox.limits.columns:
        raise PlaygroundError(f"'given' must list at most {sandbox.limits.columns} names.")
    valid = {
        "page": "requirements",
        "text": text,
        "logits": by_column(request, "logits", _logit, sandbox.limits.columns),
        "given": [str(name)[:100] for name in given],
    }
    return sandbox.run(valid, keep=text)


def solve_request(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Answers a valid request; runs in the sandbox."""
    compiled = _compiled(request["text"], limits)
    found, layer = compiled.found, compiled.layer
    theory, weighed = layer.theory, isinstance(layer.solver, WeighsModels)
    logits, given = _evidence(theory, request["logits"], request["given"])
    known = logits != 0
    explanation = layer.explain(logits, known=known, given=given)[0]
    columns, certain = None, None
    if weighed:
        marginals = layer.marginals(logits, known=known, given=given)
        columns = dict(zip(theory.output_names, marginals.outputs.tolist(), strict=True))
        certain = marginals.log_prob.exp().item()
    inputs = set(theory.input_names)
    symbols = symbols_of(theory.output_symbols)
    return {
        "backend": layer.solver.name,
        "symbols": [one | {"is_input": one["columns"][0] in inputs} for one in symbols],
        "probabilities": columns,
        "all_hold": certain,
        "repair": _repair(explanation),
        "core": _core(explanation.conflict, found.labels, compiled.hidden),
        "program": program(found, logits, given, weighed=weighed),
    }


def warm_up(limits: Limits) -> dict[str, Any]:
    """Uses all parts of the language once, so that every module is loaded."""
    request = {"text": _WARM_UP, "logits": {"red": 1.0, "green": 1.0}, "given": ["red"]}
    solve_request({"text": "1 2 0\n-1 -2 0", "logits": {"x1": 1.0, "x2": 1.0}, "given": []}, limits)
    return solve_request(request, limits)


@dataclass(frozen=True, eq=False)
class _Compiled:
    found: Requirements | DimacsRequirements
    layer: SMTLayer
    hidden: frozenset[str]  # what the declarations of inputs add to a core: nothing of interest


@lru_cache(maxsize=1)
def _compiled(text: str, limits: Limits) -> _Compiled:
    found = requirement_text.read(text, limits)
    try:
        return _Compiled(
            found, SMTLayer(found.theory, backend=SmallBackend()), _domains(found.theory)
        )
    except UnsatisfiableTheoryError as error:
        places = [part.index for part in conflict_of(found.theory) if part.index is not None]
        listed = "; ".join(found.labels[place] for place in places)
        raise PlaygroundError(
            f"The requirements contradict each other, whatever the inputs are: {listed or error}. "
            f"Change or delete one."
        ) from error


def _domains(theory: Theory) -> frozenset[str]:
    """The texts by which explanations call the values of one-hot inputs."""
    inputs = {symbol.name for symbol in theory.input_symbols}
    finite = [symbol.name for symbol in theory.symbols if symbol.domain is not None]
    places = enumerate(finite, len(theory.constraints))
    return frozenset(ConstraintRef.of(theory, i).text for i, name in places if name in inputs)


def _evidence(
    theory: Theory, by_name: Mapping[str, float], facts: list[str]
) -> tuple[Tensor, Tensor]:
    """The logits, 0 where the user says nothing, and which of them are facts.

    A constant may be added to the logits of a one-hot symbol. It is chosen such that 0 lies between
    the two largest: then exactly one value is read as true, unless several are the largest.
    """
    logits = torch.tensor([by_name.get(name, 0.0) for name in theory.input_names])
    given = torch.zeros(theory.n_inputs, dtype=torch.bool)
    for symbol in theory.input_symbols:
        own = logits[symbol.columns]
        if symbol.kind == "one-hot":
            own -= own.topk(2).values.mean()
        elif symbol.name in facts:
            given[symbol.columns] = own != 0
    return (logits * 1e4).round() / 1e4, given


def _repair(explanation: Explanation) -> dict[str, Any]:
    found = explanation.cost < float("inf")
    return {
        "status": explanation.status,
        "values": plain(explanation.answer or {}),
        "overruled": [
            {"name": one.name, "columns": one.columns, "cost": one.cost}
            | plain({"read": one.read, "taken": one.taken})
            for one in explanation.overruled
        ],
        "cost": explanation.cost if found else None,
        "proved": explanation.proved,
    }


def _core(
    conflict: Contradiction | None, labels: list[str], hidden: frozenset[str]
) -> dict[str, Any] | None:
    """The inputs and facts that contradict each other, and the requirements that they break."""
    if conflict is None:
        return None
    sides = {"inputs": conflict.inputs, "given": conflict.given}
    named = {
        side: [{"name": p.name, "columns": p.columns} | plain({"value": p.value}) for p in parts]
        for side, parts in sides.items()
    }
    broken = [
        part.text if part.index is None else labels[part.index]
        for part in conflict.constraints
        if part.index is not None or part.text not in hidden
    ]
    return {**named, "requirements": broken, "minimal": conflict.minimal}


def _logit(value: Any) -> float:
    return min(_MAX_LOGIT, max(-_MAX_LOGIT, number(value, "logit")))
