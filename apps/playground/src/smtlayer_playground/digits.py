"""This file offers handwritten digits that no network here was trained on."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import as_text, whole
from smtlayer_studies.tasks.mnist import load_digits


@final
class DigitBank:
    """The test images of MNIST, or of its sample.

    Args:
        data_dir: The data folder.
    """

    def __init__(self, data_dir: Path | None = None) -> None:
        data = load_digits("auto", data_dir)
        self._images = data.test.images
        counts = torch.bincount(data.test.labels, minlength=10)
        self._ends = counts.cumsum(0).tolist()
        self._starts = (counts.cumsum(0) - counts).tolist()
        self.title = data.title

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answers with another handwritten image of `digit`."""
        digit = whole(question, "digit", 0, 9)
        if digit is None:
            raise PlaygroundError("'digit' must be a whole number from 0 to 9.")
        return {"image": self.draw_text(digit, random.Random())}

    def draw(self, digit: int, draw: random.Random) -> Tensor:
        """A random image of a digit: (28, 28) uint8."""
        return self._images[draw.randrange(self._starts[digit], self._ends[digit])]

    def draw_text(self, digit: int, draw: random.Random) -> str:
        """The same as text."""
        return as_text(self.draw(digit, draw))
