r"""The rules `decision`, `perturbed` and `blackbox`, for outputs that are decisions.

Decisions are inputs and outputs: the edges of a path, the items of a selection. Their logits $z$
are scores, or negated costs, and the answer is the best decision that the theory allows,
$\hat x(z) = \arg\max_x z^\top x$ over $x \in \{0, 1\}^m$: what the forward rule `maxsmt` returns.
With the wanted decision $x^*$, and the gradient $g$ of the loss in the outputs (as signs, divided
by its mean size in the row), each rule is the gradient of a loss in $z$ itself:

| rule | gradient of $z$ | of the loss |
|---|---|---|
| `decision` | $\hat x(z) - x^*$ | structured perceptron |
| `perturbed` | $\mathrm{E}\,\hat x(z + \sigma Z) - x^*$, $Z$ Gaussian | perturbed Fenchel-Young |
| `blackbox` | $2\,(\hat x(z) - \hat x(z - \lambda g)) / \lambda$ | interpolated |

times the row's scale. `decision` and `perturbed` have a gradient where the loss has an opinion.
Rows without an answer, as the forward rule `smt` leaves them, get the best decision first. Inputs
that are not outputs take part with their own logits, without noise, and get no gradient.
"""

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, final

import torch
from torch import Tensor

from smtlayer.errors import UnsupportedRuleError
from smtlayer.nn.rules.anneal import (
    Number,
    anneal,
    checked_count,
    checked_number,
    rule_text,
    value_at,
)
from smtlayer.nn.rules.base import Blame, BlameRule, Question, whole_status
from smtlayer.nn.weights import confidence
from smtlayer.solvers import Solver, Status
from smtlayer.theory import Theory, to_signs


@dataclass(frozen=True, slots=True, repr=False)
class DirectRule(BlameRule):
    """A rule that gives the logits of decisions a gradient of its own."""

    name: ClassVar[str]
    asks = frozenset({"maximize"})
    needs_weights = False  # decisions are compared by the sums of their logits

    @property
    def changes(self) -> bool:
        """Whether one of its numbers does."""
        return any(isinstance(getattr(self, f.name), anneal) for f in fields(self))

    def check(self, solver: Solver) -> None:
        """Raises unless every output is an input as well."""
        decision_columns(self, solver.theory)

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the gradient of each decision."""
        rows = (question.correct | question.wrong).nonzero().squeeze(-1)
        columns = torch.tensor(decision_columns(self, solver.theory), device=rows.device)
        found, difference = self._difference(solver, question.select(rows), columns)
        pull = torch.zeros_like(question.logits)
        pull[rows[:, None], columns] = difference.to(pull.dtype)
        status = whole_status(found, rows, question)
        pushed = (status == Status.SAT)[:, None] & (question.signs != 0)
        return Blame(None, pushed, status == Status.UNSAT, status == Status.UNKNOWN, pull)

    @abstractmethod
    def _difference(
        self, solver: Solver, question: Question, columns: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The status of each row, and the gradient of its decisions: (B,) and (B, m)."""

    def __repr__(self) -> str:
        return rule_text(self.name, self)


@final
@dataclass(frozen=True, slots=True, repr=False)
class DecisionRule(DirectRule):
    """Pushes where the answer and the wanted decision differ; see `decision`."""

    name = "decision"

    def _difference(
        self, solver: Solver, question: Question, columns: Tensor
    ) -> tuple[Tensor, Tensor]:
        status, answer = _answer(solver, question)
        return status, _towards_wanted(answer, question)


@final
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PerturbedRule(DirectRule):
    """Pushes where the mean answer under noise and the wanted decision differ; see `perturbed`."""

    sigma: Number = 1.0
    samples: int = 10

    name = "perturbed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", checked_number(self.name, "sigma", self.sigma))
        object.__setattr__(self, "samples", checked_count(self.name, "samples", self.samples))

    def __call__(self, *, sigma: Number = 1.0, samples: int = 10) -> "PerturbedRule":
        """Returns the rule with these parameters."""
        return PerturbedRule(sigma=sigma, samples=samples)

    def _difference(
        self, solver: Solver, question: Question, columns: Tensor
    ) -> tuple[Tensor, Tensor]:
        shape = (self.samples, *question.wanted.shape)
        noise = torch.randn(shape, dtype=torch.float64, device=columns.device)
        noise = noise * value_at(self.sigma, question.progress)
        status, mean = _mean_answer(solver, question, columns, noise)
        return status, _towards_wanted(mean, question)


@final
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class BlackboxRule(DirectRule):
    """Pushes towards the answer for logits that the loss prefers; see `blackbox`."""

    interpolation: Number = 1.0

    name = "blackbox"

    def __post_init__(self) -> None:
        checked = checked_number(self.name, "interpolation", self.interpolation)
        object.__setattr__(self, "interpolation", checked)

    def __call__(self, *, interpolation: Number = 1.0) -> "BlackboxRule":
        """Returns the rule with this parameter."""
        return BlackboxRule(interpolation=interpolation)

    def _difference(
        self, solver: Solver, question: Question, columns: Tensor
    ) -> tuple[Tensor, Tensor]:
        strength = value_at(self.interpolation, question.progress)
        slope = question.gradient.double()
        slope = (slope / slope.abs().mean(-1, keepdim=True)).nan_to_num()  # 0 if it overflowed
        status, answer = _answer(solver, question)
        better, preferred = _mean_answer(solver, question, columns, -strength * slope[None])
        return torch.minimum(status, better), (answer - preferred) / strength


