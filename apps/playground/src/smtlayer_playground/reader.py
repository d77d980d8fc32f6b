"""The digit reader that comes with the playground, for pages without a trained run."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from smtlayer_playground.trained import Trained
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.sudoku.task import VisualSudoku
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

WEIGHTS = Path(__file__).parent / "reader.npz"  # made by `apps/playground/train_reader.py`
_DATA = "the sums of two MNIST images, without labels of the digits"
_DIGITS = torch.arange(10)
_PLACES = torch.tensor([3, 2, 1, 0])  # of the bits of a digit, most significant first


class DigitReader(nn.Module):
    """A small network that scores the digits 0 to 9 for each image.

    Shape:
        - images: $(B, d, 28, 28)$, d digits per example.
        - output: $(B, d, 10)$, log-probabilities up to a constant.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_block(1, 16), nn.MaxPool2d(2), *_block(16, 32), nn.MaxPool2d(2), *_block(32, 64),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 3 * 3, 10),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        """Scores of each digit."""
        scores: Tensor = self.layers(images.reshape(-1, 1, *images.shape[2:]))
        return scores.reshape(*images.shape[:2], 10)


def _block(channels: int, features: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(channels, features, 3, padding=1, bias=False)
    return convolution, nn.BatchNorm2d(features), nn.ReLU()


class BitReader(nn.Module):
    """The log-odds of the four bits of each digit: $(B, d, 28, 28)$ to $(B, 4 d)$."""

    def __init__(self, reader: DigitReader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, images: Tensor) -> Tensor:
        """Compares the digits that have a bit with those that do not."""
        scores: Tensor = self.reader(images)[..., None, :]  # (B, d, 1, 10)
        has_bit = (_DIGITS >> _PLACES[:, None] & 1).bool()  # (4, 10)
        with_bit, without = (
            scores.masked_fill(~mask, -torch.inf).logsumexp(-1) for mask in (has_bit, ~has_bit)
        )
        return (with_bit - without).flatten(1)


class NumberReader(nn.Module):
    """The scores of the numbers 1 to 9, as one-hot columns: $(B, d, 28, 28)$ to $(B, 9 d)$.

    Zero lies halfway between the best two scores, so that exactly one column is positive.
    """

    def __init__(self, reader: DigitReader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, images: Tensor) -> Tensor:
        """Shifts the scores of each image by a constant, which changes no probability."""
        scores: Tensor = self.reader(images)[..., 1:]
        return (scores - scores.topk(2, -1).values.mean(-1, keepdim=True)).flatten(1)


@cache
def shipped() -> dict[str, Trained]:
    """The reader for the pages of addition and Sudoku, as if it were a run of each task."""
    with np.load(WEIGHTS) as saved:
        state = {name: torch.from_numpy(saved[name]).float() for name in saved.files}
    scores = {"representation": state.pop("accuracy").item()}
    reader = DigitReader().float()
    reader.load_state_dict(state)
    bits, numbers = BitReader(reader).eval(), NumberReader(reader).eval()
    where = Path(__package__ or "") / WEIGHTS.name
    options = {"reading": "digits"}
    return {
        MnistAddition.name: Trained(
            MnistAddition.name, where, {}, bits, addition_theory(), scores, _DATA
        ),
        VisualSudoku.name: Trained(
            VisualSudoku.name, where, options, numbers, sudoku_theory(reading="digits"), scores,
            _DATA,
        ),
    }  # fmt: skip
