"""The report of `Theory.check`: properties of a theory to know before training with it."""

import copy
import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import z3

from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers.auto import Auto
from smtlayer.solvers.base import Backend, Status
from smtlayer.solvers.circuit.circuit import Circuit
from smtlayer.solvers.readings.answers import Answers
from smtlayer.solvers.readings.count import count_readings
from smtlayer.solvers.readings.kinds import shared_readers
from smtlayer.solvers.readings.result import Readings
from smtlayer.solvers.readings.rows import Rows, read_rows
from smtlayer.solvers.search.constraint_core import ConstraintCores, ConstraintRef
from smtlayer.solvers.table.models import Models, list_models
from smtlayer.solvers.table.table import Table
from smtlayer.solvers.validation import check_count, check_limit
from smtlayer.solvers.z3_calls import OutOfWorkError, ask_counted, restarting
from smtlayer.theory import Theory
from smtlayer.theory.declarations import declarations_in, fresh_prefix


@dataclass(frozen=True, slots=True)
class Advice:
    """A backward rule to begin with, as text for `SMTLayer(theory, backward=...)`."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The number of inputs that fit a label, over all labels that fit any."""

    labels: int
    least: int
    mean: float
    most: int


@dataclass(frozen=True, slots=True)
class TheoryReport:
    """The findings of `Theory.check`; None for those that were not decided within the limits."""

    theory: Theory
    satisfiable: bool | None
    conflict: tuple[ConstraintRef, ...]  # a minimal set of constraints that contradict each other
    functional: bool | None  # whether the inputs determine the outputs
    pinned: bool | None  # whether the outputs determine the inputs: each label fits one input
    total: bool | None  # whether every value of the inputs has a model
    n_models: int  # listed models over inputs and outputs
    n_models_exact: bool  # whether the list is complete
    more_than: int | None  # a number that the models are known to exceed
    max_work: float  # the limit of steps per query
    timeout_s: float  # the time limit of the search for a contradiction
    inputs_per_label: LabelCounts | None
    backend: Backend  # the choice of `Auto`
    backend_reason: str
    rule: str | None  # the backward rule to begin with; None without a model
    rule_reason: str
    readings: Readings | None = None  # those that fit the rows of training, if rows were given

    @property
    def converges(self) -> bool | None:
        """Whether each label fits one input and each input one label: the paper's Theorem 1."""
        if self.functional is False or self.pinned is False:
            return False
        return None if self.functional is None or self.pinned is None else True

    def __str__(self) -> str:
        free = self.theory.unconstrained
        shortcut = (
            "inputs allow several labels (Theorem 1 does not hold)"
            if self.functional is False
            else "labels fit several inputs: blame may go to the wrong one"
        )
        rows = [
            ("satisfiable", self._satisfiable()),
            *(("", _describe(part)) for part in self.conflict),
            ("outputs", self._text(self.functional, "determined by the inputs",
                                  "not determined by the inputs: some inputs allow several")),
            ("inputs", self._text(self.total, "every one has a model", "some have no model")),
            *([("unconstrained", f"{', '.join(free)}: in no constraint")] if free else []),
            ("models", self._models()),
            ("inputs per label", self._labels()),
            ("convergence", self._text(self.converges,
                                      "each label fits exactly one input (Theorem 1 holds)",
                                      shortcut)),
            ("backend", f"{self.backend!r}, because {self.backend_reason}"),
            ("rule", f"{self.rule}"),
            ("", f"because {self.rule_reason}"),
        ]  # fmt: skip
        lines = str(self.readings).splitlines() if self.readings else []
        rows += [("" if i else "readings", line) for i, line in enumerate(lines)]
        if self.satisfiable is False:
            rows = rows[: 1 + len(self.conflict)]
        return "\n".join([repr(self.theory), *(f"  {name:<17} {text}" for name, text in rows)])

    def _text(self, answer: bool | None, yes: str, no: str) -> str:
        if answer is None:
            return f"unknown: not decided within {self.max_work:,.0f} steps of the solver"
        return yes if answer else no

    def _satisfiable(self) -> str:
        text = self._text(self.satisfiable, "yes", "no: it has no model at all")
        return text if self.satisfiable is not None else f"{text}, nor in {self.timeout_s:g} s"

    def _models(self) -> str:
        if self.n_models_exact:
            return f"{self.n_models:,}"
        if self.more_than is not None:
            return f"more than {self.more_than:,}"
        least = max(self.n_models, int(self.satisfiable is True))
        steps = f"within {self.max_work:,.0f} steps of the solver"
        return f"at least {least:,}; not all found {steps}" if least else f"none found {steps}"

    def _labels(self) -> str:
        counts = self.inputs_per_label
        if counts is None:
            return "1" if self.pinned else "not counted: the models were not all listed"
        span = f"{counts.least:,} to {counts.most:,}, mean {counts.mean:,.1f}"
        return f"{span}, over {counts.labels:,} labels"


