"""This file holds the rules: how outputs are found going forward, and who is blamed going back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, final

import torch
from torch import Tensor

from smtlayer.nn.softmax import exact_softmax
from smtlayer.solvers import Solution, Solver, Status

Weights = Literal["logit", "softmax"]
LEAST_WEIGHT = 1e-300  # so that overruling an input is never free, not even at a logit of 0
_LEAST_FLOAT = 5e-324


class ForwardRule(Protocol):
    """Finds outputs for a batch of signs; weights are worked out only if a rule asks for them."""

    def __call__(self, solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
        """A solution for each row."""


def satisfy(solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
    """Takes every input at its word; no model if they contradict the theory."""
    return solver.solve(signs)


def repair(solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
    """Overrules the cheapest inputs until a model exists (weighted MaxSMT)."""
    return solver.maximize(signs, weights())


@dataclass(frozen=True, slots=True)
class Question:
    """What a blame rule is asked about a batch, on the device where the solver works."""

    logits: Tensor  # (B, n) float
    signs: Tensor  # (B, n) int8, 0 where an input is not known
    weights: Tensor  # (B, n) float64
    wanted: Tensor  # (B, m) int8, 0 where the loss has no opinion
    correct: Tensor  # (B,) bool: the outputs are as wanted
    wrong: Tensor  # (B,) bool: they are not
    progress: Tensor  # () float64 from 0 to 1: how far training has come


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


@final
@dataclass(frozen=True, slots=True, repr=False)
class CoreRule:
    """Blames the inputs of a minimal unsat core against the wanted outputs; leaves the others."""

    def __call__(self, solver: Solver, question: Question) -> Blame:
        """The inputs to push in each row."""
        rows, signs, weights, wanted = _wrong_rows(question)
        found = solver.core(signs, weights, wanted)
        blamed = torch.zeros_like(question.signs, dtype=torch.bool)
        blamed[rows] = found.inputs
        status = whole_status(found.status, rows, question)
        return Blame(
            (torch.where(blamed, -question.signs, question.signs) > 0).to(question.logits.dtype),
            blamed | (question.correct[:, None] & (question.signs != 0)),
            (status == Status.UNSAT) & ~blamed.any(-1),
            status == Status.UNKNOWN,
        )

    def __repr__(self) -> str:
        return "core"


@final
@dataclass(frozen=True, slots=True, repr=False)
class MaxsmtRule:
    """Blames the inputs that the cheapest repair overrules; holds the others where they are."""

    def __call__(self, solver: Solver, question: Question) -> Blame:
        """The inputs to push in each row."""
        rows, signs, weights, wanted = _wrong_rows(question)
        found = solver.maximize(signs, weights, wanted)
        targets = question.signs.clone()
        targets[rows] = found.inputs
        status = whole_status(found.status, rows, question)
        held = (question.wrong & (status == Status.SAT)) | question.correct
        return Blame(
            targets.clamp(min=0).to(question.logits.dtype),
            (question.signs * held[:, None]).bool(),
            status == Status.UNSAT,
            status == Status.UNKNOWN,
        )

    def __repr__(self) -> str:
        return "maxsmt"


core = CoreRule()
"""The paper's B_core: pulls the inputs of a minimal unsat core across zero."""

maxsmt = MaxsmtRule()
"""The paper's B_max: pulls the inputs that the cheapest repair overrules, and holds the others."""

FORWARD: Mapping[str, ForwardRule] = {"smt": satisfy, "maxsmt": repair}


def confidence(logits: Tensor, signs: Tensor, weights: Weights) -> Tensor:
    """The weight of each input, float64 and above zero.

    Args:
        logits: (B, n).
        signs: (B, n); inputs that are not known (0) take no part in the softmax.
        weights: `"logit"` is the log-odds of an input, |logit|, so that the cheapest repair is the
            most probable one; `"softmax"` is the paper's softmax(|logit|) over the row, see
            `exact_softmax`.
    """
    size = logits.detach().double().abs()
    if weights == "softmax":
        return exact_softmax(size, signs != 0)
    if logits.dtype != torch.float64:
        return size.clamp(min=LEAST_WEIGHT)
    smallest = torch.where(size > 0, size, torch.inf).amin(-1, keepdim=True)
    least = (smallest / 2).clamp(min=_LEAST_FLOAT, max=LEAST_WEIGHT)
    return torch.where(size == 0, least, size)


def _wrong_rows(question: Question) -> tuple[Tensor | slice, Tensor, Tensor, Tensor]:
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
