"""Networks that several tasks use."""

import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory


class DigitNetwork(nn.Module):
    """The paper's digit reader: an image to 4 bits, most significant first, shared by all digits.

    Four convolutions of depths 64, 64, 128, 128 with kernels of 3, the first with a stride of 2,
    then dense layers of 256 and `bits`; orthogonal weights, zero biases.

    Shape:
        - images: $(B, d, 28, 28)$, d digits per example.
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
        """The features before the last layer: (B, 28, 28) to (B, 256)."""
        features: Tensor = self.layers[:-1](images[:, None])
        return features


class DigitAutoencoder(nn.Module):
    """Reconstructs images of digits from the features of a `DigitNetwork`, without labels.

    Shape:
        - images: $(B, d, 28, 28)$; blank images are ignored.
        - output: a number, the mean squared error.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        if not isinstance(network, DigitNetwork):
            raise ConfigError(
                f"An auto-encoder of digits needs a DigitNetwork. Got a {type(network).__name__}."
            )
        self.network = network
        self.decoder = nn.Sequential(
            nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 28 * 28), nn.Sigmoid()
        )

    def forward(self, images: Tensor) -> Tensor:
        """The error of reconstructing the images."""
        flat = images.reshape(-1, *images.shape[-2:])
        flat = flat[flat.flatten(1).any(-1)]
        reconstructed = self.decoder(self.network.describe(flat))
        return F.mse_loss(reconstructed, flat.flatten(1))


class DenseHead(nn.Sequential):
    """The head of a conventional network, in place of a layer: one hidden layer of 512.

    Args:
        theory: Of the layer that it replaces; it gives the numbers of inputs and outputs.
    """

    def __init__(self, theory: Theory) -> None:
        super().__init__(
            nn.Linear(theory.n_inputs, 512), nn.ReLU(), nn.Linear(512, theory.n_outputs)
        )
        orthogonal(self)


def orthogonal(network: nn.Module) -> None:
    """Makes all weights orthogonal and all biases zero, in place."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.orthogonal_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
