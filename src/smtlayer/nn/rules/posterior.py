"""The rules `sample`, `marginal` and `topk`, which weigh models with the wanted outputs.

They use P, the distribution over the theory's models that have the wanted outputs, each in
proportion to the probability of its inputs by logits / temperature, as `SMTLayer.log_prob` reads
them: each pair of inputs and outputs counts once, on every backend that weighs models. A
temperature above 1 trusts the network less and spreads blame over more models; inputs that are not
known take no part. Unlike `core` and `maxsmt`, these rules push every row on which the loss has an
opinion, including rows whose outputs are as wanted.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import torch
from torch import Tensor

from smtlayer.nn.rules.anneal import (
    Number,
    anneal,
    checked_count,
    checked_number,
    rule_text,
    value_at,
)
from smtlayer.nn.rules.base import Blame, BlameRule, Question, whole_status, with_models, with_ranks
from smtlayer.nn.weights import LEAST_WEIGHT
from smtlayer.solvers import Solver, Status
from smtlayer.solvers.base import WeighsModels
from smtlayer.solvers.reading import read


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PosteriorRule(BlameRule):
    """A rule that depends on P and its temperature."""

    temperature: Number = 1.0

    name: ClassVar[str]
    capturable = True
    needs_weights = False  # P depends on the logits

    def __post_init__(self) -> None:
        checked = checked_number(self.name, "temperature", self.temperature)
        object.__setattr__(self, "temperature", checked)

    @property
    def changes(self) -> bool:
        """Whether its temperature does."""
        return isinstance(self.temperature, anneal)

    def __call__(self, *, temperature: Number = 1.0) -> Self:
        """Returns the rule with this temperature."""
        return type(self)(temperature=temperature)

    def __repr__(self) -> str:
        return rule_text(self.name, self)

    def _log_odds(self, question: Question) -> Tensor:
        """Logits over the temperature, infinite for facts: (B, n) float64."""
        return _evidence(question) / value_at(self.temperature, question.progress)


@final
@dataclass(frozen=True, slots=True, repr=False)
class SampleRule(PosteriorRule):
    """Pushes the inputs towards one model drawn from P; see `sample`."""

    name = "sample"
    asks = frozenset({"sample"})

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""
        odds = self._log_odds(question)
        if not isinstance(solver, WeighsModels):
            return _perturbed(solver, question, odds)
        drawn = solver.sample(odds, question.wanted)
        return _towards(question, drawn.status, drawn.inputs > 0)


@final
@dataclass(frozen=True, slots=True, repr=False)
class MarginalRule(PosteriorRule):
    """Pushes the inputs towards the mean of P; see `marginal`."""

    name = "marginal"
    asks = frozenset({"marginal"})
    needs_models = True

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""
        weigher = with_models(solver, self)
        posterior = weigher.marginal(self._log_odds(question), question.wanted)
        return _towards(question, posterior.status, posterior.inputs)


@final
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TopKRule(PosteriorRule):
    """Pushes the inputs towards the mean of the k most probable models; see `topk`."""

    k: int = 3

    name = "topk"
    asks = frozenset({"topk"})
    capturable = False

    def __post_init__(self) -> None:
        PosteriorRule.__post_init__(self)
        object.__setattr__(self, "k", checked_count(self.name, "k", self.k))

    def __call__(self, *, k: int = 3, temperature: Number = 1.0) -> "TopKRule":
        """Returns the rule with this number of models and this temperature."""
        return TopKRule(k=k, temperature=temperature)

    def check(self, solver: Solver) -> None:
        """Raises if the solver does not rank models."""
        with_ranks(solver, self)

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""
        ranker = with_ranks(solver, self)
        best = ranker.topk(self._log_odds(question), question.wanted, self.k)
        prior = read(solver.theory, _evidence(question)).mean
        pull = (prior - best.inputs).to(question.logits.dtype)
        return replace(_towards(question, best.status, best.inputs), targets=None, pull=pull)


@final
@dataclass(frozen=True, slots=True, repr=False)
class PosteriorOrSample(PosteriorRule):
    """`marginal` on a backend that weighs models, `sample` on others."""

    name = "posterior"
    asks = frozenset({"marginal", "sample"})

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""
        rule = marginal if isinstance(solver, WeighsModels) else sample
        return rule(temperature=self.temperature).blame(solver, question)


sample = SampleRule()
"""Pushes the inputs towards one model drawn from P: `sample(temperature=2)`.

Exact on backends that weigh models, `Table` and `Circuit`. On others it is approximated by adding
logistic noise to the logits and repairing the result (perturb and maximize): always a model with
the wanted outputs, and exactly P where the theory lets inputs be independent.
"""

marginal = MarginalRule()
"""Pushes the inputs towards the mean of P: `marginal(temperature=anneal(4, 1))`.

It needs a backend that weighs all models, `Table` or `Circuit`; on another `SMTLayer` refuses it.
"""


topk = TopKRule()
"""Pushes the inputs towards the mean of the k most probable models of P: `topk(k=5)`.

`k=3` by default, `temperature=1` as for the other rules of this kind. All other models count as
impossible, so a model that is not among the first k has no effect until it is. With `k=1` it pushes
towards the single most probable model.

Up to the scale of a row, it is the gradient of the negative log-probability of these models, with
the columns of a one-hot symbol read by softmax; with enough models, that of `SMTLayer.log_prob`.
Scallop's provenance `difftopkproofs` computes the same where each proof of the label is one model.
Only the differences between the logits of a one-hot symbol are trained. If outputs matter during
training, use `forward="maxsmt"`, which depends on nothing else. It needs a backend that ranks
models, `Table` or `Circuit`.

Reference:
    Huang et al., *Scallop: From Probabilistic Deductive Databases to Scalable Differentiable
    Reasoning*, NeurIPS 2021.
"""


def _evidence(question: Question) -> Tensor:
    """Logits, 0 where an input is not known, infinite for facts: (B, n) float64."""
    known = torch.where(question.signs != 0, question.logits.double(), 0)
    return torch.where(question.facts, question.signs * torch.inf, known)


def _perturbed(solver: Solver, question: Question, odds: Tensor) -> Blame:
    """The most probable model after noise on each input, for solvers that do not weigh models."""
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
