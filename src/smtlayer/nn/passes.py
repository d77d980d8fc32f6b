"""The forward and the backward pass of the layer over a batch."""

from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError, SolverUnknownError
from smtlayer.nn.gradient import (
    Scale,
    row_scale,
    scaled_gradient,
    surrogate_gradient,
    wanted_outputs,
)
from smtlayer.nn.progress import Progress
from smtlayer.nn.rules.base import Blame, BlameRule, ForwardRule, Question, can_be_captured
from smtlayer.nn.stats import Stats
from smtlayer.nn.weights import Weights, confidence
from smtlayer.solvers import Solution, Solver, Status


@dataclass(frozen=True, slots=True)
class Plan:
    """Solver, rules and options of one call of a layer."""

    solver: Solver
    forward: ForwardRule
    backward: BlameRule
    weights: Weights
    scale: Scale
    raise_unknown: bool
    stats: Stats
    progress: float  # from 0 to 1: the share of training that was done in the forward pass
    counter: Progress

    def resolved(self) -> "Plan":
        """This plan with its composite blame rule resolved to a single rule."""
        rule = self.backward.resolve(self.progress)
        return self if rule is self.backward else replace(self, backward=rule)


def forward_pass(
    plan: Plan, logits: Tensor, signs: Tensor, given: Tensor | None = None
) -> Solution:
    """Answers a batch by the forward rule and counts its rows; `given` marks facts."""
    # Sums of signs must be exact, so autocast is off.
    with plan.stats.clock(plan.solver), torch.autocast(signs.device.type, enabled=False):
        solution = plan.forward.answer(
            plan.solver, signs, lambda: confidence(logits, signs, plan.weights, given)
        )
    if not isinstance(solution, Solution):
        raise _wrong_type(plan.forward, Solution, solution)
    status = solution.status
    unknown, sat = status == Status.UNKNOWN, status == Status.SAT
    plan.stats.add({
        "sat": sat, "unsat": status == Status.UNSAT, "unknown": unknown,
        "unproved": sat & ~solution.proved,
    })  # fmt: skip
    if plan.raise_unknown and not can_be_captured(plan.forward, plan.solver):
        refuse_unknown(plan.solver, unknown)
    return solution


def backward_pass(
    plan: Plan,
    logits: Tensor,
    signs: Tensor,
    outputs: Tensor,
    unknown: Tensor,
    grad: Tensor,
    progress: Tensor,
    given: Tensor | None = None,
) -> Tensor:
    """Computes the gradient of the logits and counts the rows.

    The plan's blame rule is a single one. Signs (B, n), outputs (B, m) and the rows on which the
    solver gave up (B,) are those of the forward pass; progress is () float64. Facts, where `given`
    (B, n) is True, get a gradient of zero, whatever the rule pushes.
    """
    real = torch.promote_types(logits.dtype, torch.float32)
    wanted = wanted_outputs(grad)
    opinion = wanted != 0
    no_gradient = ~opinion.any(-1)
    idle = no_gradient | unknown
    wrong = (opinion & (wanted != outputs)).any(-1) & ~idle
    correct = ~(wrong | idle)
    # Both kinds of weights have the order of |logit|.
    kind: Weights = plan.weights if plan.backward.needs_weights else "logit"
    weights = confidence(logits, signs, kind, given)
    slope = grad.to(real)
    question = Question(
        logits.to(real), signs, weights, wanted, correct, wrong, progress, outputs, slope
    )
    with plan.stats.clock(plan.solver), torch.autocast(signs.device.type, enabled=False):
        blame = plan.backward.blame(plan.solver, question)
    _check_blame(plan.backward, blame, signs)
    plan.stats.add({
        "correct": correct, "blamed": wrong, "without_gradient": no_gradient,
        "contradicted": blame.contradicted, "undecided": blame.unknown,
    })  # fmt: skip
    if plan.raise_unknown and not can_be_captured(plan.backward, plan.solver):
        refuse_unknown(plan.solver, blame.unknown)
    scale = row_scale(slope, signs.shape[-1], plan.scale)
    pushed = blame.pushed if given is None else blame.pushed & ~given
    if blame.pull is not None:
        return scaled_gradient(blame.pull, pushed, scale).to(logits.dtype)
    targets = cast("Tensor", blame.targets)
    return surrogate_gradient(question.logits, targets, pushed, scale).to(logits.dtype)


def progress_on(device: torch.device, progress: float) -> Tensor:
    """The share of training that is done as a tensor, without synchronising a GPU."""
    return torch.full((), progress, dtype=torch.float64, device=device)


def is_bad(logits: Tensor, known: Tensor | None, given: Tensor | None = None) -> Tensor:
    """Which of the known logits are NaN, or infinite and not a fact: (B, n) bool."""
    bad = ~logits.isfinite()
    if given is None:
        return bad if known is None else bad & known
    return torch.where(given, logits.isnan(), bad if known is None else bad & known)


def _check_blame(rule: BlameRule, blame: object, signs: Tensor) -> None:
    """Raises unless a rule, which may be a user's, returned a complete `Blame`."""
    if not isinstance(blame, Blame):
        raise _wrong_type(rule, Blame, blame)
    for name in ("targets" if blame.pull is None else "pull", "pushed", "contradicted", "unknown"):
        part = getattr(blame, name)
        shape = signs.shape[:1] if name in ("contradicted", "unknown") else signs.shape
        if not isinstance(part, Tensor) or part.shape != shape:
            found = tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__
            raise ArgumentError(
                f"SMTLayer expects {name} of shape {tuple(shape)} from the rule {rule!r}. "
                f"Got {found}."
            )


def _wrong_type(rule: ForwardRule | BlameRule, expected: type, found: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"SMTLayer expects the rule {rule!r} to return a {expected.__name__}. "
        f"Got {type(found).__name__}."
    )


def refuse_unknown(solver: Solver, unknown: Tensor) -> None:
    """Raises if the solver gave up on a row; waits for a GPU."""
    if not unknown.any():
        return
    limit, error = solver.limit_ms, solver.last_error
    spent = f" after {limit} ms. Raise timeout_ms" if limit else ". See that its solver runs"
    spent = f": {error}" if error else spent
    raise SolverUnknownError(
        f"{solver.name} gave up on {int(unknown.sum())} of {len(unknown)} rows (first: "
        f'row {int(unknown.nonzero()[0])}){spent}, or pass on_unknown="zero".'
    )
