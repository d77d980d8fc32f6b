"""This file reads some symbols of a wide image from left to right, and finds out where they are."""

from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.nn import SMTLayer
from smtlayer_studies.tasks.base import Batch
from smtlayer_studies.tasks.networks import DigitNetwork

_MEMORY = 0.99  # of a scout's accuracy, batch by batch
_POOLED = 14  # side of a window as a scout sees it


class OrderedReader(nn.Module):
    """Reads four of the eight symbols of a wide image, all with the same digit reader.

    It sees the whole image. What it takes for granted: a symbol fills a window as wide as the image
    is high, and slots are read in the order of their windows, each from a window of its own. So
    there are 70 ways to place four slots in eight windows; `Scouts` finds the right one.

    Order tells a from b even where training shows only equations in which they are equal.

    Args:
        windows: How many symbols the image has.
        slots: How many of them to read.
        bits: Logits a symbol.

    Shape:
        - images: $(B, h, windows * h)$ with h of 28.
        - output: $(B, slots * bits)$ logits.

    Examples:
        >>> reader = OrderedReader(windows=3, slots=2)
        >>> reader.choices.tolist()
        [[0, 1], [0, 2], [1, 2]]
        >>> reader(torch.zeros(5, 28, 84)).shape
        torch.Size([5, 8])
    """

    choices: Tensor  # (ways, slots): the windows that the slots are read from
    chosen: Tensor  # (): the way that is in use

    def __init__(self, windows: int = 8, slots: int = 4, bits: int = 4) -> None:
        super().__init__()
        if not 1 <= slots <= windows:
            raise ConfigError(
                f"OrderedReader: slots must be from 1 to the {windows} windows. Got {slots}."
            )
        self.windows = windows
        self.reader = DigitNetwork(bits)
        choices = torch.tensor(list(combinations(range(windows), slots)))
        self.register_buffer("choices", choices, persistent=False)
        self.register_buffer("chosen", torch.tensor(len(choices) // 2))

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each slot, side by side."""
        places = self.choices[self.chosen]  # (slots,)
        logits: Tensor = self.reader(in_windows(images, self.windows).index_select(1, places))
        return logits


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


def in_windows(images: Tensor, windows: int) -> Tensor:
    """A wide image cut from left to right: (B, h, windows * w) to (B, windows, h, w)."""
    rows, height = images.shape[:2]
    return images.reshape(rows, height, windows, -1).movedim(2, 1)
