"""This file finds out what an explanation tells: solvers are asked, nothing is guessed.

| statement | who says so |
|---|---|
| the answer, what was overruled | the layer's inference rule |
| the reading contradicts the theory, the blamed inputs | `Solver.core` without wanted outputs |
| the reading rules out the wanted outputs, likewise | `Solver.core` with them |
| the broken constraints, the wanted outputs at fault | `Conflicts.find`, given the blamed inputs |
| the runner-up | `RunnersUp.find` |

A core is minimal given all constraints and wanted outputs, so no part of it contradicts fewer of
them either: blamed inputs, broken constraints and wanted outputs are minimal together.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, final

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
from smtlayer.nn.runner_up import RunnersUp
from smtlayer.solvers import Core, Solution, Solver, Status
from smtlayer.solvers.conflict import Conflicts
from smtlayer.theory import Theory
from smtlayer.theory.encodings import Encoding

_RUNNER_UP: Mapping[Status, RunnerUpStatus] = {
    Status.SAT: "found",
    Status.UNSAT: "impossible",
    Status.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How a batch is explained."""

    inference: ForwardRule
    weights: Weights
    runner_up: bool
    timeout_s: float


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One row of a batch, as the network set it and as the solver left it."""

    logits: Tensor  # (n,)
    signs: Tensor  # (n,) int8
    weights: Tensor  # (n,) float64
    wanted: Tensor  # (m,) int8
    solution: Solution  # of one row


@final
class Explainer:
    """Explains what one solver answers, and keeps what it compiles for that."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._theory = solver.theory
        self._runners_up = RunnersUp(solver)

    @cached_property
    def _conflicts(self) -> Conflicts:
        return Conflicts(self._theory)

    def explain(
        self, options: Options, logits: Tensor, signs: Tensor, wanted: Tensor
    ) -> Explanations:
        """An explanation for each row.

        Args:
            options: What to tell.
            logits: (B, n).
            signs: (B, n) int8, 0 where an input is not known.
            wanted: (B, m) int8, 0 where nothing is wanted.
        """
        if not len(signs):
            return Explanations(())
        weights = confidence(logits, signs, options.weights)
        found = options.inference(self._solver, signs, lambda: weights)
        amiss = (found.status != Status.SAT) | ((found.inputs != signs) & (signs != 0)).any(-1)
        nothing = torch.zeros_like(wanted)
        own = self._cores(signs, weights, nothing, amiss)
        against = self._cores(signs, weights, wanted, wanted.any(-1))
        rows = []
        for i, cores in enumerate(zip(own, against, strict=True)):
            row = _Row(logits[i], signs[i], weights[i], wanted[i], _at(found, i))
            rows.append(self._explanation(options, row, *cores))
        return Explanations(tuple(rows))

    def _cores(
        self, signs: Tensor, weights: Tensor, wanted: Tensor, rows: Tensor
    ) -> list[Core | None]:
        """The core of each of these rows, None for the others."""
        found: list[Core | None] = [None] * len(signs)
        places = rows.nonzero().flatten()
        if len(places):
            answer = self._solver.core(signs[places], weights[places], wanted[places])
            for i, place in enumerate(places.tolist()):
                found[place] = Core(answer.status[i], answer.inputs[i])
        return found

    def _explanation(
        self, options: Options, row: _Row, own: Core | None, against: Core | None
    ) -> Explanation:
        solution = row.solution
        _, conflict = self._blame(row, own, torch.zeros_like(row.wanted), options.timeout_s)
        allows, blame = self._blame(row, against, row.wanted, options.timeout_s)
        answered = solution.status == Status.SAT
        overruled = self._overruled(row, solution.inputs) if answered else ()
        rival: RunnerUp | None = None
        rivals: RunnerUpStatus = "not asked"
        if options.runner_up and answered:
            rival, rivals = self._runner_up(row, options.timeout_s)
        return Explanation(
            status=_status(solution, overruled),
            read=self._read(row),
            answer=self._answer(solution.outputs) if answered else None,
            overruled=overruled,
            cost=float(solution.cost),
            proved=bool(solution.proved),
            conflict=conflict,
            runner_up=rival,
            wanted=self._wanted(row.wanted),
            blame=blame,
            runner_up_status=rivals,
            allows=allows,
        )

    def _read(self, row: _Row) -> tuple[SymbolRead, ...]:
        doubt = torch.where(row.signs == 0, 0.0, -F.logsigmoid(row.logits.double().abs()))
        logits, signs = row.logits.tolist(), row.signs.tolist()
        found = []
        for encoding, place in _places(self._theory._inputs):
            values = [None if sign == 0 else sign > 0 for sign in signs[place]]
            columns = tuple(map(Column, encoding.labels, values, logits[place]))
            certainty = math.exp(-float(doubt[place].sum()))
            value = _value(encoding, row.signs[place])
            found.append(SymbolRead(_name(encoding), value, certainty, columns))
        return tuple(found)

    def _overruled(self, row: _Row, inputs: Tensor) -> tuple[Overruled, ...]:
        changed = (inputs != row.signs) & (row.signs != 0)
        return tuple(
            Overruled(
                _name(encoding),
                _value(encoding, row.signs[place]),
                _value(encoding, inputs[place]),
                float(row.weights[place][changed[place]].sum()),
                tuple(compress(encoding.labels, changed[place].tolist())),
            )
            for encoding, place in _places(self._theory._inputs)
            if changed[place].any()
        )

    def _answer(self, outputs: Tensor) -> dict[str, Any]:
        places = _places(self._theory._outputs)
        return {_name(encoding): _value(encoding, outputs[place]) for encoding, place in places}

    def _wanted(self, wanted: Tensor) -> dict[str, Any] | None:
        """The wanted values; of a symbol of which only some columns are wanted, those columns."""
        found: dict[str, Any] = {}
        for encoding, place in _places(self._theory._outputs):
            value, signs = _value(encoding, wanted[place]), wanted[place].tolist()
            if value is not None:
                found[_name(encoding)] = value
            else:
                pairs = zip(encoding.labels, signs, strict=True)
                found |= {label: sign > 0 for label, sign in pairs if sign}
        return found or None

    def _blame(
        self, row: _Row, core: Core | None, wanted: Tensor, timeout_s: float
    ) -> tuple[bool | None, Blame | None]:
        """Whether the reading allows what is wanted, None if not known; and if not, why."""
        if core is None or core.status == Status.UNKNOWN:
            return None, None
        if core.status == Status.SAT:
            return True, None
        known = torch.where(core.inputs, row.signs, 0)
        clash = self._conflicts.find(known.tolist(), wanted.tolist(), timeout_s)
        goal, places = wanted, range(len(self._theory.formulas))
        if clash.status is Status.UNSAT:
            goal = torch.zeros_like(wanted)
            at_fault = list(clash.outputs)
            goal[at_fault] = wanted[at_fault]
        return False, Blame(
            _blamed(self._theory._inputs, known, row.signs),
            tuple(map(self._broken, clash.formulas if clash.status is Status.UNSAT else places)),
            clash.status is Status.UNSAT and clash.minimal,
            _blamed(self._theory._outputs, goal, wanted),
        )

    def _broken(self, place: int) -> Broken:
        given = len(self._theory.constraints)
        if place < given:
            text = " ".join(str(self._theory.constraints[place]).split())
            return Broken(place, self._theory.constraint_names[place], text)
        both = (*self._theory._inputs, *self._theory._outputs)
        encoding = [e for e in both if e.domain is not None][place - given]
        name = _name(encoding)
        values = ", ".join(label.removeprefix(f"{name}=") for label in encoding.labels)
        return Broken(None, None, f"{name} is one of {values}")

    def _runner_up(self, row: _Row, timeout_s: float) -> tuple[RunnerUp | None, RunnerUpStatus]:
        found = self._runners_up.find(row.signs, row.weights, row.solution.outputs, timeout_s)
        rival = None
        if found.status is Status.SAT:
            overruled = self._overruled(row, found.inputs)
            rival = RunnerUp(self._answer(found.outputs), overruled, found.cost, found.proved)
        return rival, _RUNNER_UP[found.status]


