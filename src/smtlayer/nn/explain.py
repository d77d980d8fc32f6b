"""This file finds out what an explanation tells: the solver is asked, nothing is guessed.

| statement | who says so |
|---|---|
| the answer, what was overruled | the layer's inference rule |
| the reading contradicts the theory, the blamed inputs | `Solver.core` without wanted outputs |
| the reading rules out the wanted outputs | `Solver.core` with them |
| the broken constraints | `Conflicts.find`, given the blamed inputs and the wanted outputs |
| the runner-up | `Solver.maximize` with each output column turned round |

A core is minimal given all constraints, so no part of it contradicts fewer of them either: blamed
inputs and broken constraints are minimal together.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer.nn.explanation import (
    Blame,
    BlamedInput,
    Broken,
    Column,
    Explanation,
    Explanations,
    ExplanationStatus,
    Overruled,
    RunnerUp,
    RunnerUpStatus,
    SymbolRead,
)
from smtlayer.nn.rules import ForwardRule, Weights, confidence
from smtlayer.solvers import Core, Solution, Solver, Status
from smtlayer.solvers.conflict import Conflicts
from smtlayer.theory import Theory
from smtlayer.theory.encodings import Encoding

_TOGETHER = 32  # questions about a runner-up that are asked at once, between looks at the clock


@dataclass(frozen=True, slots=True)
class Request:
    """All that decides how a batch is explained."""

    solver: Solver
    inference: ForwardRule
    weights: Weights
    runner_up: bool
    timeout_s: float


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One row of the batch as the layer sees it."""

    theory: Theory
    logits: Tensor  # (n,)
    signs: Tensor  # (n,) int8
    weights: Tensor  # (n,) float64


def explain_rows(request: Request, logits: Tensor, signs: Tensor, wanted: Tensor) -> Explanations:
    """An explanation for each row.

    Args:
        request: Solver and options.
        logits: (B, n).
        signs: (B, n) int8, 0 where an input is not known.
        wanted: (B, m) int8, 0 where nothing is wanted.
    """
    solver = request.solver
    if not len(signs):
        return Explanations(())
    weights = confidence(logits, signs, request.weights)
    solution = request.inference(solver, signs, lambda: weights)
    overruled = (solution.inputs != signs) & (signs != 0)
    amiss = (solution.status != Status.SAT) | overruled.any(-1)
    own = _cores(solver, signs, weights, torch.zeros_like(wanted), amiss)
    against = _cores(solver, signs, weights, wanted, wanted.any(-1))
    conflicts = Conflicts(solver.theory)
    rows = []
    for i in range(len(signs)):
        row = _Row(solver.theory, logits[i], signs[i], weights[i])
        blames = [
            _blame(row, core, goal, conflicts, request.timeout_s)
            for core, goal in ((own[i], torch.zeros_like(wanted[i])), (against[i], wanted[i]))
        ]
        rows.append(_explanation(request, row, _at(solution, i), wanted[i], *blames))
    return Explanations(tuple(rows))


def wanted_signs(
    theory: Theory, wanted: Tensor | Mapping[str, Any] | None, logits: Tensor
) -> Tensor:
    """What a user wants of the outputs as signs, (B, m) int8; 0 for no opinion."""
    if wanted is None:
        return torch.zeros(
            logits[..., 0].numel(), theory.n_outputs, dtype=torch.int8, device=logits.device
        )
    if isinstance(wanted, Mapping):
        wanted = theory.encode_outputs(**wanted)
    if not isinstance(wanted, Tensor):
        raise TypeError(
            "SMTLayer.explain expects wanted as a tensor of signs, or as a mapping of values by "
            f"symbol name. Got {type(wanted).__name__}."
        )
    shape = (*logits.shape[:-1], theory.n_outputs)
    try:
        given = wanted.detach().to(logits.device).expand(shape).reshape(-1, theory.n_outputs)
    except RuntimeError as error:
        raise ValueError(
            f"SMTLayer.explain expects wanted of shape {shape}, one column per theory output. "
            f"Got {tuple(wanted.shape)}."
        ) from error
    signs = torch.where(given, 1, -1) if given.dtype == torch.bool else given
    odd = (signs != 0) & (signs.abs() != 1)
    if odd.any():
        raise ValueError(
            "SMTLayer.explain expects wanted as signs: 1 for true, -1 for false, 0 for no "
            f"opinion. Got {signs[odd][0].item()!r}."
        )
    return signs.to(torch.int8)


