"""This file holds MNIST addition: two handwritten digits, their sum as the only label."""

from functools import cached_property

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Rows, SplitName
from smtlayer_studies.tasks.images import ImagesView
from smtlayer_studies.tasks.mnist import DigitData
from smtlayer_studies.tasks.networks import DenseHead, DigitAutoencoder, DigitNetwork
from smtlayer_studies.tasks.view import View


class MnistAddition:
    """Read two images of digits and add them, having seen only some of the 100 pairs of digits.

    Args:
        digits: Images to draw pairs from.
        percent: How many of the pairs training shows. 10 % are the equal pairs, (0, 0) to (9, 9);
            more adds others in a fixed random order. Tests draw from all pairs.
    """

    name = "mnist-addition"
    view: View = ImagesView("MNIST addition: bits the network read, and the solver's sum")

    def __init__(self, digits: DigitData, percent: int = 10) -> None:
        if not 10 <= percent <= 100:
            raise ConfigError(f"mnist-addition: percent must be from 10 to 100. Got {percent}.")
        self.percent = percent
        self._digits = digits

    @property
    def data(self) -> str:
        """`"mnist"` or `"sample"`."""
        return self._digits.source

    @property
    def data_title(self) -> str:
        """The data for people."""
        return self._digits.title

    @cached_property
    def theory(self) -> Theory:
        """Two digits make a sum."""
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
        """Random pairs of images: of all digits in test, else of the shown ones."""
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

    def head(self) -> nn.Module:
        """One hidden layer of 512."""
        return DenseHead(self.theory.n_inputs, self.theory.n_outputs)

    def autoencoder(self, network: nn.Module) -> nn.Module:
        """Rebuilds the images of digits from what the network makes of them."""
        return DigitAutoencoder(network)

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
