"""The task long addition: its data, network and view."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, final

import torch
from torch import nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.base import Pretraining, Rows, SplitName, check_validation
from smtlayer_studies.tasks.digit_task import DigitTask
from smtlayer_studies.tasks.long_addition.data import digits_of_sum, rows_of_images
from smtlayer_studies.tasks.long_addition.network import DigitReader
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory
from smtlayer_studies.tasks.long_addition.view import LongAdditionView
from smtlayer_studies.tasks.mnist import DigitData, Source
from smtlayer_studies.tasks.view import View


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LongAddition(DigitTask):
    """Read two numbers of several digits, one image per digit, and add them.

    The usual protocol: every image occurs in one example, so 60,000 training images make
    60,000 / (2 length) examples, which are the same in all epochs; test examples likewise.
    The only label is the sum. Digits are one-hot symbols.

    Args:
        length: Digits per number.
        data: Which images to use; see `load_digits`.
        validation: Share of the training images that is set apart for validation.
        data_dir: The data folder.
        digits: Images to use instead of those that `data` names.
    """

    name: ClassVar[str] = "long-addition"
    pretraining: ClassVar[Pretraining] = Pretraining()

    length: int = 2
    data: Source = "auto"
    validation: float = 0.0
    data_dir: Path | None = field(default=None, repr=False)
    digits: DigitData | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ConfigError(f"long-addition: length must be at least 1. Got {self.length}.")
        check_validation("images", self.validation)

    @cached_property
    def view(self) -> View:
        """Both numbers and their sum."""
        return LongAdditionView(self.length)

    @cached_property
    def theory(self) -> Theory:
        """Two numbers and their sum."""
        return long_addition_theory(self.length, reading="digits")

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """All examples of a split, or the first `count`, the same in all epochs.

        Training may show any combination of digits, so all count as seen.
        """
        source = self._digits.split(split)
        items = rows_of_images(len(source.images), 2 * self.length, seed)[:count]
        digits = source.labels[items]
        total = digits_of_sum(digits[:, : self.length], digits[:, self.length :])
        inputs = [symbol.name for symbol in self.theory.input_symbols]
        outputs = [symbol.name for symbol in self.theory.output_symbols]
        wanted = self.theory.encode_outputs(**dict(zip(outputs, total.T, strict=True)))
        return Rows(
            items,
            (wanted > 0).float(),
            self.theory.encode(**dict(zip(inputs, digits.T, strict=True))),
            torch.ones(len(items), dtype=torch.bool),
            bank=source.images,
        )

    def network(self) -> nn.Module:
        """The paper's digit reader with ten outputs, shared by all digits."""
        return DigitReader()
