"""A training step with the exact likelihood of sums, timed against one with labels of digits."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer.nn import SMTLayer
from smtlayer_benchmarks.speed import training_step
from smtlayer_benchmarks.theories import encode_sums
from smtlayer_benchmarks.timing import Ratio, alternate
from smtlayer_studies.tasks.long_addition.network import DigitReader
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory

CUDA_BAR, CPU_BAR = 3.0, 1.5


def likelihood_ratios(device: str = "cpu", repeats: int = 0) -> list[Ratio]:
    """Batches of 32 rows; on a GPU also of 128, which take too long on a CPU."""
    batches = (32, 128) if device.startswith("cuda") else (32,)
    return [likelihood_against_labels(device, batch, repeats=repeats) for batch in batches]


def likelihood_against_labels(
    device: str = "cpu", batch: int = 32, length: int = 15, repeats: int = 0
) -> Ratio:
    """A step with the likelihood of sums over the same step with the label of each digit.

    The network and optimiser of long addition (Adam, gradients clipped at 1); images are noise.
    With labels of digits the loss is the cross-entropy of each digit's ten logits.
    """
    cuda = device.startswith("cuda")
    theory = long_addition_theory(length, "digits")
    layer = SMTLayer(theory).to(device)
    generator = torch.Generator().manual_seed(0)
    digits = torch.randint(0, 10, (batch, 2 * length), generator=generator)
    images = torch.rand(*digits.shape, 28, 28, generator=generator).to(device)
    sums = encode_sums(theory, digits).to(device)
    labels = digits.flatten().to(device)

    def by_sums(logits: Tensor) -> Tensor:
        return -layer.log_prob(logits, sums).mean()

    def by_digits(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits.reshape(-1, 10), labels)

    ours, theirs = (_step(loss, images) for loss in (by_sums, by_digits))
    repeats = repeats or (100 if cuda else 5)
    ours_ms, theirs_ms = alternate(ours, theirs, repeats, inner=(1, 1), device=device)
    return Ratio(
        f"exact likelihood, batch {batch}",
        f"{layer.solver.name}, sums of {length} digits, {batch} rows of {2 * length} images",
        ours_ms, "the same network with labels of digits", theirs_ms,
        ours_ms / theirs_ms, False, CUDA_BAR if cuda else CPU_BAR, device,
    )  # fmt: skip


def _step(loss: Callable[[Tensor], Tensor], images: Tensor) -> Callable[[], None]:
    """A step of a new network on the images."""
    torch.manual_seed(0)
    network = DigitReader().to(images.device)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    return training_step(lambda: loss(network(images)), optimizer, 1.0)
