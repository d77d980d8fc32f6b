"""The task MNIST addition: its data, network and view."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, final

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Pretraining, Rows, SplitName, check_validation
from smtlayer_studies.tasks.digit_task import DigitTask
from smtlayer_studies.tasks.images import ImagesView
from smtlayer_studies.tasks.mnist import DigitData, Source
from smtlayer_studies.tasks.networks import DigitAutoencoder, DigitNetwork
from smtlayer_studies.tasks.view import View


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class MnistAddition(DigitTask):
    """Read two images of digits and add them, having seen only some of the 100 pairs of digits.

    Args:
        percent: How many of the pairs training shows. 10 % are the equal pairs, (0, 0) to (9, 9);
            more adds others in a fixed random order. Tests draw from all pairs.
        data: Which images to use; see `load_digits`.
        validation: Share of the training images that is set apart for validation.
        data_dir: The data folder.
        digits: Images to use instead of those that `data` names.
    """

    name: ClassVar[str] = "mnist-addition"
    view: ClassVar[View] = ImagesView("MNIST addition: bits the network read, and the solver's sum")
    pretraining: ClassVar[Pretraining] = Pretraining(autoencoder=DigitAutoencoder)

    percent: int = 10
    data: Source = "auto"
    validation: float = 0.0
    data_dir: Path | None = field(default=None, repr=False)
    digits: DigitData | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 10 <= self.percent <= 100:
            raise ConfigError(
                f"mnist-addition: percent must be from 10 to 100. Got {self.percent}."
            )
        check_validation("images", self.validation)

    @cached_property
    def theory(self) -> Theory:
        """Two digits and their sum."""
        return addition_theory()

    @cached_property
    def shown(self) -> Tensor:
        """The pairs that training shows: (percent, 2)."""
        pairs = torch.cartesian_prod(torch.arange(10), torch.arange(10))
        equal = pairs[:, 0] == pairs[:, 1]
        others = pairs[~equal]
        order = torch.randperm(len(others), generator=torch.Generator().manual_seed(0))
        return torch.cat([pairs[equal], others[order]])[: self.percent]

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """Random pairs of images: of all digits in test, else of the shown pairs."""
        generator = torch.Generator().manual_seed(seed * 1009 + epoch)
        source = self._digits.split(split)
        if split == "test":
            pairs = torch.randint(10, (count, 2), generator=generator)
        else:
            pick = torch.randint(len(self.shown), (count,), generator=generator)
            pairs = self.shown[pick]
        return Rows(
            source.draw(pairs, generator),
            self._targets[pairs.sum(-1)],
            self._bits[pairs].flatten(1),
            self._is_shown[pairs[:, 0], pairs[:, 1]],
            bank=source.images,
        )

    def network(self) -> nn.Module:
        """The paper's digit reader, shared by both digits."""
        return DigitNetwork()

    @cached_property
    def _targets(self) -> Tensor:
        return (self.theory.encode_outputs(total=range(19)) > 0).float()  # (19, 5)

    @cached_property
    def _bits(self) -> Tensor:
        return self.theory.encode(a=range(10))[:, :4]  # (10, 4)

    @cached_property
    def _is_shown(self) -> Tensor:
        table = torch.zeros(10, 10, dtype=torch.bool)
        table[self.shown[:, 0], self.shown[:, 1]] = True
        return table