@interruptible
def check_theory(
    theory: Theory,
    *,
    timeout_s: float = 10.0,
    max_models: int = 20_000,
    max_work: float = Auto.max_work,
    rows: Rows | None = None,
) -> TheoryReport:
    """The report of a theory; see `Theory.check` for the limits."""
    check_limit("Theory.check", "timeout_s", timeout_s)
    check_count("Theory.check", "max_models", max_models)
    check_limit("Theory.check", "max_work", max_work)
    models = list_models(theory, max_models, max_work)
    choice = Auto().choose(theory)
    total = _total(theory, models, max_work)
    satisfiable, conflict = (True, ()) if len(models) or total else _satisfiable(theory, timeout_s)
    pinned = _determines(theory, "outputs", models, max_work)
    advice = None if satisfiable is False else advise(choice.backend, pinned)
    return TheoryReport(
        theory=theory,
        satisfiable=satisfiable,
        conflict=conflict,
        functional=_determines(theory, "inputs", models, max_work),
        pinned=pinned,
        total=total,
        n_models=len(models),
        n_models_exact=models.complete,
        more_than=max_models if models.many else None,
        max_work=max_work,
        timeout_s=timeout_s,
        inputs_per_label=_label_counts(models) if models.complete and len(models) else None,
        backend=choice.backend,
        backend_reason=choice.reason,
        rule=advice.rule if advice else None,
        rule_reason=advice.reason if advice else "",
        readings=_readings(theory, rows) if advice and rows is not None else None,
    )


def _readings(theory: Theory, rows: Rows) -> Readings:
    answers = Answers(theory)
    shown = read_rows(theory, rows, answers)
    readers = shared_readers(theory)
    return count_readings(theory, theory.input_widths, readers, shown, None, answers)


def advise(backend: Backend, pinned: bool | None) -> Advice:
    """The backward rule to begin with; `pinned` is None if it is unknown."""
    if pinned:
        reason = "each label fits one input only, so the cheapest repair is the truth"
        return Advice("maxsmt", reason)
    several = "labels fit several inputs" if pinned is False else "labels may fit several inputs"
    weighs = isinstance(backend, Table | Circuit)
    way = "weighs them all" if weighs else "draws one of them at a time"
    reason = f"{several}, and {type(backend).__name__} {way}; the training loop must set"
    return Advice("anneal_core", f"{reason} layer.progress from 0 to 1")


def conflict_of(theory: Theory, timeout_s: float = 10.0) -> tuple[ConstraintRef, ...]:
    """A minimal set of contradictory constraints; empty if none was found in time."""
    return _satisfiable(theory, timeout_s)[1]


def _satisfiable(theory: Theory, timeout_s: float) -> tuple[bool | None, tuple[ConstraintRef, ...]]:
    core = ConstraintCores(theory, by_bits=False).find(timeout_s=timeout_s)
    if core.status is not Status.UNSAT:
        return (True if core.status is Status.SAT else None), ()
    return False, tuple(ConstraintRef.of(theory, place) for place in core.formulas)


@uses_z3
@restarting
def _determines(
    theory: Theory, given: Literal["inputs", "outputs"], models: Models, max_work: float
) -> bool | None:
    """Whether inputs determine outputs, or outputs inputs: by the list, or two copies in z3."""
    listed = models.inputs if given == "inputs" else models.outputs
    if len(torch.unique(listed, dim=0) if len(models) else listed) < len(models):
        return False
    if models.complete:
        return True
    own = copy.deepcopy(theory)
    sides = [(own.input_symbols, own.outputs), (own.output_symbols, own.inputs)]
    kept, asked = sides[given == "outputs"]
    names = {symbol.name for symbol in kept}
    symbols = declarations_in([*own.formulas, *own.inputs, *own.outputs])
    others = [d for name, d in symbols.items() if name not in names]
    if any(d.arity() for d in others):
        return None  # functions cannot be copied by substituting constants
    prefix = fresh_prefix(own.formulas, "copy")
    constants = [(d(), z3.FreshConst(d.range(), prefix)) for d in others]
    solver = z3.Solver(ctx=own.inputs[0].ctx)
    solver.add(*own.formulas, *(z3.substitute(f, *constants) for f in own.formulas))
    solver.add(z3.Or([column != z3.substitute(column, *constants) for column in asked]))
    return _unsatisfiable(solver, max_work)


@uses_z3
@restarting
def _total(theory: Theory, models: Models, max_work: float) -> bool | None:
    """Whether each value of the inputs has a model: by the list, or by a quantified query."""
    if models.complete:
        sizes = [s.width if s.kind == "one-hot" else 2**s.width for s in theory.input_symbols]
        return len(torch.unique(models.inputs, dim=0)) == math.prod(sizes)
    own = copy.deepcopy(theory)
    kept = {symbol.name for symbol in own.input_symbols}
    symbols = declarations_in([*own.formulas, *own.outputs])
    others = [d for name, d in symbols.items() if name not in kept]
    if any(d.arity() for d in others):
        return None  # z3 cannot quantify over functions
    solver = z3.Solver(ctx=own.inputs[0].ctx)
    solver.add(*(s.domain for s in own.input_symbols if s.domain is not None))
    impossible = z3.Not(z3.And(*own.formulas))
    solver.add(z3.ForAll([d() for d in others], impossible) if others else impossible)
    return _unsatisfiable(solver, max_work)


def _label_counts(models: Models) -> LabelCounts:
    _, counts = torch.unique(models.outputs, dim=0, return_counts=True)
    mean = counts.double().mean().item()
    return LabelCounts(len(counts), int(counts.min()), mean, int(counts.max()))


def _unsatisfiable(solver: Any, max_work: float) -> bool | None:
    try:
        answer = ask_counted(solver, max_work)
    except OutOfWorkError:
        return None
    return None if answer == z3.unknown else bool(answer == z3.unsat)


def _describe(part: ConstraintRef) -> str:
    head = "one_hot" if part.index is None else f"constraint {part.position}"
    return f"{head}: {part.text}"
