"""Digits, rows and records made up for the tests of pictures."""

import torch
import torch.nn.functional as F
from matplotlib.image import imread
from matplotlib.text import Text
from torch import Tensor, nn

from smtlayer import SMTLayer
from smtlayer_studies.runs import RunRecord
from smtlayer_studies.tasks.base import Batch
from smtlayer_studies.tasks.examples import Examples
from smtlayer_studies.tasks.marks import MARK
from smtlayer_studies.tasks.mnist import DigitData, Digits


def fake_digits() -> DigitData:
    """Images whose every pixel is the digit times ten."""
    labels = torch.arange(10).repeat_interleave(3)
    images = (labels * 10).to(torch.uint8)[:, None, None].expand(-1, 28, 28)
    digits = Digits(images, labels)
    return DigitData(digits, digits, "sample")


class PixelReader(nn.Module):
    """Knows the digits of such images: 4 bits for every place, most significant first."""

    def __init__(self, places=slice(None)) -> None:
        super().__init__()
        self.places = places

    def forward(self, images: Tensor) -> Tensor:
        """Certain logits: (B, d, 28, 28) or (B, 28, 28 d) to (B, 4 d)."""
        if images.ndim == 3:
            images = images.unflatten(2, (-1, 28)).movedim(2, 1)
        digits = (images[:, :, 0, 0] * 25.5).round().long()[:, self.places]
        bits = digits[..., None] >> torch.tensor([3, 2, 1, 0]) & 1
        return (8.0 * bits - 4).flatten(1)


def examples_of(theory, features, read, truth, wanted, known=None) -> Examples:
    """What a layer makes of logits of 4 with the given signs."""
    targets = (wanted > 0).float()
    seen = torch.ones(len(read), dtype=torch.bool)
    asked = None if known is None else ~known
    batch = Batch(features, targets, truth, seen, known, asked)
    return Examples.of(SMTLayer(theory).eval(), read.float() * 4, batch)


def marks_of(figure) -> int:
    """How many things a figure marks as overruled."""
    return len(figure.findobj(lambda artist: artist.get_gid() == MARK))


def texts_of(figure) -> list[str]:
    """All lines of text in a figure."""
    return [line for text in figure.findobj(Text) for line in text.get_text().splitlines()]


def png_size(path) -> tuple[int, int]:
    """Width and height in pixels."""
    height, width = imread(path).shape[:2]
    return width, height


def record(method="best", *, pretrain=0, train=3, solver=0.5, kind="dense", split="test"):
    """A run whose every epoch took two seconds, some of them in the solver."""
    before = {"phase": "pretrain", "loss": 1.0, "accuracy": 0.1, "seconds": 2.0, "solver": {}}
    after = {"phase": "train", "loss": 0.5, "accuracy": 0.75, "seconds": 2.0,
             "solver": {"solver_seconds": solver} if solver else {}}  # fmt: skip
    return RunRecord(
        "row", method, 0, "sample", "a sample", split, {"pretrain": {"kind": kind}}, "",
        [before] * pretrain + [after] * train, {"accuracy": 0.625}, 2.0,
    )  # fmt: skip


def one_hot_signs(number: int, size: int) -> list[int]:
    """Signs with one true place."""
    return (F.one_hot(torch.tensor(number), size) * 2 - 1).tolist()
