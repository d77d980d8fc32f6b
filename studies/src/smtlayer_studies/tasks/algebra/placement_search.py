"""Search."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.nn import SMTLayer
from smtlayer_studies.tasks.algebra.network import OrderedReader, in_windows
from smtlayer_studies.tasks.base import Batch

_MEMORY = 0.99  # of a scout's accuracy, batch by batch
_POOLED = 14  # side of a window as a scout sees it


class Scouts(nn.Module):
    """Small readers, one for each way to place the slots, that train side by side.

    Each sees the image in half its size through one hidden layer. The way whose scout has the best
    accuracy on the training rows, by their labels alone, is the one that the network takes.

    Args:
        network: Whose way is chosen, batch by batch.
        layer: Answers for the scouts' logits.
        hidden: Width of a scout's hidden layer.
    """

    accuracy: Tensor  # (ways,): a running mean

    def __init__(self, network: OrderedReader, layer: SMTLayer, hidden: int = 32) -> None:
        super().__init__()
        self.network = network
        self.layer = layer
        self._slots = network.choices.shape[1]
        ways, pixels = len(network.choices), _POOLED**2
        bits = layer.theory.n_inputs // self._slots
        self.first = nn.Parameter(torch.randn(ways, pixels, hidden) / pixels**0.5)
        self.first_bias = nn.Parameter(torch.zeros(ways, 1, hidden))
        self.last = nn.Parameter(torch.randn(ways, hidden, bits) * 0.3 / hidden**0.5)
        self.last_bias = nn.Parameter(torch.zeros(ways, 1, bits))
        self.register_buffer("accuracy", torch.zeros(ways))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of all scouts together, and the accuracy of the best."""
        ways, rows = len(self.accuracy), len(batch.features)
        outputs = self.layer(self._logits(batch.features))  # (ways * B, m)
        targets = batch.targets.repeat(ways, 1)
        right = (((outputs > 0) == (targets > 0.5)) & (outputs != 0)).all(-1)
        share = right.reshape(ways, rows).float().mean(-1)
        self.accuracy.mul_(_MEMORY).add_(share, alpha=1 - _MEMORY)
        self.network.chosen.copy_(self.accuracy.argmax())
        loss = F.binary_cross_entropy_with_logits(outputs, targets, reduction="sum") / rows
        return loss, share.max()

    def _logits(self, images: Tensor) -> Tensor:
        """What every scout reads: (ways * B, n)."""
        windows = in_windows(images, self.network.windows)  # (B, w, h, h)
        small = F.adaptive_avg_pool2d(windows, _POOLED).flatten(2)  # (B, w, pixels)
        seen = small[:, self.network.choices].movedim(1, 0)  # (ways, B, slots, pixels)
        hidden = torch.baddbmm(self.first_bias, seen.flatten(1, 2), self.first).relu()
        read = torch.baddbmm(self.last_bias, hidden, self.last)  # (ways, B * slots, bits)
        return read.reshape(-1, self._slots * read.shape[-1])
