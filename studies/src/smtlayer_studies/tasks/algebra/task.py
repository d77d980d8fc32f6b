"""This file holds visual algebra: solve a·x + b = c for x, the numbers being images."""

from functools import cached_property
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer.nn import SMTLayer
from smtlayer.theory import Theory
from smtlayer_studies.tasks.algebra.data import EQUALS, LETTER, PLUS, TIMES, AlgebraSymbols
from smtlayer_studies.tasks.algebra.distillation import Pupil
from smtlayer_studies.tasks.algebra.network import OrderedReader, WholeImageNetwork
from smtlayer_studies.tasks.algebra.placement_search import Scouts
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.base import Rows, SplitName
from smtlayer_studies.tasks.images import ImagesView
from smtlayer_studies.tasks.mnist import DigitData, Digits
from smtlayer_studies.tasks.networks import DenseHead, DigitAutoencoder, DigitNetwork
from smtlayer_studies.tasks.view import View

Configuration = Literal[1, 2]
NetworkName = Literal["paper", "ordered"]


_PAIRS = torch.cartesian_prod(torch.arange(1, 10), torch.arange(1, 10, 2))  # (45, 2): a, odd x


class VisualAlgebra:
    """Read a handwritten equation a·x + b = c and solve it, x from 1 to 9 being the only label.

    Training shows equations with a = b and odd x; tests draw a, b and x from 1 to 9.

    Args:
        digits: Images of the digits of a, b and c = 10·c1 + c2.
        symbols: Images of letters and operators, for configuration 2.
        configuration: What the network sees: 1 the four digits, each by itself, 2 the equation as
            one image of eight symbols, `a · x + b ≐ c1 c2`.
        network: Who reads configuration 2: `"paper"` for the paper's network, `"ordered"` for one
            that reads symbol by symbol, from left to right.
        apart: How many of the 45 pairs of a and x are kept from training and make up the validation
            rows: validation on equations of kinds that training does not show.

    Raises:
        MissingDataError: For configuration 2 without symbols.
    """

    name = "visual-algebra"
    view: View = ImagesView(
        "Visual algebra: bits the network read, and the solver's x", per_report=4
    )

    def __init__(
        self,
        digits: DigitData,
        symbols: AlgebraSymbols | None = None,
        configuration: Configuration = 1,
        network: NetworkName = "paper",
        apart: int = 0,
    ) -> None:
        _check(symbols, configuration, network)
        if not 0 <= apart < len(_PAIRS):
            raise ConfigError(
                f"visual-algebra: apart must be from 0 to {len(_PAIRS) - 1} of the {len(_PAIRS)} "
                f"pairs of a and x. Got {apart}."
            )
        self.configuration = configuration
        self.apart = apart
        self.reader = network
        self._digits = digits
        self._symbols = symbols if configuration == 2 else None
        if self._symbols is not None and self._symbols.validation is None:
            self._symbols = self._symbols.with_validation(_validation_share(digits))
        self._images: dict[SplitName, Digits] = {}

    @property
    def data(self) -> str:
        """The sources of the images, such as `"mnist"` or `"mnist+emnist-letters(a-m)+hasy"`."""
        digits = self._digits.source
        return digits if self._symbols is None else f"{digits}+{self._symbols.source}"

    @property
    def data_title(self) -> str:
        """The data for people."""
        if self._symbols is None:
            return self._digits.title
        return f"{self._digits.title}, with EMNIST letters (a to m) and HASY operators"

    @cached_property
    def theory(self) -> Theory:
        """The equation, and that its numbers are digits."""
        return algebra_theory()

    def rows(self, split: SplitName, count: int = 60_000, seed: int = 0, epoch: int = 0) -> Rows:
        """Random equations: all of them in test, else those with a = b and odd x."""
        generator = torch.Generator().manual_seed(seed * 1009 + epoch)
        a, b, x = self._problems(split, count, generator)
        c = a * x + b
        read = torch.stack([a, b, c // 10, c % 10], dim=-1)  # (N, 4)
        by_pairs = split == "validation" and self.apart and self._digits.validation is None
        images = self._split("train" if by_pairs else split)
        shown = read if self.configuration == 1 else _written(read)
        return Rows(
            images.draw(shown, generator),
            self._targets[x],
            self._bits[read].flatten(1),
            (a == b) & (x % 2 == 1),
            bank=images.images,
            side_by_side=self.configuration == 2,
        )

    def network(self) -> nn.Module:
        """The paper's digit reader, shared by the four digits, or one for the whole image."""
        if self.configuration == 1:
            return DigitNetwork()
        return WholeImageNetwork() if self.reader == "paper" else OrderedReader()

    def head(self) -> nn.Module:
        """One hidden layer of 512."""
        return DenseHead(self.theory.n_inputs, self.theory.n_outputs)

    def autoencoder(self, network: nn.Module) -> nn.Module:
        """Rebuilds the images of digits from what the network makes of them."""
        if self.configuration == 2:
            raise ConfigError(
                "visual-algebra: only configuration 1, which sees single digits, pre-trains as an "
                "auto-encoder. Got configuration 2; pre-train with the dense head instead."
            )
        return DigitAutoencoder(network)

    def scouts(self, network: nn.Module, layer: SMTLayer) -> nn.Module:
        """Finds out where in the whole image the digits are."""
        if not isinstance(network, OrderedReader):
            raise ConfigError(
                "visual-algebra: scouts find places for the network 'ordered' of configuration 2. "
                f"Got {type(network).__name__}."
            )
        return Scouts(network, layer)

    def teacher(self) -> nn.Module:
        """The network `"ordered"`, for configuration 2."""
        return OrderedReader()

    def pupil(self, network: nn.Module, teacher: nn.Module) -> nn.Module:
        """Learns to read the whole image as the teacher does."""
        if not isinstance(network, WholeImageNetwork) or not isinstance(teacher, OrderedReader):
            raise ConfigError(
                "visual-algebra: an 'ordered' reader teaches the network 'paper' of configuration "
                f"2. Got {type(network).__name__}."
            )
        return Pupil(network, teacher)

    def _problems(
        self, split: SplitName, count: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values of a, b and x: (N,) each."""
        if split == "test":
            a, b, x = torch.randint(1, 10, (3, count), generator=generator)
            return a, b, x
        order = torch.randperm(len(_PAIRS), generator=torch.Generator().manual_seed(0))
        cut = len(_PAIRS) - self.apart
        pairs = _PAIRS[order[cut:] if split == "validation" and self.apart else order[:cut]]
        a, x = pairs[torch.randint(len(pairs), (count,), generator=generator)].T
        return a, a, x

    def _split(self, split: SplitName) -> Digits:
        """The images of a split: digits, and for configuration 2 symbols as well."""
        if split not in self._images:
            images = self._digits.split(split)
            symbols = None if self._symbols is None else self._symbols.split(split)
            if symbols is not None:  # labels ascend: symbols come after the digits
                images = Digits(
                    torch.cat([images.images, symbols.images]),
                    torch.cat([images.labels, symbols.labels]),
                )
            self._images[split] = images
        return self._images[split]

    @cached_property
    def _targets(self) -> Tensor:
        return (self.theory.encode_outputs(x=range(10)) > 0).float()  # (10, 4)

    @cached_property
    def _bits(self) -> Tensor:
        return self.theory.encode(a=range(10))[:, :4]  # (10, 4)


def _check(symbols: AlgebraSymbols | None, configuration: int, network: str) -> None:
    if configuration not in get_args(Configuration):
        raise ConfigError(f"visual-algebra: configuration must be 1 or 2. Got {configuration!r}.")
    if network not in get_args(NetworkName):
        raise ConfigError(f"visual-algebra: network must be 'paper' or 'ordered'. Got {network!r}.")
    if configuration == 1 and network == "ordered":
        raise ConfigError(
            "visual-algebra: network 'ordered' reads the whole image, which only configuration 2 "
            "shows. Got configuration 1; use network 'paper' or configuration 2."
        )
    if configuration == 2 and symbols is None:
        raise MissingDataError(
            "visual-algebra: configuration 2 needs images of letters and operators, which no "
            "sample has. Put the files that `smtlayer data` lists for it into the data folder, "
            "or use configuration 1."
        )


def _written(read: Tensor) -> Tensor:
    """The labels of a · x + b ≐ c1 c2, from those of the digits: (N, 4) to (N, 8)."""
    line = torch.tensor([0, TIMES, LETTER, PLUS, 0, EQUALS, 0, 0]).repeat(len(read), 1)
    line[:, [0, 4, 6, 7]] = read
    return line


def _validation_share(digits: DigitData) -> float:
    """Which share of the training images is set apart."""
    if digits.validation is None:
        return 0.0
    apart = len(digits.validation.labels)
    return apart / (apart + len(digits.train.labels))
