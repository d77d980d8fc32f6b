"""Networks that read a handwritten equation in one wide image."""

from itertools import combinations

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer_studies.tasks.networks import DigitNetwork, orthogonal


class OrderedReader(nn.Module):
    """Reads four of the eight symbols of a wide image, all with the same digit reader.

    It sees the whole image, and assumes that a symbol fills a window as wide as the image is high,
    and that slots are read in the order of their windows, each from a different window. So there
    are 70 ways to place four slots in eight windows; `PlacementSearch` finds the right one.

    The order distinguishes a from b even if training shows only equations in which they are equal.

    Args:
        windows: How many symbols the image has.
        slots: How many of them to read.
        bits: Logits per symbol.

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

    choices: Tensor  # (placements, slots): the windows that the slots are read from
    chosen: Tensor  # (): the placement in use

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


def in_windows(images: Tensor, windows: int) -> Tensor:
    """A wide image cut from left to right: (B, h, windows * w) to (B, windows, h, w)."""
    rows, height = images.shape[:2]
    return images.reshape(rows, height, windows, -1).movedim(2, 1)


class WholeImageNetwork(nn.Module):
    """The paper's reader of an equation as one image of eight symbols: 16 bits, for a, b, c1, c2.

    Four convolutions of depths 64, 64, 128, 256 with kernels of 3, the first two with a stride of
    2, then dense layers of 256 and `bits`; orthogonal weights, zero biases. The paper gives the
    fourth depth only through the 26,112 features that the first dense layer takes: an image of 28
    by 224 leaves the convolutions as 2 by 51, and 26,112 is 256 times that.

    Shape:
        - images: $(B, 28, 224)$.
        - output: $(B, bits)$ logits.
    """

    def __init__(self, bits: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 64, 3, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=2), nn.ReLU(),
            nn.Conv2d(64, 128, 3), nn.ReLU(),
            nn.Conv2d(128, 256, 3), nn.ReLU(),
            nn.Flatten(),
            nn.Linear(256 * 2 * 51, 256), nn.ReLU(),
            nn.Linear(256, bits),
        )  # fmt: skip
        orthogonal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits for the whole image."""
        logits: Tensor = self.layers(images[:, None])
        return logits
