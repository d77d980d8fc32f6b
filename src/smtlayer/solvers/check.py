"""Reports what to know about a theory before training with it."""

import copy
import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import z3

from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers.advice import Advice, advise
from smtlayer.solvers.auto import Auto
from smtlayer.solvers.base import Backend
from smtlayer.solvers.results import Status
from smtlayer.solvers.search.constraint_core import ConstraintCores, ConstraintRef
from smtlayer.solvers.table.models import Models, list_models
from smtlayer.solvers.validation import check_count, check_limit
from smtlayer.solvers.z3_calls import OutOfWorkError, ask_counted, restarting
from smtlayer.theory import Theory
from smtlayer.theory.declarations import declarations_in, fresh_prefix


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many inputs fit a label, over the labels that have any."""

    labels: int
    least: int
    mean: float
    most: int


@dataclass(frozen=True, slots=True)
class TheoryReport:
    """What `Theory.check` found; None for a question that was not decided within its limit."""

    theory: Theory
    satisfiable: bool | None
    conflict: tuple[ConstraintRef, ...]  # a minimal set of constraints that contradict each other
    functional: bool | None  # whether the inputs determine the outputs
    pinned: bool | None  # whether the outputs determine the inputs: each label fits one input
    total: bool | None  # whether every value of the inputs has a model
    n_models: int  # that were listed, over inputs and outputs
    n_models_exact: bool  # if not, there are more, or the rest could not be found
    more_than: int | None  # if there are more models than this, however few were listed
    max_work: float  # steps that each question could take
    timeout_s: float  # that the search for a contradiction could take
    inputs_per_label: LabelCounts | None
    backend: Backend  # that `Auto` would choose
    backend_reason: str
    rule: str | None  # to begin with, for `SMTLayer(theory, backward=...)`; None without a model
    rule_reason: str

    @property
    def converges(self) -> bool | None:
        """Whether each label fits one input and each input one label: the paper's Theorem 1."""
        if self.functional is False or self.pinned is False:
            return False
        return None if self.functional is None or self.pinned is None else True

    def __str__(self) -> str:
        rows = [
            ("satisfiable", self._satisfiable()),
            *(("", _describe(part)) for part in self.conflict),
            ("outputs", self._say(self.functional, "determined by the inputs",
                                  "not determined by the inputs: some inputs allow several")),
            ("inputs", self._say(self.total, "every one has a model", "some have no model")),
            *self._unconstrained(),
            ("models", self._models()),
            ("inputs per label", self._labels()),
            ("convergence", self._say(self.converges,
                                      "each label fits exactly one input (Theorem 1 holds)",
                                      self._shortcut())),
            ("backend", f"{self.backend!r}, because {self.backend_reason}"),
            ("rule", f"{self.rule}"),
            ("", f"because {self.rule_reason}"),
        ]  # fmt: skip
        if self.satisfiable is False:
            rows = rows[: 1 + len(self.conflict)]
        return "\n".join([repr(self.theory), *(f"  {name:<17} {text}" for name, text in rows)])

    def _say(self, answer: bool | None, yes: str, no: str) -> str:
        if answer is None:
            return f"unknown: not decided within {self.max_work:,.0f} steps of the solver"
        return yes if answer else no

    def _satisfiable(self) -> str:
        text = self._say(self.satisfiable, "yes", "no: it has no model at all")
        return text if self.satisfiable is not None else f"{text}, nor in {self.timeout_s:g} s"

    def _unconstrained(self) -> list[tuple[str, str]]:
        names = self.theory.unconstrained
        return [("unconstrained", f"{', '.join(names)}: in no constraint")] if names else []

    def _models(self) -> str:
        if self.n_models_exact:
            return f"{self.n_models:,}"
        if self.more_than is not None:
            return f"more than {self.more_than:,}"
        least = max(self.n_models, int(self.satisfiable is True))
        steps = f"within {self.max_work:,.0f} steps of the solver"
        return f"at least {least:,}; not all found {steps}" if least else f"none found {steps}"

    def _shortcut(self) -> str:
        if self.functional is False:
            return "inputs allow several labels (Theorem 1 does not hold)"
        return "labels fit several inputs: blame may go to the wrong one"

    def _labels(self) -> str:
        counts = self.inputs_per_label
        if counts is None:
            return "1" if self.pinned else "not counted: the models were not all listed"
        return (
            f"{counts.least:,} to {counts.most:,}, mean {counts.mean:,.1f}, "
            f"over {counts.labels:,} labels"
        )


