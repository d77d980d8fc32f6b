"""This file holds the rules: how outputs are found going forward, and who is blamed going back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from smtlayer.solvers import Solution, Solver, Status

Weights = Literal["logit", "softmax"]
_LEAST_WEIGHT = 1e-300  # so that overruling an input is never free, not even at a logit of 0


class ForwardRule(Protocol):
    """Finds outputs for a batch of signs; weights are worked out only if a rule asks for them."""

    def __call__(
        self, solver: Solver, signs: Tensor, weights: Callable[[], Tensor]
    ) -> Solution:
        """A solution for each row."""


def satisfy(solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
    """Takes every input at its word; no model if they contradict the theory."""
    return solver.solve(signs)


def repair(solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
    """Overrules the cheapest inputs until a model exists (weighted MaxSMT)."""
    return solver.maximize(signs, weights())


@dataclass(frozen=True, slots=True)
class Question:
    """What a blame rule is asked about a batch."""

    logits: Tensor  # (B, n) float
    signs: Tensor  # (B, n) int8, 0 where an input is not known
    weights: Tensor  # (B, n) float64
    wanted: Tensor  # (B, m) int8, 0 where the loss has no opinion
    settled: Tensor  # (B,) bool: the wanted outputs are what the row has
    asked: Tensor  # (B,) bool: they are not


@dataclass(frozen=True, slots=True)
class Blame:
    """Which inputs are pushed, and where to."""

    targets: Tensor  # (B, n) float, the probability of being true to push towards
    pushed: Tensor  # (B, n) bool
    contradicted: Tensor  # (B,) bool: no input at all allows the wanted outputs
    unknown: Tensor  # (B,) bool: the solver gave up


class BlameRule(Protocol):
    """Finds the inputs to push, given the outputs that the loss wants."""

    def __call__(self, solver: Solver, question: Question) -> Blame:
        """The inputs to push in each row."""


def blame_core(solver: Solver, question: Question) -> Blame:
    """Blames the inputs of a minimal unsat core against the wanted outputs; leaves the others."""
    rows = question.asked.nonzero().squeeze(-1)
    core = solver.core(question.signs[rows], question.weights[rows], question.wanted[rows])
    blamed = _spread(core.inputs, rows, question.signs)
    unsat = _spread(core.status == Status.UNSAT, rows, question.asked)
    return Blame(
        (torch.where(blamed, -question.signs, question.signs) > 0).to(question.logits.dtype),
        blamed | _kept(question),
        unsat & ~blamed.any(-1),
        _spread(core.status == Status.UNKNOWN, rows, question.asked),
    )


def blame_repair(solver: Solver, question: Question) -> Blame:
    """Blames the inputs that the cheapest repair overrules; holds the others where they are."""
    rows = question.asked.nonzero().squeeze(-1)
    signs = question.signs[rows]
    solution = solver.maximize(signs, question.weights[rows], question.wanted[rows])
    blamed = _spread(solution.inputs * signs < 0, rows, question.signs)
    repaired = _spread(solution.status == Status.SAT, rows, question.asked)
    return Blame(
        (torch.where(blamed, -question.signs, question.signs) > 0).to(question.logits.dtype),
        (repaired[:, None] & (question.signs != 0)) | _kept(question),
        _spread(solution.status == Status.UNSAT, rows, question.asked),
        _spread(solution.status == Status.UNKNOWN, rows, question.asked),
    )


FORWARD: Mapping[str, ForwardRule] = {"smt": satisfy, "maxsmt": repair}
BACKWARD: Mapping[str, BlameRule] = {"core": blame_core, "maxsmt": blame_repair}


def confidence(logits: Tensor, signs: Tensor, weights: Weights) -> Tensor:
    """The weight of each input, float64 and above zero.

    Args:
        logits: (B, n).
        signs: (B, n); inputs that are not known (0) take no part in the softmax.
        weights: `"logit"` is the log-odds of an input, |logit|, so that the cheapest repair is the
            most probable one; `"softmax"` is the paper's softmax(|logit|) over the row.
    """
    size = logits.detach().double().abs()
    if weights == "softmax":
        size = torch.where(signs == 0, -torch.inf, size).softmax(-1).nan_to_num()
    return size.clamp(min=_LEAST_WEIGHT)


def _kept(question: Question) -> Tensor:
    return question.settled[:, None] & (question.signs != 0)


def _spread(values: Tensor, rows: Tensor, like: Tensor) -> Tensor:
    """Answers about some rows as answers about all, False elsewhere."""
    whole = torch.zeros_like(like, dtype=torch.bool)
    whole[rows] = values
    return whole