def _cores(
    solver: Solver, signs: Tensor, weights: Tensor, wanted: Tensor, rows: Tensor
) -> list[Core | None]:
    """The core of each of these rows, None for the others."""
    found: list[Core | None] = [None] * len(signs)
    places = rows.nonzero().flatten()
    if len(places):
        answer = solver.core(signs[places], weights[places], wanted[places])
        for i, place in enumerate(places.tolist()):
            found[place] = Core(answer.status[i].cpu(), answer.inputs[i].cpu())
    return found


def _at(solution: Solution, i: int) -> Solution:
    parts = (solution.status, solution.inputs, solution.outputs, solution.cost, solution.proved)
    return Solution(*(part[i] for part in parts))


def _explanation(
    request: Request,
    row: _Row,
    solution: Solution,
    wanted: Tensor,
    own: tuple[bool | None, Blame | None],
    against: tuple[bool | None, Blame | None],
) -> Explanation:
    overruled = _overruled(row, solution) if solution.status == Status.SAT else ()
    rival: RunnerUp | None = None
    rivals: RunnerUpStatus = "not asked"
    if request.runner_up and solution.status == Status.SAT:
        rival, rivals = _runner_up(request, row, solution.outputs)
    return Explanation(
        status=_status(solution, overruled),
        read=_read(row),
        answer=_answer(row.theory, solution),
        overruled=overruled,
        cost=float(solution.cost),
        proved=bool(solution.proved),
        conflict=own[1],
        runner_up=rival,
        wanted=_wanted(row.theory, wanted),
        blame=against[1],
        runner_up_status=rivals,
        allows=against[0],
    )


def _status(solution: Solution, overruled: Sequence[Overruled]) -> ExplanationStatus:
    if solution.status == Status.UNKNOWN:
        return "unknown"
    if solution.status == Status.UNSAT:
        return "contradicts"
    return "repaired" if overruled else "fits"


def _read(row: _Row) -> tuple[SymbolRead, ...]:
    sure = torch.where(row.signs == 0, 0.0, -F.logsigmoid(row.logits.double().abs()))
    logits, signs = row.logits.tolist(), row.signs.tolist()
    found = []
    for encoding, place in _places(row.theory._inputs):
        values = [None if sign == 0 else sign > 0 for sign in signs[place]]
        columns = tuple(map(Column, encoding.labels, values, logits[place]))
        certainty = math.exp(-float(sure[place].sum()))
        found.append(
            SymbolRead(_name(encoding), _value(encoding, row.signs[place]), certainty, columns)
        )
    return tuple(found)


def _overruled(row: _Row, solution: Solution) -> tuple[Overruled, ...]:
    changed = (solution.inputs != row.signs) & (row.signs != 0)
    found = []
    for encoding, place in _places(row.theory._inputs):
        turned = changed[place].tolist()
        if any(turned):
            found.append(
                Overruled(
                    _name(encoding),
                    _value(encoding, row.signs[place]),
                    _value(encoding, solution.inputs[place]),
                    float(row.weights[place][changed[place]].sum()),
                    tuple(compress(encoding.labels, turned)),
                )
            )
    return tuple(found)


def _answer(theory: Theory, solution: Solution) -> dict[str, Any] | None:
    if solution.status != Status.SAT:
        return None
    return {
        _name(encoding): _value(encoding, solution.outputs[place])
        for encoding, place in _places(theory._outputs)
    }


def _wanted(theory: Theory, wanted: Tensor) -> dict[str, Any] | None:
    """The wanted values; of a symbol of which only some columns are wanted, those columns."""
    found: dict[str, Any] = {}
    for encoding, place in _places(theory._outputs):
        value, signs = _value(encoding, wanted[place]), wanted[place].tolist()
        if value is not None:
            found[_name(encoding)] = value
        else:
            found |= {a: sign > 0 for a, sign in zip(encoding.labels, signs, strict=True) if sign}
    return found or None


