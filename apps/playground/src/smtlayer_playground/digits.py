"""Handwritten digits that the networks were not trained on."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import torch

from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import encode_image, whole_number
from smtlayer_studies.tasks.mnist import load_digits


@final
class DigitBank:
    """The test images of MNIST, or of the sample that the package contains.

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

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A random image of `digit`."""
        digit = whole_number(request, "digit", 0, 9)
        if digit is None:
            raise PlaygroundError("'digit' must be a whole number from 0 to 9.")
        return {"image": self.draw(digit, random.Random())}

    def draw(self, digit: int, generator: random.Random) -> str:
        """A random image of a digit, encoded."""
        return encode_image(
            self._images[generator.randrange(self._starts[digit], self._ends[digit])]
        )
