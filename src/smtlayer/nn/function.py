"""This file holds the only autograd Function; it moves tensors and decides nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from smtlayer.errors import SolverUnknownError
from smtlayer.nn.gradient import Scale, row_scale, surrogate_gradient, wanted_outputs
from smtlayer.nn.rules import BlameRule, ForwardRule, Question, Weights, confidence
from smtlayer.nn.stats import Stats
from smtlayer.solvers import Solution, Solver, Status
from smtlayer.theory import to_signs


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

    def answer(self, logits: Tensor, signs: Tensor) -> Solution:
        """The forward pass, counted."""
        with self.at_work(signs.device):
            solution = self.forward(
                self.solver, signs, lambda: confidence(logits, signs, self.weights)
            )
        status = solution.status
        self.stats.add({s.name.lower(): status == s for s in Status})
        self.check_known(status == Status.UNKNOWN)
        return solution

    @contextmanager
    def at_work(self, device: torch.device) -> Iterator[None]:
        """Times the solver, and keeps autocast out of it: its sums of signs must be exact."""
        with self.stats.clock(), torch.autocast(device.type, enabled=False):
            yield

    def check_known(self, unknown: Tensor) -> None:
        """Raises if the solver gave up on a row and the user wants to hear of it."""
        if not self.raise_unknown or self.solver.limit_ms is None or not unknown.any():
            return
        raise SolverUnknownError(
            f"{self.solver.name} gave up on {int(unknown.sum())} of {len(unknown)} rows (first: row "
            f"{int(unknown.nonzero()[0])}) after {self.solver.limit_ms} ms. "
            f'Raise timeout_ms, or pass on_unknown="zero".'
        )


class SolveFunction(torch.autograd.Function):
    """Logits (B, n) to outputs (B, m), and the gradient of outputs to the gradient of logits."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, known: Tensor | None, plan: Plan) -> Tensor:
        """Signs, then the forward rule."""
        signs = to_signs(logits, known)
        solution = plan.answer(logits, signs)
        outputs = solution.outputs.to(logits.dtype)
        ctx.plan = plan
        ctx.save_for_backward(logits, signs, outputs, solution.status)
        return outputs

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """Wanted outputs, then the blame rule, then the surrogate gradient."""
        logits, signs, outputs, status = ctx.saved_tensors
        plan: Plan = ctx.plan
        real = torch.promote_types(logits.dtype, torch.float32)
        wanted = wanted_outputs(outputs, grad)
        silent = (wanted == 0).all(-1)
        agreed = ((wanted == outputs) | (wanted == 0)).all(-1) & ~silent
        answered = status != Status.UNKNOWN
        settled, asked = agreed & answered, ~agreed & ~silent & answered
        weights = confidence(logits, signs, plan.weights)
        question = Question(logits.to(real), signs, weights, wanted, settled, asked)
        with plan.at_work(signs.device):
            blame = plan.backward(plan.solver, question)
        plan.stats.add({
            "settled": settled, "asked": asked, "silent": silent,
            "contradicted": blame.contradicted, "undecided": blame.unknown,
        })  # fmt: skip
        plan.check_known(blame.unknown)
        scale = row_scale(grad.to(real), signs.shape[-1], plan.scale)
        pull = surrogate_gradient(question.logits, blame.targets, blame.pushed, scale)
        return pull.to(logits.dtype), None, None
