"""This file holds MNIST addition: two handwritten digits, their sum as the only label."""

from functools import cached_property
from typing import Any

import torch
import z3
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.base import Rows, SplitName
from smtlayer_studies.tasks.mnist import DigitData
from smtlayer_studies.tasks.networks import DenseHead, DigitAutoencoder, DigitNetwork


def addition_theory() -> Theory:
    """Two digits make a sum."""
    a, b = z3.BitVecs("a b", 4)
    total = z3.BitVec("total", 5)
    return Theory(
        {
            "total is a + b": total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b),
            "a is a digit": z3.ULE(a, 9),
            "b is a digit": z3.ULE(b, 9),
        },
        inputs=[a, b],
        outputs=[total],
    )


def long_addition_theory(digits: int) -> Theory:
    """Two decimal numbers make a sum, column by column as at school.

    The digits are a0, a1, ... and b0, b1, ..., those of the sum s0, s1, ...: one more, and s0 is
    where the last carry goes. The first is the most significant.
    """
    if digits < 1:
        raise ValueError(f"long_addition_theory: digits must be at least 1. Got {digits}.")
    a, b = ([z3.BitVec(f"{name}{i}", 4) for i in range(digits)] for name in "ab")
    total = [z3.BitVec(f"s{i}", 4) for i in range(digits + 1)]
    carry = [z3.BitVec(f"carry{i}", 1) for i in range(digits + 1)]  # out of column i

    def wide(symbol: Any) -> Any:
        return z3.ZeroExt(5 - symbol.size(), symbol)  # 9 + 9 + 1 needs 5 bits

    rules = {
        f"column {i} adds up": wide(a[i]) + wide(b[i]) + wide(carry[i + 1])
        == 10 * wide(carry[i]) + wide(total[i + 1])
        for i in range(digits)
    }
    rules["nothing is carried in"] = carry[digits] == 0
    rules["s0 is carried out"] = wide(total[0]) == wide(carry[0])
    rules |= {f"{digit} is a digit": z3.ULE(digit, 9) for digit in (*a, *b, *total)}
    return Theory(rules, inputs=[*a, *b], outputs=total)


class MnistAddition:
    """Read two images of digits and add them, having seen only some of the 100 pairs of digits.

    Args:
        digits: Images to draw pairs from.
        percent: How many of the pairs training shows. 10 % are the equal pairs, (0, 0) to (9, 9);
            more adds others in a fixed random order. Tests draw from all pairs.
    """

    name = "mnist-addition"

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

    @property
    def picture_title(self) -> str:
        """What a picture of test rows shows."""
        return "MNIST addition: bits the network read, and the solver's sum"

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