@interruptible
def check_theory(
    theory: Theory,
    *,
    timeout_s: float = 10.0,
    max_models: int = 20_000,
    max_work: float = Auto.max_work,
) -> TheoryReport:
    """Asks what `TheoryReport` holds; see `Theory.check` for the limits."""
    check_limit("Theory.check", "timeout_s", timeout_s)
    check_count("Theory.check", "max_models", max_models)
    check_limit("Theory.check", "max_work", max_work)
    models = list_models(theory, max_models, max_work)
    choice = Auto().choose(theory)
    total = _total(theory, models, max_work)
    satisfiable, conflict = (True, ()) if len(models) or total else _satisfiable(theory, timeout_s)
    pinned = _determines(theory, "outputs", models, max_work)
    advice = Advice("", "") if satisfiable is False else advise(choice.backend, pinned)
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
        rule=advice.rule or None,
        rule_reason=advice.reason,
    )


def conflict_of(theory: Theory, timeout_s: float = 10.0) -> tuple[ConstraintRef, ...]:
    """A minimal set of constraints that contradict each other; empty if none was found in time."""
    return _satisfiable(theory, timeout_s)[1]


def _satisfiable(theory: Theory, timeout_s: float) -> tuple[bool | None, tuple[ConstraintRef, ...]]:
    clash = ConstraintCores(theory, by_bits=False).find(timeout_s=timeout_s)
    if clash.status is not Status.UNSAT:
        return (True if clash.status is Status.SAT else None), ()
    return False, tuple(ConstraintRef.of(theory, place) for place in clash.formulas)


@uses_z3
@restarting
def _determines(
    theory: Theory, given: Literal["inputs", "outputs"], models: Models, max_work: float
) -> bool | None:
    """Whether the inputs determine the outputs, or the other way round.

    By the list; where it is not complete, by two copies of the theory that agree on what is given.
    """
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
        return None  # a second copy of a function takes more than substitution of constants
    prefix = fresh_prefix(own.formulas, "copy")
    constants = [(d(), z3.FreshConst(d.range(), prefix)) for d in others]
    solver = z3.Solver(ctx=own.inputs[0].ctx)
    solver.add(*own.formulas, *(z3.substitute(f, *constants) for f in own.formulas))
    solver.add(z3.Or([column != z3.substitute(column, *constants) for column in asked]))
    another = _answer(solver, max_work)
    return None if another is None else not another


@uses_z3
@restarting
def _total(theory: Theory, models: Models, max_work: float) -> bool | None:
    """Whether each value of the inputs has a model: by the list, else by a quantified question."""
    if models.complete:
        return len(torch.unique(models.inputs, dim=0)) == _input_values(theory)
    own = copy.deepcopy(theory)
    kept = {symbol.name for symbol in own.input_symbols}
    symbols = declarations_in([*own.formulas, *own.outputs])
    others = [d for name, d in symbols.items() if name not in kept]
    if any(d.arity() for d in others):
        return None  # z3 does not quantify over functions
    solver = z3.Solver(ctx=own.inputs[0].ctx)
    solver.add(*(s.domain for s in own.input_symbols if s.domain is not None))
    impossible = z3.Not(z3.And(*own.formulas))
    solver.add(z3.ForAll([d() for d in others], impossible) if others else impossible)
    stuck = _answer(solver, max_work)
    return None if stuck is None else not stuck


def _input_values(theory: Theory) -> int:
    return math.prod(
        symbol.width if symbol.kind == "one-hot" else 2**symbol.width
        for symbol in theory.input_symbols
    )


def _label_counts(models: Models) -> LabelCounts:
    _, counts = torch.unique(models.outputs, dim=0, return_counts=True)
    return LabelCounts(
        len(counts), int(counts.min()), counts.double().mean().item(), int(counts.max())
    )


def _answer(solver: Any, max_work: float) -> bool | None:
    try:
        answer = ask_counted(solver, max_work)
    except OutOfWorkError:
        return None
    return None if answer == z3.unknown else bool(answer == z3.sat)


def _describe(part: ConstraintRef) -> str:
    return (
        f"constraint {part.position}: {part.text}"
        if part.index is not None
        else f"one_hot: {part.text}"
    )
