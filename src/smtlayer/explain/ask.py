"""This file finds out what an explanation tells: solvers are asked, nothing is guessed.

| statement | who says so |
|---|---|
| the answer, what was overruled | the layer's inference rule |
| the reading contradicts the theory, the blamed inputs | `Solver.core` without wanted outputs |
| the reading rules out the wanted outputs, likewise | `Solver.core` with them |
| broken constraints, wanted outputs at fault | `ConstraintCores.find` for the blamed inputs |
| the runner-up | `RunnersUp.find` |

A core is minimal given all constraints and wanted outputs, so no part of it contradicts fewer of
them either: blamed inputs, broken constraints and wanted outputs are minimal together.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.explain.columns import (
    blamed_of,
    marked_columns,
    value_of,
    values_of,
    wanted_of,
)
from smtlayer.explain.result import (
    Column,
    Contradiction,
    Explanation,
    Explanations,
    ExplanationStatus,
    Overruled,
    RunnerUp,
    RunnerUpStatus,
    SymbolRead,
)
from smtlayer.explain.runner_up import RunnersUp
from smtlayer.nn.rules.base import ForwardRule
from smtlayer.nn.weights import Weights, confidence
from smtlayer.solvers import Solver, Status
from smtlayer.solvers.search.constraint_core import ConstraintCores, ConstraintRef
from smtlayer.solvers.validation import check_limit
from smtlayer.theory import Theory

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

    def __post_init__(self) -> None:
        check_limit("SMTLayer.explain", "timeout_s", self.timeout_s)


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a batch in plain Python: as the network set it, and as the solver left it."""

    logits: list[float]
    signs: list[int]
    weights: list[float]
    wanted: list[int]
    status: int
    inputs: list[int]
    outputs: list[int]
    cost: float
    proved: bool


@dataclass(frozen=True, slots=True)
class _Core:
    """What the solver says of a row: whether the reading allows it, and who is to blame."""

    status: Status
    inputs: list[bool]


