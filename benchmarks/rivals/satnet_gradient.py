"""SATNet with the true gradient of its inputs, and how far that of its release is from it.

SATNet solves for vectors. An input with probability z is the vector (-cos πz, ± sin πz, 0, …), with
a random sign. Release 0.1.2 differentiates the second entry as ± π² |cos πz| in place of ± π cos πz
(`mix_backward` in `src/satnet_cpu.cpp`), so the network below gets another gradient. That of the
clauses is right.

    python benchmarks/rivals/satnet_gradient.py
"""

from typing import Any

import torch
from torch import Tensor, nn

from build_satnet import same_start


class TrueGradient(torch.autograd.Function):
    """SATNet's function with the derivative of its input vectors."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        from satnet.models import MixingFunc

        found: Tensor = MixingFunc.forward(ctx, *given)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from satnet.models import MixingFunc

        clauses, _, *rest = MixingFunc.backward(ctx, *gradients)
        slope = torch.pi * torch.einsum("nm,bcm->cbn", ctx.S, ctx.Phi[:, :2])  # of both entries
        angle, sign = torch.pi * ctx.z, ctx.V[..., 1].sign()
        inputs = slope[0] * angle.sin() + slope[1] * angle.cos() * sign
        return clauses, inputs * ctx.is_input, *rest


def complete(layer: nn.Module, values: Tensor, known: Tensor) -> Tensor:
    """What a `satnet.SATNet` gives, with the true gradient of its inputs.

    Shape:
        - values: $(B, n)$ probabilities; known: $(B, n)$ int32, 1 for inputs; output: $(B, n)$.
    """
    hidden = values.new_zeros(len(values), layer.aux)  # type: ignore[arg-type]
    truth = torch.ones_like(values[:, :1])
    every = torch.cat([truth, values, hidden], -1)
    is_input = torch.cat([truth, known, hidden], -1).int()
    found: Tensor = TrueGradient.apply(
        layer.S, every, is_input, layer.max_iter, layer.eps, layer.prox_lam
    )
    return found[:, 1 : 1 + values.shape[1]]


def cosines(step: float = 1e-2) -> dict[str, float]:
    """Cosines of gradients of the inputs with central differences, for a small random layer."""
    import satnet

    torch.manual_seed(1)
    layer = satnet.SATNet(12, 16, 8, max_iter=2000, eps=1e-9, prox_lam=1e-4)
    values, weights = torch.rand(6, 12), torch.rand(6, 4)
    known = (torch.arange(12) < 8).int().expand(6, 12).contiguous()

    def loss(at: Tensor, *, corrected: bool = False) -> Tensor:
        with same_start():
            found = complete(layer, at, known) if corrected else layer(at, known)
        return (found[:, 8:] * weights).sum(-1)  # (6,): rows are independent

    moved = step * torch.eye(12)[:8]
    with torch.no_grad():
        columns = [(loss(values + by) - loss(values - by)) / (2 * step) for by in moved]
    expected = torch.stack(columns, -1).flatten()
    found = {}
    for name, corrected in (("release", False), ("corrected", True)):
        at = values.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(at, corrected=corrected).sum(), at)
        found[name] = float(torch.cosine_similarity(gradient[:, :8].flatten(), expected, 0))
    return found


if __name__ == "__main__":
    for name, cosine in cosines().items():
        print(f"{name}: cosine with finite differences {cosine:.4f}")
