r"""The gradient of the layer in closed form.

The layer's outputs are piecewise constant in its logits $z$, so their derivative is useless. The
surrogate starts from the gradient $g$ of the loss in the outputs $y$: the loss would be lower for

$$\hat y = \mathrm{sign}(\mathrm{sign}(y) - 2\,\mathrm{sign}(g)) = -\mathrm{sign}(g),$$

free where $g = 0$. A blame rule compares the inputs with $\hat y$ and gives each pushed input a
target $t_i$. Pushing is the gradient of binary cross-entropy between logit and target,

$$\frac{\partial}{\partial z_i} \mathrm{BCE}(\sigma(z_i), t_i) = \sigma(z_i) - t_i,$$

times the row's scale. Logits count with their own signs throughout, as in the paper's algorithms,
also where the forward rule `maxsmt` overruled them: a row that was repaired to the wanted outputs
counts as correct, and is pushed further in its own direction.

The scale: with `"gradient"` the row's $\sum_j |g_j| / n$, so that twice the loss is
twice the gradient and a row of weight zero counts for nothing; with `"batch"` the paper's
$1/(B n)$, whatever the loss.
"""

from typing import Literal

import torch
from torch import Tensor

Scale = Literal["gradient", "batch"]


def wanted_outputs(grad: Tensor) -> Tensor:
    """The outputs that would lower the loss, whatever they were; 0 where it has no opinion."""
    return -grad.nan_to_num().sign().to(torch.int8)


def row_scale(grad: Tensor, n_inputs: int, scale: Scale) -> Tensor:
    """How strongly each row's inputs are pushed: (B, 1)."""
    if scale == "gradient":
        return grad.abs().sum(-1, keepdim=True) / n_inputs
    return torch.full_like(grad[:, :1], 1 / max(1, len(grad) * n_inputs))


def surrogate_gradient(logits: Tensor, targets: Tensor, pushed: Tensor, scale: Tensor) -> Tensor:
    """Cross-entropy gradient that pulls pushed inputs to their targets, 0 elsewhere.

    All are (B, n) but the scale, (B, 1); targets are probabilities of being true.
    """
    return scaled_gradient(torch.sigmoid(logits) - targets, pushed, scale)


def scaled_gradient(pull: Tensor, pushed: Tensor, scale: Tensor) -> Tensor:
    """The gradient of pushed inputs that a rule determined itself, 0 elsewhere."""
    # scaled last, so that a scale of NaN shows even where nothing is pushed
    return torch.where(pushed, pull, 0) * scale