decision = DecisionRule()
"""Pushes where the answer and the wanted decision differ: `backward="decision"`.

For theories whose outputs are inputs as well: paths, matchings, selections. The logits are negated
costs, or scores. The gradient of a decision's logit is the answer minus the wanted decision, -1, 0
or 1, times the row's scale: that of the structured perceptron. It is zero where both agree, and no
sigmoid weighs it, so costs far from zero learn as well as others.

Use a loss that has a gradient at the label, such as `-(layer(-costs) * label).sum(-1).mean()` with
labels of -1 and 1. Inputs that are not outputs get no gradient.

Examples:
    >>> import z3
    >>> from smtlayer import SMTLayer
    >>> a, b, c = z3.Bools("a b c")
    >>> one = Theory(z3.PbEq([(a, 1), (b, 1), (c, 1)], 1), [a, b, c], [a, b, c])
    >>> layer = SMTLayer(one, forward="maxsmt", backward="decision")
    >>> costs = torch.tensor([[2.0, 3.0, 9.0]], requires_grad=True)
    >>> answer = layer(-costs)
    >>> answer.detach()
    tensor([[ 1., -1., -1.]])
    >>> (-(answer * torch.tensor([-1.0, 1.0, -1.0])).sum(-1).mean()).backward()
    >>> costs.grad  # a step of descent makes a more expensive, and b cheaper
    tensor([[-1.,  1., -0.]])

Reference:
    Collins, *Discriminative Training Methods for Hidden Markov Models*, EMNLP 2002.
"""

perturbed = PerturbedRule()
"""Like `decision`, with the mean answer under Gaussian noise: `perturbed(sigma=0.5, samples=8)`.

The gradient is an unbiased estimate of that of the perturbed Fenchel-Young loss. Rows whose answer
is right are pushed as well, until their answer is stable under the noise.

- `sigma`, 1: the standard deviation of the noise, in units of the logits; a number or
  `anneal(...)`.
- `samples`, 10: noisy copies per row. Each costs one repair; all are solved in one batch.

The noise comes from torch's default generator. Use a loss that has a gradient at the label, as for
`decision`.

Reference:
    Berthet et al., *Learning with Differentiable Perturbed Optimizers*, NeurIPS 2020.
"""

blackbox = BlackboxRule()
"""Pushes towards the answer for logits that the loss prefers: `blackbox(interpolation=2)`.

The logits take a step of size lambda against the loss's gradient in the outputs. The gradient is
the answer minus the answer after the step, divided by lambda: differentiation of blackbox solvers.
It uses the values of the loss's gradient, not only their signs, so the loss can be the cost of the
decision itself, `(true_costs * layer(-costs)).sum(-1).mean()`.

- `interpolation`, 1: the mean size of the step over the outputs of a row, in units of the logits; a
  number or `anneal(...)`. The gradient is divided by its mean size in the row first, so the batch
  size and a factor of the loss do not change the step. In the paper's terms, lambda is
  `interpolation` divided by this mean.

Reference:
    Vlastelica et al., *Differentiation of Blackbox Combinatorial Solvers*, ICLR 2020.
"""


def decision_columns(rule: BlameRule, theory: Theory) -> list[int]:
    """The input column of each output column; raises if an output is not an input."""
    places = {
        (symbol.name, symbol.kind, name): symbol.start + i
        for symbol in theory.input_symbols
        for i, name in enumerate(symbol.column_names)
    }
    found = []
    for symbol in theory.output_symbols:
        for name in symbol.column_names:
            if (symbol.name, symbol.kind, name) not in places:
                raise UnsupportedRuleError(
                    f"The rule {rule!r} needs outputs that are decisions: each must be an input as "
                    f"well, in the same form. {name!r} is an output only.",
                    f"Add {symbol.name!r} to the inputs if its logits are scores, or use core.",
                )
            found.append(places[symbol.name, symbol.kind, name])
    return found


def _answer(solver: Solver, question: Question) -> tuple[Tensor, Tensor]:
    """The answer of the forward pass, or the best decision where it has none."""
    outputs, status = question.outputs, torch.ones_like(question.outputs[:, 0])  # SAT
    rows = (outputs == 0).all(-1).nonzero().squeeze(-1)
    if len(rows):
        found = solver.maximize(question.signs[rows], question.weights[rows])
        outputs = outputs.index_copy(0, rows, found.outputs)
        status = status.index_copy(0, rows, found.status)
    return status, outputs


def _mean_answer(
    solver: Solver, question: Question, columns: Tensor, shifts: Tensor
) -> tuple[Tensor, Tensor]:
    """The mean over the best decisions for shifted logits, all solved in one batch.

    Shifts are (S, B, m), added to the logits of the decisions. A row is SAT if all its copies are.
    """
    copies = len(shifts)
    logits = question.logits.double().repeat(copies, 1, 1)  # (S, B, n)
    logits[..., columns] += shifts
    logits = logits.flatten(0, 1)
    given, facts = question.signs.repeat(copies, 1), question.facts.repeat(copies, 1)
    signs = torch.where(facts, given, to_signs(logits, given != 0))
    found = solver.maximize(signs, confidence(logits, signs, "logit", facts))
    outputs = found.outputs.double().reshape(shifts.shape).mean(0)
    return found.status.reshape(shifts.shape[:2]).amin(0), outputs


def _towards_wanted(answer: Tensor, question: Question) -> Tensor:
    """The answer minus the wanted decision, 0 where the loss has no opinion."""
    return torch.where(question.wanted != 0, (answer - question.wanted) / 2, 0)
