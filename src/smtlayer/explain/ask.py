"""The explainer, which asks solvers for every part of an explanation.

| part | found by |
|---|---|
| the answer, the overruled inputs | the layer's inference rule |
| inputs that contradict the theory | `Solver.core` without wanted outputs |
| inputs that rule out the wanted outputs | `Solver.core` with them |
| the constraints, wanted outputs and facts that these inputs contradict | `ConstraintCores.find` |
| the runner-up | `RunnersUp.find` |
| the probabilities of both | `AnswerProbabilities.of` |

A core is minimal given all constraints, wanted outputs and facts, so no part of it contradicts
fewer of them either: blamed inputs, broken constraints, wanted outputs and facts are minimal
together.
"""

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import compress
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.explain.probability import AnswerProbabilities
from smtlayer.explain.result import (
    BlamedSymbol,
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
from smtlayer.solvers.reading import read
from smtlayer.solvers.search.constraint_core import ConstraintCores, ConstraintRef
from smtlayer.solvers.validation import check_limit
from smtlayer.theory import Symbol

_Signs = Sequence[int]
_Core = tuple[Status, list[bool]]  # of one row: the blamed inputs


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a batch in plain Python, before and after the solver."""

    logits: list[float]
    signs: list[int]
    weights: list[float]  # infinite for facts
    wanted: list[int]
    status: int
    inputs: list[int]
    outputs: list[int]
    cost: float
    proved: bool

    @property
    def odds(self) -> list[float]:
        """The logits, 0 where an input is not known and infinite for facts."""
        parts = zip(self.logits, self.signs, self.facts, strict=True)
        return [fact * math.inf if fact else x if s else 0.0 for x, s, fact in parts]

    @property
    def facts(self) -> list[int]:
        """The signs of the facts, 0 elsewhere."""
        pairs = zip(self.signs, self.weights, strict=True)
        return [sign if weight == math.inf else 0 for sign, weight in pairs]


@final
class Explainer:
    """Explains the answers of one solver by an inference rule."""

    def __init__(self, solver: Solver, inference: ForwardRule, weights: Weights) -> None:
        self._solver, self._inference, self._weights = solver, inference, weights
        self._theory = solver.theory
        self._inputs, self._outputs = self._theory.input_symbols, self._theory.output_symbols
        self._runners_up, self._probabilities = RunnersUp(solver), AnswerProbabilities(solver)
        self._constraint = cache(partial(ConstraintRef.of, self._theory))
        self._lock = threading.Lock()  # the compiled parts answer one query at a time

    @cached_property
    def _constraint_cores(self) -> ConstraintCores:
        return ConstraintCores(self._theory)

    def explain(
        self,
        logits: Tensor,
        signs: Tensor,
        wanted: Tensor,
        given: Tensor | None,
        *,
        runner_up: bool,
        timeout_s: float,
    ) -> Explanations:
        """Explains each row: see `SMTLayer.explain`.

        Logits and signs are (B, n), wanted is (B, m); a sign is 0 where nothing is known or wanted.
        Facts are where `given` (B, n) is True.
        """
        check_limit("SMTLayer.explain", "timeout_s", timeout_s)
        if not len(signs):
            return Explanations(())
        weights = confidence(logits, signs, self._weights, given)
        found = self._inference.answer(self._solver, signs, lambda: weights)
        misfits = (found.status != Status.SAT) | ((found.inputs != signs) & (signs != 0)).any(-1)
        own = self._cores(signs, weights, torch.zeros_like(wanted), misfits)
        against = self._cores(signs, weights, wanted, wanted.any(-1))
        answer = (found.status, found.inputs, found.outputs, found.cost, found.proved)
        plain = (part.tolist() for part in (logits, signs, weights, wanted, *answer))
        rows = [_Row(*parts) for parts in zip(*plain, strict=True)]
        with self._lock:
            sure = self._probabilities.of([row.odds for row in rows], [row.outputs for row in rows])
            return Explanations(tuple(
                self._explanation(*parts, runner_up, timeout_s)
                for parts in zip(rows, own, against, sure, strict=True)
            ))  # fmt: skip

    def _cores(
        self, signs: Tensor, weights: Tensor, wanted: Tensor, rows: Tensor
    ) -> list[_Core | None]:
        """The core of each of these rows, None for the others."""
        found: list[_Core | None] = [None] * len(signs)
        if rows.any():
            core = self._solver.core(signs[rows], weights[rows], wanted[rows])
            answers = zip(map(Status, core.status.tolist()), core.inputs.tolist(), strict=True)
            for i, answer in zip(rows.nonzero().flatten().tolist(), answers, strict=True):
                found[i] = answer
        return found

    def _explanation(
        self,
        row: _Row,
        own: _Core | None,
        against: _Core | None,
        probability: float | None,
        runner_up: bool,
        timeout_s: float,
    ) -> Explanation:
        _, conflict = self._contradiction(row, own, [0] * len(row.wanted), timeout_s)
        allows, blame = self._contradiction(row, against, row.wanted, timeout_s)
        answered = row.status == Status.SAT
        overruled = self._overruled(row, row.inputs) if answered else ()
        status: ExplanationStatus = "repaired" if overruled else "fits"
        if not answered:
            status = "unknown" if row.status == Status.UNKNOWN else "contradicts"
        search = runner_up and answered
        rival, rivals = self._runner_up(row, timeout_s) if search else (None, "not asked")
        return Explanation(
            status=status,
            read=tuple(self._read(row)),
            answer=_values(self._outputs, row.outputs) if answered else None,
            overruled=overruled,
            cost=row.cost,
            proved=row.proved,
            conflict=conflict,
            runner_up=rival,
            wanted=_wanted_values(self._outputs, row.wanted) or None,
            blame=blame,
            runner_up_status=rivals,
            allows=allows,
            probability=probability,
        )

    def _read(self, row: _Row) -> Iterator[SymbolRead]:
        facts = row.facts
        odds = torch.tensor([row.odds], dtype=torch.float64, device="cpu")
        (mean,) = read(self._theory, odds).mean.tolist()
        for symbol in self._inputs:
            signs, logits = row.signs[symbol.columns], row.logits[symbol.columns]
            given = [fact != 0 for fact in facts[symbol.columns]]
            values = [None if sign == 0 else sign > 0 for sign in signs]
            columns = tuple(map(Column, symbol.column_names, values, logits, given))
            certainty = _certainty(symbol, signs, mean[symbol.columns])
            yield SymbolRead(symbol.name, symbol.kind, symbol.value(signs), certainty, columns)

    def _overruled(self, row: _Row, inputs: list[int]) -> tuple[Overruled, ...]:
        changed = [int(s != 0 and s != x) for s, x in zip(row.signs, inputs, strict=True)]
        found = []
        for symbol in self._inputs:
            own = symbol.columns
            columns = tuple(compress(symbol.column_names, changed[own]))
            if columns:
                cost = math.fsum(compress(row.weights[own], changed[own]))
                read, taken = symbol.value(row.signs[own]), symbol.value(inputs[own])
                found.append(Overruled(symbol.name, read, taken, cost, columns))
        return tuple(found)

    def _contradiction(
        self, row: _Row, core: _Core | None, wanted: list[int], timeout_s: float
    ) -> tuple[bool | None, Contradiction | None]:
        """Whether the reading allows the wanted outputs, None if not known; and if not, why."""
        status, blamed = core or (Status.UNKNOWN, [])
        if status is not Status.UNSAT:
            return (True if status is Status.SAT else None), None
        known = [s if blame else 0 for s, blame in zip(row.signs, blamed, strict=True)]
        found = self._constraint_cores.find(known, wanted, timeout_s, facts=row.facts)
        # Without a core in time, all constraints, wanted outputs and facts together are one.
        complete = found.status is Status.UNSAT
        places = found.formulas if complete else range(len(self._theory.formulas))
        goal = [s if not complete or i in found.outputs else 0 for i, s in enumerate(wanted)]
        given = [s if not complete or i in found.facts else 0 for i, s in enumerate(row.facts)]
        return False, Contradiction(
            _blamed(self._inputs, known, row.signs),
            tuple(self._constraint(place) for place in places),
            complete and found.minimal,
            _blamed(self._outputs, goal, wanted),
            _blamed(self._inputs, given, row.signs),
        )

    def _runner_up(self, row: _Row, timeout_s: float) -> tuple[RunnerUp | None, RunnerUpStatus]:
        signs = torch.tensor(row.signs, dtype=torch.int8, device="cpu")
        weights = torch.tensor(row.weights, dtype=torch.float64, device="cpu")
        outputs = torch.tensor(row.outputs, dtype=torch.int8, device="cpu")
        found = self._runners_up.find(signs, weights, outputs, timeout_s)
        if found.status.item() != Status.SAT:
            return None, "impossible" if found.status.item() == Status.UNSAT else "unknown"
        overruled = self._overruled(row, found.inputs[0].tolist())
        answer = _values(self._outputs, found.outputs[0].tolist())
        (sure,) = self._probabilities.of([row.odds], found.outputs.tolist())
        return RunnerUp(answer, overruled, found.cost.item(), bool(found.proved), sure), "found"


def _certainty(symbol: Symbol, signs: _Signs, true: Sequence[float]) -> float:
    """The probability that the known columns of a symbol have these signs."""
    if symbol.kind != "one-hot":
        return math.prod(p if s > 0 else 1 - p for p, s in zip(true, signs, strict=True) if s)
    chosen = list(compress(true, (s > 0 for s in signs)))
    if chosen:  # at most one value is true
        return chosen[0] if len(chosen) == 1 else 0.0
    return math.fsum(p for p, s in zip(true, signs, strict=True) if s == 0)


def _values(symbols: Sequence[Symbol], row: _Signs) -> dict[str, Any]:
    return {symbol.name: symbol.value(row[symbol.columns]) for symbol in symbols}


def _wanted_values(symbols: Sequence[Symbol], row: _Signs) -> dict[str, Any]:
    """Wanted values by symbol name; for a symbol with only some columns wanted, those columns."""
    found: dict[str, Any] = {}
    for symbol in symbols:
        signs = row[symbol.columns]
        value = symbol.value(signs)
        pairs = zip(symbol.column_names, signs, strict=True)
        columns = {name: sign > 0 for name, sign in pairs if sign}
        found |= columns if value is None else {symbol.name: value}
    return found


def _blamed(symbols: Sequence[Symbol], part: _Signs, whole: _Signs) -> tuple[BlamedSymbol, ...]:
    """The symbols with blamed columns, those not 0 in `part`, and their values in `whole`."""
    found = []
    for symbol in symbols:
        columns = tuple(compress(symbol.column_names, part[symbol.columns]))
        if columns:
            value = symbol.value(whole[symbol.columns])
            found.append(BlamedSymbol(symbol.name, symbol.kind, value, columns))
    return tuple(found)
