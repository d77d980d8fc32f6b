"""The task visual algebra: its data, networks and view."""

from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, final, get_args

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.nn import SMTLayer
from smtlayer.theory import Theory
from smtlayer_studies.tasks.algebra.data import (
    EQUALS,
    LETTER,
    PLUS,
    TIMES,
    AlgebraSymbols,
    load_symbols,
)
from smtlayer_studies.tasks.algebra.distillation import Distillation
from smtlayer_studies.tasks.algebra.network import OrderedReader, WholeImageNetwork
from smtlayer_studies.tasks.algebra.placement_search import PlacementSearch
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.base import Pretraining, Rows, SplitName, check_validation
from smtlayer_studies.tasks.images import ImagesView
from smtlayer_studies.tasks.mnist import DigitData, Digits, Source, load_digits
from smtlayer_studies.tasks.networks import DigitAutoencoder, DigitNetwork
from smtlayer_studies.tasks.view import View

Configuration = Literal[1, 2]
NetworkName = Literal["paper", "ordered"]
_PAIRS = torch.cartesian_prod(torch.arange(1, 10), torch.arange(1, 10, 2))  # (45, 2): a, odd x


@final
class VisualAlgebra:
    """Read a handwritten equation a·x + b = c and solve it, x from 1 to 9 being the only label.

    Training shows equations with a = b and odd x; tests draw a, b and x from 1 to 9.

    Args:
        configuration: What the network sees: 1 the four digits of a, b and c = 10·c1 + c2, each by
            itself, 2 the equation as one image of eight symbols, `a · x + b ≐ c1 c2`.
        network: The network for configuration 2: `"paper"` for the paper's network, `"ordered"`
            for one that reads symbol by symbol, from left to right.
        data: Which images of digits to use; see `load_digits`.
        validation: Share of the training images that is set apart for validation.
        apart: How many of the 45 pairs of a and x are kept from training and make up the validation
            examples: validation on equations of kinds that training does not show.
        data_dir: The data folder.
        digits: Images of digits to use instead of those that `data` names.
        symbols: Images of letters and operators to use instead of those in the data folder.
    """

    name: ClassVar[str] = "visual-algebra"
    view: ClassVar[View] = ImagesView(
        "Visual algebra: bits the network read, and the solver's x", per_report=4
    )

    def __init__(
        self,
        *,
        configuration: Configuration = 1,
        network: NetworkName = "paper",
        data: Source = "auto",
        validation: float = 0.0,
        apart: int = 0,
        data_dir: Path | None = None,
        digits: DigitData | None = None,
        symbols: AlgebraSymbols | None = None,
    ) -> None:
        _check(configuration, network, apart)
        check_validation("images", validation)
        self.configuration = configuration
        self.reader = network
        self.data: Source = data
        self.validation = validation
        self.apart = apart
        self.data_dir = data_dir
        self._given = digits, symbols
        self._banks: dict[SplitName, Digits] = {}

    def __repr__(self) -> str:
        return (
            f"VisualAlgebra(configuration={self.configuration}, network={self.reader!r}, "
            f"data={self.data!r}, validation={self.validation}, apart={self.apart})"
        )

    @property
    def data_source(self) -> str:
        """The sources of the images, such as `"mnist"` or `"mnist+emnist-letters(a-m)+hasy"`."""
        digits = self._digits.source
        return digits if self._symbols is None else f"{digits}+{self._symbols.source}"

    @property
    def data_title(self) -> str:
        """The data in words."""
        if self._symbols is None:
            return self._digits.title
        return f"{self._digits.title}, with EMNIST letters (a to m) and HASY operators"

    @property
    def scored_split(self) -> SplitName:
        """Which split is scored."""
        return "validation" if self.validation or self.apart else "test"

    @cached_property
    def theory(self) -> Theory:
        """The equation, with the ranges of its numbers."""
        return algebra_theory()

    @property
    def shown(self) -> Tensor:
        """The values of a and x in training, where b = a: (45 - apart, 2)."""
        return self._pairs[: len(_PAIRS) - self.apart]

    def rows(self, split: SplitName, count: int = 60_000, seed: int = 0, epoch: int = 0) -> Rows:
        """Random equations: all of them in test, else those with a = b and odd x."""
        generator = torch.Generator().manual_seed(seed * 1009 + epoch)
        a, b, x = self._problems(split, count, generator)
        c = a * x + b
        read = torch.stack([a, b, c // 10, c % 10], dim=-1)  # (N, 4)
        by_pairs = split == "validation" and self.apart and self._digits.validation is None
        images = self._bank("train" if by_pairs else split)
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
        """The paper's digit reader, shared by the four digits, or a network for the whole image."""
        if self.configuration == 1:
            return DigitNetwork()
        return WholeImageNetwork() if self.reader == "paper" else OrderedReader()

    @property
    def pretraining(self) -> Pretraining:
        """Single digits are reconstructed; digits in a whole image are located or distilled."""
        if self.configuration == 1:
            return Pretraining(autoencoder=DigitAutoencoder)
        return Pretraining(
            placement_search=_placement_search, teacher=OrderedReader, distillation=_distillation
        )

    def _problems(
        self, split: SplitName, count: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values of a, b and x: (N,) each."""
        if split == "test":
            a, b, x = torch.randint(1, 10, (3, count), generator=generator)
            return a, b, x
        apart = split == "validation" and self.apart
        pairs = self._pairs[len(_PAIRS) - self.apart :] if apart else self.shown
        a, x = pairs[torch.randint(len(pairs), (count,), generator=generator)].T
        return a, a, x

    @cached_property
    def _pairs(self) -> Tensor:
        return _PAIRS[torch.randperm(len(_PAIRS), generator=torch.Generator().manual_seed(0))]

    @cached_property
    def _digits(self) -> DigitData:
        found = self._given[0] or load_digits(self.data, self.data_dir)
        return found.with_validation(self.validation)

    @cached_property
    def _symbols(self) -> AlgebraSymbols | None:
        """Images of letters and operators, for configuration 2."""
        if self.configuration == 1:
            return None
        symbols = self._given[1] or load_symbols(self.data_dir)
        if symbols.validation is not None:
            return symbols
        return symbols.with_validation(_validation_share(self._digits))

    def _bank(self, split: SplitName) -> Digits:
        """The images of a split: digits, and for configuration 2 symbols as well."""
        if split not in self._banks:
            images = self._digits.split(split)
            symbols = None if self._symbols is None else self._symbols.split(split)
            if symbols is not None:  # labels ascend: symbols come after the digits
                images = Digits(
                    torch.cat([images.images, symbols.images]),
                    torch.cat([images.labels, symbols.labels]),
                )
            self._banks[split] = images
        return self._banks[split]

    @cached_property
    def _targets(self) -> Tensor:
        return (self.theory.encode_outputs(x=range(10)) > 0).float()  # (10, 4)

    @cached_property
    def _bits(self) -> Tensor:
        return self.theory.encode(a=range(10))[:, :4]  # (10, 4)


def _check(configuration: int, network: str, apart: int) -> None:
    if configuration not in get_args(Configuration):
        raise ConfigError(f"visual-algebra: configuration must be 1 or 2. Got {configuration!r}.")
    if network not in get_args(NetworkName):
        raise ConfigError(f"visual-algebra: network must be 'paper' or 'ordered'. Got {network!r}.")
    if configuration == 1 and network == "ordered":
        raise ConfigError(
            "visual-algebra: network 'ordered' reads the whole image, which only configuration 2 "
            "shows. Got configuration 1; use network 'paper' or configuration 2."
        )
    if not 0 <= apart < len(_PAIRS):
        raise ConfigError(
            f"visual-algebra: apart must be from 0 to {len(_PAIRS) - 1} of the {len(_PAIRS)} "
            f"pairs of a and x. Got {apart}."
        )


def _placement_search(network: nn.Module, layer: SMTLayer) -> nn.Module:
    if not isinstance(network, OrderedReader):
        raise ConfigError(
            "visual-algebra: the placement search is for the network 'ordered'. "
            f"Got {type(network).__name__}."
        )
    return PlacementSearch(network, layer)


def _distillation(network: nn.Module, teacher: nn.Module) -> nn.Module:
    if not isinstance(network, WholeImageNetwork) or not isinstance(teacher, OrderedReader):
        raise ConfigError(
            "visual-algebra: distillation is from the network 'ordered' to the network 'paper'. "
            f"Got {type(network).__name__}."
        )
    return Distillation(network, teacher)


def _written(read: Tensor) -> Tensor:
    """The labels of a · x + b ≐ c1 c2, from those of the digits: (N, 4) to (N, 8)."""
    line = torch.tensor([0, TIMES, LETTER, PLUS, 0, EQUALS, 0, 0]).repeat(len(read), 1)
    line[:, [0, 4, 6, 7]] = read
    return line


def _validation_share(digits: DigitData) -> float:
    """The share of the training images that is set apart."""
    if digits.validation is None:
        return 0.0
    apart = len(digits.validation.labels)
    return apart / (apart + len(digits.train.labels))