@final
class Explainer:
    """Explains what one solver answers, and keeps what it compiles for that."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._theory = solver.theory
        self._inputs, self._outputs = self._theory.input_symbols, self._theory.output_symbols
        self._runners_up = RunnersUp(solver)
        self._constraints: dict[int, ConstraintRef] = {}
        self._lock = threading.Lock()  # what it compiles answers one question at a time

    @cached_property
    def _conflicts(self) -> ConstraintCores:
        return ConstraintCores(self._theory)

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
        found = options.inference.answer(self._solver, signs, lambda: weights)
        amiss = (found.status != Status.SAT) | ((found.inputs != signs) & (signs != 0)).any(-1)
        own = self._cores(signs, weights, torch.zeros_like(wanted), amiss)
        against = self._cores(signs, weights, wanted, wanted.any(-1))
        answer = (found.status, found.inputs, found.outputs, found.cost, found.proved)
        plain = (part.tolist() for part in (logits, signs, weights, wanted, *answer))
        rows = [_Row(*parts) for parts in zip(*plain, strict=True)]
        with self._lock:
            asked = zip(rows, own, against, strict=True)
            return Explanations(tuple(self._explanation(options, *parts) for parts in asked))

    def _cores(
        self, signs: Tensor, weights: Tensor, wanted: Tensor, rows: Tensor
    ) -> list[_Core | None]:
        """The core of each of these rows, None for the others."""
        found: list[_Core | None] = [None] * len(signs)
        if rows.any():
            answer = self._solver.core(signs[rows], weights[rows], wanted[rows])
            cores = zip(answer.status.tolist(), answer.inputs.tolist(), strict=True)
            for place, (status, inputs) in zip(
                rows.nonzero().flatten().tolist(), cores, strict=True
            ):
                found[place] = _Core(Status(status), inputs)
        return found

    def _explanation(
        self, options: Options, row: _Row, own: _Core | None, against: _Core | None
    ) -> Explanation:
        _, conflict = self._blame(row, own, [0] * len(row.wanted), options.timeout_s)
        allows, blame = self._blame(row, against, row.wanted, options.timeout_s)
        answered = row.status == Status.SAT
        overruled = self._overruled(row, row.inputs) if answered else ()
        rival: RunnerUp | None = None
        rivals: RunnerUpStatus = "not asked"
        if options.runner_up and answered:
            rival, rivals = self._runner_up(row, options.timeout_s)
        return Explanation(
            status=_status(row, overruled),
            read=self._read(row),
            answer=values_of(self._outputs, row.outputs) if answered else None,
            overruled=overruled,
            cost=row.cost,
            proved=row.proved,
            conflict=conflict,
            runner_up=rival,
            wanted=wanted_of(self._outputs, row.wanted) or None,
            blame=blame,
            runner_up_status=rivals,
            allows=allows,
        )

    def _read(self, row: _Row) -> tuple[SymbolRead, ...]:
        found = []
        for symbol in self._inputs:
            signs, logits = row.signs[symbol.columns], row.logits[symbol.columns]
            values = [None if sign == 0 else sign > 0 for sign in signs]
            doubt = [math.log1p(math.exp(-abs(x))) for x, s in zip(logits, signs, strict=True) if s]
            columns = tuple(map(Column, symbol.column_names, values, logits))
            certainty = math.exp(-math.fsum(doubt))
            value = value_of(symbol, row.signs)
            found.append(SymbolRead(symbol.name, symbol.kind, value, certainty, columns))
        return tuple(found)

    def _overruled(self, row: _Row, inputs: list[int]) -> tuple[Overruled, ...]:
        turned = [int(s != 0 and s != x) for s, x in zip(row.signs, inputs, strict=True)]
        return tuple(
            Overruled(
                symbol.name,
                value_of(symbol, row.signs),
                value_of(symbol, inputs),
                math.fsum(compress(row.weights[symbol.columns], turned[symbol.columns])),
                marked_columns(symbol, turned),
            )
            for symbol in self._inputs
            if any(turned[symbol.columns])
        )

    def _blame(
        self, row: _Row, core: _Core | None, wanted: list[int], timeout_s: float
    ) -> tuple[bool | None, Contradiction | None]:
        """Whether the reading allows what is wanted, None if not known; and if not, why."""
        if core is None or core.status is Status.UNKNOWN:
            return None, None
        if core.status is Status.SAT:
            return True, None
        known = [s if blamed else 0 for s, blamed in zip(row.signs, core.inputs, strict=True)]
        clash = self._conflicts.find(known, wanted, timeout_s)
        found = clash.status is Status.UNSAT
        # Where nothing was found in time, everything is to blame: so the solver says.
        places = clash.formulas if found else range(len(self._theory.formulas))
        goal = [s if not found or i in clash.outputs else 0 for i, s in enumerate(wanted)]
        return False, Contradiction(
            blamed_of(self._inputs, known, row.signs),
            tuple(self._constraint(place) for place in places),
            found and clash.minimal,
            blamed_of(self._outputs, goal, wanted),
        )

    def _constraint(self, place: int) -> ConstraintRef:
        if place not in self._constraints:
            self._constraints[place] = ConstraintRef.of(self._theory, place)
        return self._constraints[place]

    def _runner_up(self, row: _Row, timeout_s: float) -> tuple[RunnerUp | None, RunnerUpStatus]:
        signs = torch.tensor(row.signs, dtype=torch.int8, device="cpu")
        weights = torch.tensor(row.weights, dtype=torch.float64, device="cpu")
        outputs = torch.tensor(row.outputs, dtype=torch.int8, device="cpu")
        found = self._runners_up.find(signs, weights, outputs, timeout_s)
        if found.status is not Status.SAT:
            return None, _RUNNER_UP[found.status]
        overruled = self._overruled(row, found.inputs.tolist())
        answer = values_of(self._outputs, found.outputs.tolist())
        return RunnerUp(answer, overruled, found.cost, found.proved), "found"


def wanted_signs(
    theory: Theory, wanted: Tensor | Mapping[str, Any] | None, logits: Tensor
) -> Tensor:
    """What a user wants of the outputs as signs, (B, m) int8; 0 for no opinion."""
    if isinstance(wanted, Mapping):
        strange = [name for name in wanted if not isinstance(name, str)]
        if strange:
            raise ArgumentTypeError(
                "SMTLayer.explain expects wanted by the names of symbols, as strings. "
                f"Got {strange[0]!r}."
            )
        wanted = theory.encode_outputs(**wanted)
    elif wanted is None:
        wanted = torch.zeros(theory.n_outputs, dtype=torch.int8, device="cpu")
    if not isinstance(wanted, Tensor):
        raise ArgumentTypeError(
            "SMTLayer.explain expects wanted as a tensor of signs, or as a mapping of values by "
            f"symbol name. Got {type(wanted).__name__}."
        )
    shape = (*logits.shape[:-1], theory.n_outputs)
    refusal = ArgumentError(
        f"SMTLayer.explain expects wanted of shape {shape}, one column per theory output. "
        f"Got {tuple(wanted.shape)}."
    )
    if wanted.shape[-1:] != shape[-1:]:
        raise refusal
    try:
        given = wanted.detach().to(logits.device).expand(shape).reshape(-1, theory.n_outputs)
    except RuntimeError as error:
        raise refusal from error
    signs = torch.where(given, 1, -1) if given.dtype == torch.bool else given
    odd = (signs != 0) & (signs.abs() != 1)
    if odd.any():
        raise ArgumentError(
            "SMTLayer.explain expects wanted as signs: 1 for true, -1 for false, 0 for no "
            f"opinion. Got {signs[odd][0].item()!r}."
        )
    return signs.to(torch.int8)


def _status(row: _Row, overruled: Sequence[Overruled]) -> ExplanationStatus:
    if row.status == Status.UNKNOWN:
        return "unknown"
    if row.status == Status.UNSAT:
        return "contradicts"
    return "repaired" if overruled else "fits"
