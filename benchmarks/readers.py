"""Makes `readers.npz`: the logits of real digit networks on MNIST's images.

The paper's digit network learns the four bits of each digit, with labels and shifted images; its
logits on 2,000 test images are kept when its accuracy first reaches 97 %, and again at 99 %. This
network does not reach 99.7 % on unseen images (ten of them together reach 99.5 %), so that reader
is kept when it first reaches 99.7 % on 10,000 training images. The benchmarks draw the hints of
Sudoku boards from them.

    python benchmarks/readers.py --data-dir DATA --device cuda
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from smtlayer_studies.tasks.mnist import Digits, load_digits
from smtlayer_studies.tasks.networks import DigitNetwork

KEPT_IN = Path(__file__).parent / "src" / "smtlayer_benchmarks" / "readers.npz"
STEPS, BATCH, KEPT = 6_000, 256, 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=KEPT_IN)
    options = parser.parse_args()
    data = load_digits("mnist", options.data_dir)
    train, test = (
        Digits(part.images.to(options.device), part.labels.to(options.device))
        for part in (data.train, data.test)
    )
    some = torch.randperm(len(train.labels), generator=torch.Generator().manual_seed(0))[:10_000]
    seen = Digits(train.images[some], train.labels[some])
    kept: dict[str, np.ndarray] = {}
    torch.manual_seed(0)
    network = DigitNetwork().to(options.device)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3, weight_decay=0.02)
    for step in range(STEPS):
        if step % 20 == 0:
            keep(network, test, kept, (97.0, 99.0), f"test images, step {step}")
            keep(network, seen, kept, (99.7,), f"training images, step {step}")
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * 0.5 * (1 + math.cos(math.pi * step / STEPS))
        images, labels = shifted(train.images, train.labels)
        loss = F.binary_cross_entropy_with_logits(network(images), bits(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    np.savez_compressed(options.out, **kept)
    print(f"wrote {options.out}: {', '.join(kept)}")


def shifted(images: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A random batch, each image moved by up to two pixels and turned by up to ten degrees."""
    rows = torch.randint(0, len(labels), (BATCH,), device=labels.device)
    picked = images[rows].float()[:, None] / 255
    angle = (torch.rand(BATCH, device=labels.device) - 0.5) * 0.35
    move = (torch.rand(BATCH, 2, device=labels.device) - 0.5) * (4 / 14)
    turn = torch.stack(
        [angle.cos(), -angle.sin(), move[:, 0], angle.sin(), angle.cos(), move[:, 1]]
    )
    grid = F.affine_grid(turn.T.reshape(-1, 2, 3), list(picked.shape), align_corners=False)
    return F.grid_sample(picked, grid, align_corners=False), labels[rows]


def bits(labels: torch.Tensor) -> torch.Tensor:
    place = torch.arange(3, -1, -1, device=labels.device)
    return ((labels[:, None] >> place) & 1).float()


@torch.no_grad()
def keep(
    network: DigitNetwork,
    digits: Digits,
    kept: dict[str, np.ndarray],
    levels: tuple[float, ...],
    where: str,
) -> None:
    missing = [level for level in levels if f"logits_{level:g}" not in kept]
    if not missing:
        return
    parts = (digits.images.float()[:, None] / 255).split(1000)
    logits = torch.cat([network(part) for part in parts])
    right = ((logits > 0) == (bits(digits.labels) > 0)).all(-1)
    accuracy = right.float().mean().item() * 100
    for level in missing:
        if accuracy >= level:
            rows = torch.randperm(len(logits), generator=torch.Generator().manual_seed(0))[:KEPT]
            kept[f"logits_{level:g}"] = logits.cpu()[rows].numpy().astype(np.float16)
            kept[f"labels_{level:g}"] = digits.labels.cpu()[rows].numpy().astype(np.int8)
            print(f"kept as the reader of {level:g} %: {where}, {accuracy:.2f} %", flush=True)


if __name__ == "__main__":
    main()
