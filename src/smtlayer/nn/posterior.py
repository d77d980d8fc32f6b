"""This file holds the blame rules that weigh every model with the wanted outputs.

Both look at P, the distribution over the theory's models that have the wanted outputs, each in
proportion to the product of its inputs' probabilities, sigmoid(logit / temperature). A temperature
above 1 trusts the network less and spreads blame over more models; inputs that are not known take
no part. A model is a value for each input and output. Unlike `core` and `maxsmt`, they push every
row on which the loss has an opinion, also where the outputs are as wanted.
"""

from dataclasses import dataclass, replace
from typing import final, overload

import torch
from torch import Tensor

from smtlayer.errors import UnsupportedRuleError
from smtlayer.nn.progress import Number, checked_number, short, value_at
from smtlayer.nn.rules import LEAST_WEIGHT, Blame, Question, whole_status
from smtlayer.solvers import Solver, Status
from smtlayer.solvers.base import WeighsModels


@final
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SampleRule:
    """Pushes the inputs towards one model drawn from P; see `sample`."""

    temperature: Number = 1.0

    def __post_init__(self) -> None:
        checked = checked_number("sample", "temperature", self.temperature)
        object.__setattr__(self, "temperature", checked)

    @overload
    def __call__(self, solver: Solver, question: Question) -> Blame: ...
    @overload
    def __call__(self, *, temperature: Number = ...) -> "SampleRule": ...
    def __call__(
        self,
        solver: Solver | None = None,
        question: Question | None = None,
        *,
        temperature: Number | None = None,
    ) -> "Blame | SampleRule":
        """The inputs to push in each row; or, given options alone, the rule with these options."""
        if solver is None or question is None:
            _refuse_unnamed(self, solver)
            return self if temperature is None else replace(self, temperature=temperature)
        odds = _log_odds(question, self.temperature)
        if not isinstance(solver, WeighsModels):
            return _perturbed(solver, question, odds)
        drawn = solver.sample(odds, question.wanted)
        return _towards(question, drawn.status, drawn.inputs > 0)

    def __repr__(self) -> str:
        return _text("sample", self.temperature)


@final
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class MarginalRule:
    """Pushes the inputs towards the mean of P; see `marginal`."""

    temperature: Number = 1.0

    def __post_init__(self) -> None:
        checked = checked_number("marginal", "temperature", self.temperature)
        object.__setattr__(self, "temperature", checked)

    @overload
    def __call__(self, solver: Solver, question: Question) -> Blame: ...
    @overload
    def __call__(self, *, temperature: Number = ...) -> "MarginalRule": ...
    def __call__(
        self,
        solver: Solver | None = None,
        question: Question | None = None,
        *,
        temperature: Number | None = None,
    ) -> "Blame | MarginalRule":
        """The inputs to push in each row; or, given options alone, the rule with these options."""
        if solver is None or question is None:
            _refuse_unnamed(self, solver)
            return self if temperature is None else replace(self, temperature=temperature)
        odds = _log_odds(question, self.temperature)
        posterior = listed(solver).marginal(odds, question.wanted)
        return _towards(question, posterior.status, posterior.inputs)

    def __repr__(self) -> str:
        return _text("marginal", self.temperature)


sample = SampleRule()
"""Takes one model drawn from P as what the inputs should be: `sample(temperature=2)`.

Exact on `Table`. Other backends are asked for the best repair of logits with logistic noise
(perturb and maximize): always a model with the wanted outputs, and exactly P where the theory lets
inputs be independent.
"""

marginal = MarginalRule()
"""Takes the mean of P as what the inputs should be: `marginal(temperature=anneal(4, 1))`.

It needs the list of all models, which only `Table` has; on another backend `SMTLayer` refuses it.
"""


def listed(solver: Solver) -> WeighsModels:
    """The solver, if it has the list of all models, or an error that says what else to use."""
    if isinstance(solver, WeighsModels):
        return solver
    raise UnsupportedRuleError(
        f"The rule marginal needs the list of all models, which only Table has; this theory is "
        f"answered by {solver.name}.",
        "Use sample, or core; or Table(), if it has few models.",
    )


def _log_odds(question: Question, temperature: Number) -> Tensor:
    """Logits over the temperature, 0 where an input is not known: (B, n) float64."""
    known = torch.where(question.signs != 0, question.logits.double(), 0)
    return known / value_at(temperature, question.progress)


def _perturbed(solver: Solver, question: Question, odds: Tensor) -> Blame:
    """The most probable model after noise on each input, for solvers without a list."""
    rows = (question.correct | question.wrong).nonzero().squeeze(-1)
    noisy = (odds + torch.logit(torch.rand_like(odds), eps=1e-15))[rows]
    known = question.signs[rows] != 0
    signs = torch.where(known, torch.where(noisy > 0, 1, -1), 0).to(torch.int8)
    weights = noisy.abs().clamp(min=LEAST_WEIGHT)
    found = solver.maximize(signs, weights, question.wanted[rows])
    inputs = torch.zeros_like(question.signs)
    inputs[rows] = found.inputs
    return _towards(question, whole_status(found.status, rows, question), inputs > 0)


def _towards(question: Question, status: Tensor, true: Tensor) -> Blame:
    """Pushes all known inputs of rows that have an opinion and a model."""
    opinion = question.correct | question.wrong
    return Blame(
        true.to(question.logits.dtype),
        (opinion & (status == Status.SAT))[:, None] & (question.signs != 0),
        opinion & (status == Status.UNSAT),
        opinion & (status == Status.UNKNOWN),
    )


def _refuse_unnamed(rule: SampleRule | MarginalRule, given: object) -> None:
    if given is not None:
        name = "sample" if isinstance(rule, SampleRule) else "marginal"
        raise TypeError(
            f"{name} expects its options by name, as in {name}(temperature=2). Got {given!r}."
        )


def _text(name: str, temperature: Number) -> str:
    return name if temperature == 1.0 else f"{name}(temperature={short(temperature)})"
