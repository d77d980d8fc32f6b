"""Placement search: finds out which windows of a wide image hold the symbols to read."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.nn import SMTLayer
from smtlayer_studies.tasks.algebra.network import OrderedReader, in_windows
from smtlayer_studies.tasks.base import Batch

_MOMENTUM = 0.99  # of the running accuracies
_POOLED = 14  # side of a window as the small readers see it


class PlacementSearch(nn.Module):
    """Small readers, one per placement of the slots, that train in parallel.

    Each sees the image in half its size through one hidden layer. The network takes the placement
    whose reader has the best accuracy on the training examples, by their labels alone.

    Args:
        network: Its placement is set after every batch.
        layer: Computes the outputs of the small readers.
        hidden: Width of a reader's hidden layer.

    Shape:
        - output: the loss of all readers together, and the accuracy of the best one.
    """

    accuracy: Tensor  # (placements,): a running mean

    def __init__(self, network: OrderedReader, layer: SMTLayer, hidden: int = 32) -> None:
        super().__init__()
        self.network = network
        self.layer = layer
        self._slots = network.choices.shape[1]
        count, pixels = len(network.choices), _POOLED**2
        bits = layer.theory.n_inputs // self._slots
        self.first = nn.Parameter(torch.randn(count, pixels, hidden) / pixels**0.5)
        self.first_bias = nn.Parameter(torch.zeros(count, 1, hidden))
        self.last = nn.Parameter(torch.randn(count, hidden, bits) * 0.3 / hidden**0.5)
        self.last_bias = nn.Parameter(torch.zeros(count, 1, bits))
        self.register_buffer("accuracy", torch.zeros(count))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss and the best accuracy on a batch."""
        count, size = len(self.accuracy), len(batch.features)
        outputs = self.layer(self._logits(batch.features))  # (placements * B, m)
        targets = batch.targets.repeat(count, 1)
        right = (((outputs > 0) == (targets > 0.5)) & (outputs != 0)).all(-1)
        share = right.reshape(count, size).float().mean(-1)
        self.accuracy.mul_(_MOMENTUM).add_(share, alpha=1 - _MOMENTUM)
        self.network.chosen.copy_(self.accuracy.argmax())
        loss = F.binary_cross_entropy_with_logits(outputs, targets, reduction="sum") / size
        return loss, share.max()

    def _logits(self, images: Tensor) -> Tensor:
        """What every reader reads: (placements * B, n)."""
        windows = in_windows(images, self.network.windows)  # (B, w, h, h)
        small = F.adaptive_avg_pool2d(windows, _POOLED).flatten(2)  # (B, w, pixels)
        seen = small[:, self.network.choices].movedim(1, 0)  # (placements, B, slots, pixels)
        hidden = torch.baddbmm(self.first_bias, seen.flatten(1, 2), self.first).relu()
        read = torch.baddbmm(self.last_bias, hidden, self.last)  # (placements, B * slots, bits)
        return read.reshape(-1, self._slots * read.shape[-1])
