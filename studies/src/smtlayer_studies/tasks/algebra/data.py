"""Handwritten letters and operators for the equations of visual algebra."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.errors import MissingDataError
from smtlayer_studies.tasks.base import SplitName
from smtlayer_studies.tasks.data import find
from smtlayer_studies.tasks.mnist import Digits

LETTER: Final = 10  # labels continue those of the digits
TIMES: Final = 11
PLUS: Final = 12
EQUALS: Final = 13
_OPERATORS = {"\\times": TIMES, "\\cdot": TIMES, "+": PLUS, "\\doteq": EQUALS}


@dataclass(frozen=True, eq=False)
class AlgebraSymbols:
    """Letters and operators with different images for each split, and their source.

    Labels are `LETTER`, `TIMES`, `PLUS` and `EQUALS`.
    """

    train: Digits
    test: Digits
    source: str
    validation: Digits | None = None

    def with_validation(self, share: float) -> "AlgebraSymbols":
        """This data with a share of the training images set apart for validation.

        Raises:
            ConfigError: If that leaves no image of a symbol in one of the two.
        """
        if share == 0:
            return self
        train, validation = self.train.training_and_validation(share)
        return replace(self, train=train, validation=validation)

    def split(self, name: SplitName) -> Digits | None:
        """The images of a split; None if none were set apart for validation."""
        return {"train": self.train, "validation": self.validation, "test": self.test}[name]


def load_symbols(data_dir: Path | None = None) -> AlgebraSymbols:
    r"""Letters a to m from EMNIST and operators from HASY, half for training and half for tests.

    Multiplication is `\times` or `\cdot`, and `\doteq` stands for equality, which HASY does not
    have. Duplicate images are removed, so that no test image is in training.

    Args:
        data_dir: The folder that contains `emnist/` and `hasy/`; see `data_folder` for the default.

    Raises:
        MissingDataError: If a file is missing or damaged.
    """
    letters = _arrays(find("emnist-letters", data_dir), "X", "y")
    operators = _arrays(find("hasy-operators", data_dir), "X", "latex")
    kept = np.isin(operators["latex"], list(_OPERATORS))
    kinds = list(_OPERATORS)
    latex = torch.tensor([kinds.index(str(name)) for name in operators["latex"][kept]])
    halves = [
        _halves(torch.from_numpy(letters["X"]), torch.from_numpy(letters["y"]).long()),
        _halves(_like_mnist(torch.from_numpy(operators["X"][kept])), latex),
    ]
    labels = [torch.full((256,), LETTER), torch.tensor(list(_OPERATORS.values()))]
    train, test = (
        Digits.ordered(
            torch.cat([half[side].images for half in halves]),
            torch.cat([new[half[side].labels] for half, new in zip(halves, labels, strict=True)]),
        )
        for side in (0, 1)
    )
    return AlgebraSymbols(train, test, "emnist-letters(a-m)+hasy")


def _arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as bundle:
            return {name: bundle[name] for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise MissingDataError(
            f"{path} is not a readable file of images: {error}. Put the right one in its place."
        ) from error


def _like_mnist(images: Tensor) -> Tensor:
    """Converts HASY's black on white, 32 by 32, to white on black, 28 by 28."""
    ink = 255 - images[:, None].float()
    small = F.interpolate(ink, size=(28, 28), mode="bilinear", antialias=True)
    return small[:, 0].round().clamp(0, 255).to(torch.uint8)


def _halves(images: Tensor, labels: Tensor) -> tuple[Digits, Digits]:
    """Two halves of the distinct images of each label.

    HASY's images are ordered by writer, so they are shuffled, always in the same way.
    """
    distinct = list({image.numpy().tobytes(): i for i, image in enumerate(images)}.values())
    shuffle = torch.randperm(len(distinct), generator=torch.Generator().manual_seed(0))
    order = torch.tensor(distinct)[shuffle]
    return Digits.ordered(images[order], labels[order]).apart(0.5)