def _blame(
    row: _Row, core: Core | None, wanted: Tensor, conflicts: Conflicts, timeout_s: float
) -> tuple[bool | None, Blame | None]:
    """Whether the reading allows what is wanted, None if not known; and if not, why."""
    if core is None or core.status == Status.UNKNOWN:
        return None, None
    if core.status == Status.SAT:
        return True, None
    blamed = torch.where(core.inputs.to(row.signs.device), row.signs, 0)
    clash = conflicts.find(blamed.tolist(), wanted.tolist(), timeout_s)
    proved = clash.status is Status.UNSAT
    places = clash.formulas if proved else range(len(row.theory.formulas))
    inputs = [
        BlamedInput(
            _name(encoding),
            _value(encoding, row.signs[place]),
            tuple(compress(encoding.labels, blamed[place].tolist())),
        )
        for encoding, place in _places(row.theory._inputs)
        if blamed[place].any()
    ]
    broken = tuple(_broken(row.theory, place) for place in places)
    return False, Blame(tuple(inputs), broken, proved and clash.minimal)


def _broken(theory: Theory, place: int) -> Broken:
    given = len(theory.constraints)
    if place < given:
        text = " ".join(str(theory.constraints[place]).split())
        return Broken(place, theory.constraint_names[place], text)
    domains = [e for e in (*theory._inputs, *theory._outputs) if e.domain is not None]
    encoding = domains[place - given]
    values = ", ".join(label.removeprefix(f"{_name(encoding)}=") for label in encoding.labels)
    return Broken(None, None, f"{_name(encoding)} is one of {values}")


def _runner_up(
    request: Request, row: _Row, outputs: Tensor
) -> tuple[RunnerUp | None, RunnerUpStatus]:
    """The best model with other outputs, and whether there is one.

    Outputs that differ from the answer differ in some column, so the best model of all that turn
    one column round is the best. Of a one-hot symbol the column that is true will do.
    """
    deadline = time.monotonic() + request.timeout_s
    best, sure = None, True
    turned = torch.cat([_turns(e, outputs[place]) for e, place in _places(row.theory._outputs)])
    questions = torch.diag(-outputs)[turned]  # (k, m)
    for start in range(0, len(questions), _TOGETHER):
        if time.monotonic() > deadline:
            sure = False
            break
        part = questions[start : start + _TOGETHER]
        signs, weights = (x.expand(len(part), -1) for x in (row.signs, row.weights))
        found = request.solver.maximize(signs, weights, part)
        sure = sure and not (found.status == Status.UNKNOWN).any()
        sure = sure and bool(found.proved.all())
        i = int(found.cost.argmin())
        if found.status[i] == Status.SAT and (best is None or found.cost[i] < best.cost):
            best = _at(found, i)
    if best is None:
        return None, "impossible" if sure else "unknown"
    answer = _answer(row.theory, best)
    assert answer is not None
    return RunnerUp(answer, _overruled(row, best), float(best.cost), sure), "found"


def _turns(encoding: Encoding, signs: Tensor) -> Tensor:
    """The columns of a symbol that another value cannot leave all alone."""
    return signs > 0 if encoding.domain is not None else torch.ones_like(signs, dtype=torch.bool)


def _places(encodings: Sequence[Encoding]) -> Iterator[tuple[Encoding, slice]]:
    start = 0
    for encoding in encodings:
        stop = start + len(encoding.columns)
        yield encoding, slice(start, stop)
        start = stop


def _value(encoding: Encoding, signs: Tensor) -> Any:
    """The value that the columns of a symbol stand for, None if they stand for none."""
    columns = signs.cpu().numpy()
    if not encoding.reads(columns):
        return None
    value = encoding.decode(columns)[()]
    return value.item() if isinstance(value, np.generic) else value


def _name(encoding: Encoding) -> str:
    return str(encoding.symbol.decl().name())
