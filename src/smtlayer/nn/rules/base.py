"""Interfaces of the rules: how outputs are found, and which inputs are blamed for wrong ones."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from smtlayer.errors import UnsupportedRuleError
from smtlayer.solvers import Solution, Solver, Status
from smtlayer.solvers.base import QUESTIONS, WEIGHING_BACKENDS, RanksModels, WeighsModels

_WITHOUT_SEARCH = QUESTIONS - {"maximize"}


class ForwardRule(ABC):
    """Finds the outputs of a batch. To write one, derive from this class and define `answer`."""

    __slots__ = ()

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph may hold `answer`; see `BlameRule.capturable`.

        No row may then be UNKNOWN.
        """
        return False

    @property
    def asks(self) -> frozenset[str]:
        """The questions it may ask; see `BlameRule.asks`."""
        return _WITHOUT_SEARCH

    @abstractmethod
    def answer(self, solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
        """Returns a solution for each row.

        Args:
            solver: The compiled theory.
            signs: (B, n) int8, 0 where an input is not known.
            weights: Computes the weight of each input, (B, n) float64, infinite for a fact; call it
                only if needed.
        """


@dataclass(frozen=True, slots=True)
class Question:
    """The batch that a blame rule gets, on the device where the solver works.

    It has $B$ rows, $n$ input columns and $m$ output columns. A row is `correct`, `wrong`, or
    neither: the loss has no gradient in it, or the solver gave up on it in the forward pass.
    """

    logits: Tensor
    """(B, n), float32 or wider: the logits of the forward pass."""
    signs: Tensor
    """(B, n), int8: their signs, 0 where an input is not known."""
    weights: Tensor
    """(B, n), float64: the cost of overruling an input, by the layer's option `weights`.

    Infinite for a fact. The layer never pushes facts.
    """
    wanted: Tensor
    """(B, m), int8: the signs of the outputs that would lower the loss, 0 where its gradient is."""
    correct: Tensor
    """(B,), bool: the outputs are as wanted."""
    wrong: Tensor
    """(B,), bool: an output is not as wanted, or the row had no model."""
    progress: Tensor
    """(), float64: the share of training that is done, from 0 to 1; see `SMTLayer.progress`."""
    outputs: Tensor
    """(B, m), int8: the answer of the forward pass, zeros where it has none."""
    gradient: Tensor
    """(B, m), float32 or wider: the gradient of the loss in the outputs."""

    @property
    def facts(self) -> Tensor:
        """The facts, which no rule may overrule: (B, n) bool."""
        return (self.weights == torch.inf) & (self.signs != 0)

    def select(self, rows: Tensor) -> "Question":
        """Returns the question about some rows, given by their index."""
        parts = (getattr(self, field.name) for field in fields(self))
        return Question(*(part.index_select(0, rows) if part.ndim else part for part in parts))


@dataclass(frozen=True, slots=True)
class Blame:
    """The inputs that a blame rule pushes, and the values it pushes them towards.

    A rule gives either `targets`, towards which cross-entropy pushes, or the gradient itself, as
    `pull`.
    """

    targets: Tensor | None
    """(B, n), float: the probability of being true towards which an input is pushed."""
    pushed: Tensor
    """(B, n), bool: the inputs that get a gradient."""
    contradicted: Tensor
    """(B,), bool: no values of the inputs allow the wanted outputs, given the facts.

    `layer.stats` counts these rows.
    """
    unknown: Tensor
    """(B,), bool: the solver gave up on the row.

    `layer.stats` counts these rows; with `on_unknown="raise"` the layer raises an error.
    """
    pull: Tensor | None = None
    """(B, n), float: the gradient of the pushed logits, before it is scaled by the row's."""


class BlameRule(ABC):
    """Finds the inputs to push, given the outputs that the loss wants.

    To write a rule, derive from this class and define `blame`; override the properties, as class
    attributes or otherwise, where their defaults do not fit. `mix` and `schedule` take such a rule
    as any other.

    Examples:
        >>> from dataclasses import replace
        >>> from smtlayer.nn import core
        >>> class ByColumn(BlameRule):
        ...     capturable = True
        ...
        ...     def blame(self, solver, question):
        ...         equal = torch.where(question.facts, torch.inf, 1.0)
        ...         return core.blame(solver, replace(question, weights=equal))
    """

    __slots__ = ()

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph may hold `blame`, on a solver that can capture what it `asks`.

        It must then launch the same kernels whatever the values, so it may not read values on the
        host (`item`, `nonzero`, `if tensor:`) nor call `Solver.maximize`. Python code in `blame`
        runs while the graph is captured and not when it is replayed.
        """
        return False

    @property
    def asks(self) -> frozenset[str]:
        """The questions it may ask the solver, by name; by default all but `maximize`.

        A CUDA graph holds the rule only on a solver that can capture all of them.
        """
        return _WITHOUT_SEARCH

    @property
    def needs_models(self) -> bool:
        """Whether it needs a solver that can weigh all models; the layer refuses others."""
        return False

    @property
    def needs_weights(self) -> bool:
        """Whether it depends on the values of `Question.weights`, not just on their order.

        If False, the weights are |logit|, also for `weights="softmax"`, which takes longer.
        """
        return True

    @property
    def changes(self) -> bool:
        """Whether it depends on progress; the layer warns if a training loop never sets it."""
        return False

    @property
    def steps(self) -> int | None:
        """The backward passes of the whole training, if progress is to be counted by them."""
        return None

    @property
    def leaves(self) -> Sequence["BlameRule"]:
        """The rules it is composed of, at any depth; a single rule has itself."""
        return (self,)

    def choose(self, progress: float) -> "BlameRule":
        """Returns the rule to use for one batch at this progress; a single rule returns itself."""
        return self

    def resolve(self, progress: float) -> "BlameRule":
        """Returns the single rule to use for one batch at this progress."""
        rule, chosen = self, self.choose(progress)
        while chosen is not rule:
            rule, chosen = chosen, chosen.choose(progress)
        return rule

    def check(self, solver: Solver) -> None:
        """Raises if it cannot be used with a solver or its theory; the layer calls it first."""
        if self.needs_models:
            with_models(solver, self)

    @abstractmethod
    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""


def can_be_captured(rule: ForwardRule | BlameRule, solver: Solver) -> bool:
    """Whether a CUDA graph may hold a rule on this solver; no row is then UNKNOWN."""
    return rule.capturable and rule.asks <= solver.capturable


def wrong_rows(question: Question) -> tuple[Tensor | slice, Tensor, Tensor, Tensor]:
    """The wrong rows, with their signs, weights and wanted outputs.

    In a CUDA graph, whose shapes are fixed, all rows, with zeros for those that are not wrong.
    """
    parts = (question.signs, question.weights, question.wanted)
    if question.wrong.is_cuda and torch.cuda.is_current_stream_capturing():
        wrong = question.wrong[:, None]
        return slice(None), question.signs * wrong, question.weights, question.wanted * wrong
    rows = question.wrong.nonzero().squeeze(-1)
    if len(rows) == len(question.wrong):
        return slice(None), *parts
    signs, weights, wanted = (part.index_select(0, rows) for part in parts)
    return rows, signs, weights, wanted


def whole_status(status: Tensor, rows: Tensor | slice, question: Question) -> Tensor:
    """The status of these rows, and SAT for all others."""
    whole = torch.full_like(question.wrong, Status.SAT, dtype=torch.int8)
    whole[rows] = status
    return whole


def with_models(solver: Solver, rule: BlameRule) -> WeighsModels:
    """The solver, for a rule that needs one that weighs all models; raises if it does not."""
    if isinstance(solver, WeighsModels):
        return solver
    raise _unsupported(solver, rule, "weighs all models")


def with_ranks(solver: Solver, rule: BlameRule) -> RanksModels:
    """The solver, for a rule that needs one that ranks models; raises if it does not."""
    if isinstance(solver, RanksModels):
        return solver
    raise _unsupported(solver, rule, "ranks models")


def _unsupported(solver: Solver, rule: BlameRule, what: str) -> UnsupportedRuleError:
    return UnsupportedRuleError(
        f"The rule {rule!r} needs a backend that {what}, {WEIGHING_BACKENDS}; this "
        f"theory is answered by {solver.name}.",
        "Use sample, or core; or Table(), if it has few models; or Circuit(), if it is finite.",
    )
