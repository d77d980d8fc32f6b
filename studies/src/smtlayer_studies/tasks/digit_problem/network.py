"""The network of small problems: the paper's digit reader with one logit per value."""

import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer_studies.tasks.networks import DigitNetwork


class ValueReader(nn.Module):
    """Reads the value of each image with one shared digit reader.

    Args:
        values: Number of values.
        facts: Number of columns for facts, after those of the images. Their logits are zero.

    Shape:
        - images: $(B, d, 28, 28)$, d images per example.
        - output: $(B, d * values + facts)$ logits.
    """

    def __init__(self, values: int, facts: int = 0) -> None:
        super().__init__()
        self.reader = DigitNetwork(values)
        self.facts = facts

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each image, side by side."""
        return F.pad(self.reader(images), (0, self.facts))