def wanted_signs(
    theory: Theory, wanted: Tensor | Mapping[str, Any] | None, logits: Tensor
) -> Tensor:
    """What a user wants of the outputs as signs, (B, m) int8; 0 for no opinion."""
    if isinstance(wanted, Mapping):
        wanted = theory.encode_outputs(**wanted)
    elif wanted is None:
        wanted = torch.zeros(theory.n_outputs, dtype=torch.int8)
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


def _at(solution: Solution, i: int) -> Solution:
    parts = (solution.status, solution.inputs, solution.outputs, solution.cost, solution.proved)
    return Solution(*(part[i] for part in parts))


def _status(solution: Solution, overruled: Sequence[Overruled]) -> ExplanationStatus:
    if solution.status == Status.UNKNOWN:
        return "unknown"
    if solution.status == Status.UNSAT:
        return "contradicts"
    return "repaired" if overruled else "fits"


def _blamed(encodings: Sequence[Encoding], part: Tensor, whole: Tensor) -> tuple[BlamedInput, ...]:
    """The symbols of which a part of the columns is blamed, with the value of them all."""
    return tuple(
        BlamedInput(
            _name(encoding),
            _value(encoding, whole[place]),
            tuple(compress(encoding.labels, part[place].tolist())),
        )
        for encoding, place in _places(encodings)
        if part[place].any()
    )


def _places(encodings: Sequence[Encoding]) -> Iterator[tuple[Encoding, slice]]:
    """Each symbol with the place of its columns."""
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
