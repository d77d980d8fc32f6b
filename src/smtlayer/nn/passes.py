"""This file holds the two passes of the layer: what happens to a batch going forward and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smtlayer.errors import SolverUnknownError
from smtlayer.nn.compose import choose_leaf
from smtlayer.nn.gradient import Scale, row_scale, surrogate_gradient, wanted_outputs
from smtlayer.nn.posterior import MarginalRule, SampleRule
from smtlayer.nn.rules import (
    Blame,
    BlameRule,
    CoreRule,
    ForwardRule,
    Question,
    Weights,
    confidence,
)
from smtlayer.nn.stats import Stats
from smtlayer.solvers import Solution, Solver, Status


@dataclass(frozen=True, slots=True)
class Plan:
    """All that decides how one call of a layer answers."""

    solver: Solver
    forward: ForwardRule
    backward: BlameRule
    weights: Weights
    scale: Scale
    raise_unknown: bool
    stats: Stats
    progress: float  # from 0 to 1: how far training has come

    def place(self, device: torch.device) -> torch.device:
        """Where a batch that is on a device is worked on.

        For a solver of the host that is the host: a batch then goes there and back once in a pass,
        and not each of its parts.
        """
        return torch.device("cpu") if getattr(self.solver, "on_host", False) else device

    def chosen(self) -> "Plan":
        """The same with the blame rule that its own comes down to, this time."""
        leaf = choose_leaf(self.backward, self.progress)
        return self if leaf is self.backward else replace(self, backward=leaf)


def forward_pass(plan: Plan, logits: Tensor, signs: Tensor) -> Solution:
    """The forward rule's answer, counted."""
    with _at_work(plan, signs.device):
        solution = plan.forward(plan.solver, signs, lambda: confidence(logits, signs, plan.weights))
    masks = {status.name.lower(): solution.status == status for status in Status}
    plan.stats.add(masks | {"unproved": masks["sat"] & ~solution.proved})
    _check_known(plan, solution.status == Status.UNKNOWN)
    return solution


def backward_pass(
    plan: Plan,
    logits: Tensor,
    signs: Tensor,
    outputs: Tensor,
    unknown: Tensor,
    grad: Tensor,
    progress: Tensor,
) -> Tensor:
    """Wanted outputs, then the blame rule, then the surrogate gradient, counted.

    Args:
        plan: Solver and rules.
        logits: (B, n).
        signs: (B, n) int8, as they went forward.
        outputs: (B, m) int8, as they came out.
        unknown: Rows on which the solver gave up going forward, (B,) bool.
        grad: The gradient of the loss in the outputs, (B, m).
        progress: How far training has come, () float64.
    """
    real = torch.promote_types(logits.dtype, torch.float32)
    wanted = wanted_outputs(grad)
    opinion = wanted != 0
    no_gradient = ~opinion.any(-1)
    idle = no_gradient | unknown
    wrong = (opinion & (wanted != outputs)).any(-1) & ~idle
    correct = ~(wrong | idle)
    # A core depends on the order of the weights alone, which is that of |logit| in either case, and
    # the rules that weigh models on logits: neither needs the softmax.
    plain = isinstance(plan.backward, CoreRule | SampleRule | MarginalRule)
    weights = confidence(logits, signs, "logit" if plain else plan.weights)
    question = Question(logits.to(real), signs, weights, wanted, correct, wrong, progress)
    with _at_work(plan, signs.device):
        blame = plan.backward(plan.solver, question)
    _check_blame(plan.backward, blame, signs)
    plan.stats.add({
        "correct": correct, "blamed": wrong, "without_gradient": no_gradient,
        "contradicted": blame.contradicted, "undecided": blame.unknown,
    })  # fmt: skip
    _check_known(plan, blame.unknown)
    scale = row_scale(grad.to(real), signs.shape[-1], plan.scale)
    pull = surrogate_gradient(question.logits, blame.targets, blame.pushed, scale)
    return pull.to(logits.dtype)


def progress_on(device: torch.device, progress: float) -> Tensor:
    """How far training has come, where the rules can use it; a GPU need not wait for it."""
    return torch.full((), progress, dtype=torch.float64, device=device)


def is_bad(logits: Tensor, known: Tensor | None) -> Tensor:
    """Which of the logits that count are NaN or infinite: (B, n) bool."""
    bad = ~logits.isfinite()
    return bad if known is None else bad & known


@contextmanager
def _at_work(plan: Plan, device: torch.device) -> Iterator[None]:
    """Times the solver, and keeps autocast out of it: its sums of signs must be exact."""
    before = plan.solver.cache_hits
    with plan.stats.clock(), torch.autocast(device.type, enabled=False):
        yield
    plan.stats.add_hits(plan.solver.cache_hits - before)


def _check_blame(rule: BlameRule, blame: object, signs: Tensor) -> None:
    """Raises unless a rule, which may be a user's own, says what a rule has to say."""
    if not isinstance(blame, Blame):
        raise TypeError(
            f"SMTLayer expects the rule {rule!r} to return a Blame. Got {type(blame).__name__}."
        )
    rows = signs.shape[:1]
    for name, shape in (
        ("targets", signs.shape), ("pushed", signs.shape), ("contradicted", rows), ("unknown", rows)
    ):  # fmt: skip
        part = getattr(blame, name)
        if not isinstance(part, Tensor) or part.shape != shape:
            came = tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__
            raise ValueError(
                f"SMTLayer expects {name} of shape {tuple(shape)} from the rule {rule!r}. "
                f"Got {came}."
            )


def _check_known(plan: Plan, unknown: Tensor) -> None:
    """Raises if the solver gave up on a row and the user wants to hear of it."""
    if not plan.raise_unknown or plan.solver.capturable or not unknown.any():
        return
    limit, trouble = plan.solver.limit_ms, getattr(plan.solver, "trouble", "")
    spent = f" after {limit} ms. Raise timeout_ms" if limit else ". See that its solver runs"
    spent = f": {trouble}" if trouble else spent
    raise SolverUnknownError(
        f"{plan.solver.name} gave up on {int(unknown.sum())} of {len(unknown)} rows (first: "
        f'row {int(unknown.nonzero()[0])}){spent}, or pass on_unknown="zero".'
    )
