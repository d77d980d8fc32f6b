"""The protocol of a task, its batches, and the model that puts a layer on top of a network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.nn import SMTLayer
from smtlayer.theory import Theory

if TYPE_CHECKING:  # views show batches
    from smtlayer_studies.tasks.view import View

Combinations = Sequence[Sequence[int]]  # each has one value per input symbol
SplitName = Literal["train", "validation", "test"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Examples of a data set: features, labels, and the hidden symbols."""

    features: Tensor  # (B, ...)
    targets: Tensor  # (B, m) float, 0 or 1: the outputs wanted
    symbols: Tensor  # (B, n) int8: the true inputs, never used in training; 0 where not known
    seen: Tensor  # (B,) bool: whether training shows this combination of symbols
    known: Tensor | None = None  # (B, n) bool: inputs that the network sets; None for all
    asked: Tensor | None = None  # (B, m) bool: outputs that enter the loss; None for all
    facts: Tensor | None = None  # (B, n) int8: signs of inputs that are facts, else 0
    labels: Tensor | None = None  # (B, n) int8: the same for inputs that have a label themselves

    @property
    def given(self) -> Tensor | None:
        """The inputs that are facts, as `SMTLayer` expects them: (B, n) bool."""
        return None if self.facts is None else self.facts != 0

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return _moved(self, device)

    def correct(self, outputs: Tensor, *, all_outputs: bool) -> Tensor:
        """Examples whose outputs all have the right sign; zeros are wrong: (B,) bool.

        Args:
            outputs: (B, m), of a layer or a conventional head.
            all_outputs: Whether outputs that do not enter the loss count, too.
        """
        right = ((outputs > 0) == (self.targets > 0.5)) & (outputs != 0)
        if self.asked is not None and not all_outputs:
            right = right | ~self.asked
        return right.all(-1)

    def pick(self, index: Tensor) -> "Batch":
        """Some of the examples."""
        parts = [getattr(self, f.name) for f in fields(self)]
        return Batch(*(None if part is None else part[index] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Rows:
    """All examples of a split. Images are stored once, in a bank, and referred to by index."""

    items: Tensor  # (N, ...) int64: indices of images in the bank, or the features themselves
    targets: Tensor  # (N, m) float
    symbols: Tensor  # (N, n) int8
    seen: Tensor  # (N,) bool
    known: Tensor | None = None  # (N, n) bool
    asked: Tensor | None = None  # (N, m) bool
    facts: Tensor | None = None  # (N, n) int8
    labels: Tensor | None = None  # (N, n) int8
    bank: Tensor | None = None  # (M, height, width) uint8, 0 for paper and 255 for ink
    side_by_side: bool = False  # the images of an example form one wide image

    def __len__(self) -> int:
        return len(self.items)

    def to(self, device: torch.device) -> "Rows":
        """The same examples, and the bank, on a device."""
        return _moved(self, device)

    def batch(self, index: Tensor) -> Batch:
        """The examples at these positions; images get values from 0 to 1."""
        features = self.items[index]
        if self.bank is not None:
            features = self.bank[features].float() / 255  # (B, ..., height, width)
            if self.side_by_side:
                features = features.movedim(1, 2).flatten(2)  # (B, height, all widths)
        options = (self.known, self.asked, self.facts, self.labels)
        return Batch(
            features, self.targets[index], self.symbols[index], self.seen[index],
            *(None if option is None else option[index] for option in options),
        )  # fmt: skip


@dataclass(frozen=True)
class Pretraining:
    """Ways to prepare the network of a task before it trains with the layer; None for none.

    Args:
        initialize: Sets weights of a new network from data.
        autoencoder: Makes a module from features to the error of reconstructing them, which
            trains the network.
        placement_search: Makes a module from a `Batch` to a loss and an accuracy, which finds out
            where in an image the network should read.
        teacher: Makes a network that `placement_search` prepares and that then trains with the
            layer.
        distillation: Makes a module from a `Batch` to a loss and an accuracy, by which a network
            learns from a trained teacher.
    """

    initialize: Callable[[nn.Module], None] | None = None
    autoencoder: Callable[[nn.Module], nn.Module] | None = None
    placement_search: Callable[[nn.Module, SMTLayer], nn.Module] | None = None
    teacher: Callable[[], nn.Module] | None = None
    distillation: Callable[[nn.Module, nn.Module], nn.Module] | None = None


class Task(Protocol):
    """A problem to train on: a theory, data, a network that reads the theory's inputs, a view.

    A task is made of its options. Only `rows`, `data_source` and `data_title` need its data, and
    so does `pretraining.initialize`.
    """

    @property
    def name(self) -> str:
        """As in `task.name` of an experiment."""

    @property
    def theory(self) -> Theory:
        """The constraints between symbols and labels."""

    @property
    def view(self) -> "View":
        """How examples are shown."""

    @property
    def pretraining(self) -> Pretraining:
        """How the network can be prepared."""

    @property
    def data_source(self) -> str:
        """Which data are used, for the record: `"sample"` if they are only a sample.

        Raises:
            MissingDataError: If they are not there.
        """

    @property
    def data_title(self) -> str:
        """The data in words."""

    @property
    def scored_split(self) -> SplitName:
        """`"validation"` if options set examples apart for validation, else `"test"`."""

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """Examples of a split, the same for the same arguments.

        Args:
            split: Validation examples are not in training and show what training shows.
            count: How many, where examples are drawn; tasks with fixed sets return all of them,
                or the first `count` if that is fewer.
            seed: Of the draw.
            epoch: Tasks that draw their examples draw new ones for each epoch.

        Raises:
            MissingDataError: If the data are not there.
            ConfigError: If the task has no such split.
        """

    def network(self) -> nn.Module:
        """A new network from features to logits, one per theory input."""


class Model(nn.Module):
    """A network with a layer, or a conventional head, on top."""

    def __init__(self, network: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.head = head

    def forward(
        self, features: Tensor, known: Tensor | None = None, facts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The logits between network and head, and the outputs."""
        logits = with_facts(self.network(features), facts)
        if isinstance(self.head, SMTLayer):
            return logits, self.head(logits, known, None if facts is None else facts != 0)
        return logits, self.head(logits)

    @property
    def layer(self) -> SMTLayer | None:
        """The layer, if the head is one."""
        return self.head if isinstance(self.head, SMTLayer) else None


def with_facts(logits: Tensor, facts: Tensor | None) -> Tensor:
    """The logits with the signs of the facts in their place, which have no gradient."""
    return logits if facts is None else torch.where(facts != 0, facts.to(logits), logits)


def check_validation(name: str, share: float) -> None:
    """Raises unless the share is from 0 to below 1."""
    if not 0 <= share < 1:
        raise ConfigError(f"{name}: validation must be from 0 to below 1. Got {share}.")


def count_apart(name: str, noun: str, count: int, share: float) -> int:
    """How many training examples a share sets apart for validation.

    Raises:
        ConfigError: If these are all, or none although the share is not 0.
    """
    apart = round(count * share)
    if share and not 0 < apart < count:
        raise ConfigError(
            f"{name}: validation must leave {noun} for training and for validation. "
            f"Got {share}, which sets {apart} of {count} apart."
        )
    return apart


_Part = TypeVar("_Part", Batch, Rows)


def _moved(part: _Part, device: torch.device) -> _Part:
    """A copy of a dataclass with all of its tensors on a device."""
    values: dict[str, Any] = {f.name: getattr(part, f.name) for f in fields(part)}
    moved: dict[str, Any] = {n: v.to(device) for n, v in values.items() if isinstance(v, Tensor)}
    return replace(part, **moved)
