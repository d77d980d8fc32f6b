"""The autograd Function of the layer, which moves tensors between the passes."""

from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from smtlayer.errors import DivergedError
from smtlayer.nn.passes import Plan, backward_pass, forward_pass, is_bad, progress_on
from smtlayer.nn.validate import refuse_transformed
from smtlayer.solvers import Status
from smtlayer.theory import Theory, to_signs

if TYPE_CHECKING:
    from smtlayer.nn.graph import CapturedPasses


class SolveFunction(torch.autograd.Function):
    """Logits (B, n) to outputs (B, m), and the gradient of outputs to the gradient of logits."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        known: Tensor | None,
        given: Tensor | None,
        plan: Plan,
        captured: "CapturedPasses | None",
    ) -> Tensor:
        """Signs, then the forward rule."""
        ctx.plan, ctx.captured = plan, captured
        if captured is not None:
            outputs, bad = captured.forward(logits, known, given)
            if bad:
                refuse_bad(logits, known, plan.solver.theory, given)
            ctx.save_for_backward(logits, known, given, outputs, None)
            return outputs
        # A solver on the host gets a copy of the batch, made once.
        device = logits.device
        work = torch.device("cpu") if plan.solver.on_host else device
        logits, known = logits.to(work), None if known is None else known.to(work)
        given = None if given is None else given.to(work)
        refuse_bad(logits, known, plan.solver.theory, given)
        signs = to_signs(logits, known)
        solution = forward_pass(plan, logits, signs, given)
        unknown = solution.status == Status.UNKNOWN
        ctx.save_for_backward(logits, signs, given, solution.outputs, unknown)
        return solution.outputs.to(logits.dtype).to(device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        """Wanted outputs, then the blame rule, then the surrogate gradient."""
        refuse_transformed(grad)
        plan = ctx.plan.resolved()
        plan.counter.count()
        if ctx.captured is not None:
            logits, known, given, outputs, _ = ctx.saved_tensors
            pull = ctx.captured.backward(plan, logits, known, given, outputs, grad)
            return pull, None, None, None, None
        logits, signs, given, outputs, unknown = ctx.saved_tensors
        work = signs.device
        progress = progress_on(work, plan.progress)
        pull = backward_pass(plan, logits, signs, outputs, unknown, grad.to(work), progress, given)
        return pull.to(grad.device), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> NoReturn:
        """Raises: there is no forward-mode derivative."""
        raise RuntimeError(
            "SMTLayer has no forward-mode derivative: its outputs are piecewise constant, and only "
            "a loss determines in which direction to push. Use loss.backward() or "
            "torch.autograd.grad."
        )


def refuse_bad(
    logits: Tensor, known: Tensor | None, theory: Theory, given: Tensor | None = None
) -> None:
    """Raises if a known logit is NaN, or infinite and not a fact."""
    if logits.sum().isfinite():
        return  # then every logit is; checking each takes longer
    bad = is_bad(logits, known, given)
    if bad.any():
        row, column = bad.nonzero()[0].tolist()
        fact = "" if logits[row, column].isnan() else "; only a fact (given) may be infinite"
        raise DivergedError(
            f"SMTLayer expects finite logits. Row {row}, column {column} "
            f"({theory.input_names[column]}) is {logits[row, column].item()}. "
            f"Look for a diverging loss, or clip gradients{fact}."
        )
