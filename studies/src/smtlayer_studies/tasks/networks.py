"""This file holds the networks that the tasks share."""

import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.errors import ConfigError


class DigitNetwork(nn.Module):
    """The paper's digit reader: an image to 4 bits, most significant first, shared by all digits.

    Four convolutions of depths 64, 64, 128, 128 with kernels of 3, the first with a stride of 2,
    then dense layers of 256 and `bits`; orthogonal weights, zero biases.

    Shape:
        - images: $(B, d, 28, 28)$, d digits a row.
        - output: $(B, d * bits)$ logits.
    """

    def __init__(self, bits: int = 4) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 64, 3, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3), nn.ReLU(),
            nn.Conv2d(64, 128, 3), nn.ReLU(),
            nn.Conv2d(128, 128, 3), nn.ReLU(),
            nn.Flatten(),
            nn.Linear(128 * 7 * 7, 256), nn.ReLU(),
            nn.Linear(256, bits),
        )  # fmt: skip
        orthogonal(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each digit, side by side."""
        rows, digits = images.shape[:2]
        logits: Tensor = self.layers(images.reshape(rows * digits, 1, *images.shape[2:]))
        return logits.reshape(rows, -1)

    def describe(self, images: Tensor) -> Tensor:
        """What the last layer reads the bits from: (B, 28, 28) to (B, 256)."""
        features: Tensor = self.layers[:-1](images[:, None])
        return features


class DigitAutoencoder(nn.Module):
    """Rebuilds images of digits from a `DigitNetwork`'s 256 features: training without labels.

    Shape:
        - images: $(B, d, 28, 28)$; images that are blank are left out.
        - output: a number, the mean squared error.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        if not isinstance(network, DigitNetwork):
            raise ConfigError("An auto-encoder of digits is made of a DigitNetwork.")
        self.network = network
        self.decoder = nn.Sequential(
            nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 28 * 28), nn.Sigmoid()
        )

    def forward(self, images: Tensor) -> Tensor:
        """The error of rebuilding."""
        flat = images.reshape(-1, *images.shape[-2:])
        flat = flat[flat.flatten(1).any(-1)]
        rebuilt = self.decoder(self.network.describe(flat))
        return F.mse_loss(rebuilt, flat.flatten(1))


class DenseHead(nn.Sequential):
    """What a conventional network has in the layer's place: one hidden layer of 512."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__(nn.Linear(n_inputs, 512), nn.ReLU(), nn.Linear(512, n_outputs))
        orthogonal(self)


def orthogonal(network: nn.Module) -> None:
    """Makes all weights orthogonal and all biases zero, in place."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.orthogonal_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
