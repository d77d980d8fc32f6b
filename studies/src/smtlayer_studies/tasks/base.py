"""This file says what a task is, and holds the network that carries a layer."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.nn import SMTLayer
from smtlayer.theory import Theory

if TYPE_CHECKING:  # views are about batches
    from smtlayer_studies.tasks.view import View

SplitName = Literal["train", "validation", "test"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of a data set: what the network sees, what it must say, and the hidden truth."""

    features: Tensor  # (B, ...)
    targets: Tensor  # (B, m) float, 0 or 1: the outputs wanted
    symbols: Tensor  # (B, n) int8: the true inputs, never shown in training; 0 where not known
    seen: Tensor  # (B,) bool: whether training shows this combination of symbols
    known: Tensor | None = None  # (B, n) bool: inputs that the network sets; None for all
    asked: Tensor | None = None  # (B, m) bool: outputs that the loss looks at; None for all

    def to(self, device: torch.device) -> "Batch":
        """The same rows on a device."""
        return _moved(self, device)

    def correct(self, outputs: Tensor, *, all_outputs: bool) -> Tensor:
        """Examples whose outputs all have the right sign; zeros are wrong: (B,) bool.

        Args:
            outputs: (B, m), of a layer or a conventional head.
            all_outputs: Whether outputs that the loss ignores count, too.
        """
        right = ((outputs > 0) == (self.targets > 0.5)) & (outputs != 0)
        if self.asked is not None and not all_outputs:
            right = right | ~self.asked
        return right.all(-1)

    def pick(self, index: Tensor) -> "Batch":
        """Some of the rows."""
        parts = [getattr(self, f.name) for f in fields(self)]
        return Batch(*(None if part is None else part[index] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a split. Images are kept once, in a bank, and rows name them by number."""

    items: Tensor  # (N, ...) int64: numbers of images in the bank, or the features themselves
    targets: Tensor  # (N, m) float
    symbols: Tensor  # (N, n) int8
    seen: Tensor  # (N,) bool
    known: Tensor | None = None  # (N, n) bool
    asked: Tensor | None = None  # (N, m) bool
    bank: Tensor | None = None  # (M, height, width) uint8, 0 for paper and 255 for ink
    side_by_side: bool = False  # the images of a row are one wide image

    def __len__(self) -> int:
        return len(self.items)

    def to(self, device: torch.device) -> "Rows":
        """The same rows, and the bank, on a device."""
        return _moved(self, device)

    def batch(self, index: Tensor) -> Batch:
        """The rows of these numbers; features are images with values from 0 to 1, or the items."""
        features = self.items[index]
        if self.bank is not None:
            features = self.bank[features].float() / 255  # (B, ..., height, width)
            if self.side_by_side:
                features = features.movedim(1, 2).flatten(2)  # (B, height, all widths)
        known = None if self.known is None else self.known[index]
        asked = None if self.asked is None else self.asked[index]
        return Batch(
            features, self.targets[index], self.symbols[index], self.seen[index], known, asked
        )


class Task(Protocol):
    """A problem to train on: a theory, data, and a network that reads the theory's inputs."""

    @property
    def name(self) -> str:
        """As the command line has it."""

    @property
    def theory(self) -> Theory:
        """What is known of the problem."""

    @property
    def data(self) -> str:
        """Which data are used, for the record."""

    @property
    def data_title(self) -> str:
        """The same for people."""

    @property
    def view(self) -> "View":
        """How examples are shown."""

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """Rows of a split, the same for the same arguments.

        Args:
            split: Validation rows are apart from the training rows and show what training shows.
            count: How many, where rows are drawn; tasks with fixed sets take all of them (or
                the first `count`, if that is fewer).
            seed: Of the draw.
            epoch: Tasks that draw their rows draw anew for each epoch.
        """

    def network(self) -> nn.Module:
        """A new network from features to logits, one a theory input."""

    def head(self) -> nn.Module:
        """What stands in the layer's place in a conventional network."""

    def autoencoder(self, network: nn.Module) -> nn.Module:
        """A module from features to the error of rebuilding them, which trains the network.

        Raises:
            ConfigError: If the task has none.
        """


@runtime_checkable
class Scouting(Protocol):
    """A task whose network must first find out where to look."""

    def scouts(self, network: nn.Module, layer: SMTLayer) -> nn.Module:
        """A module from a `Batch` to a loss and an accuracy, which settles where to look."""


@runtime_checkable
class Teaching(Scouting, Protocol):
    """A task that has a network of its own, which can teach another."""

    def teacher(self) -> nn.Module:
        """A new network that `scouts` prepares, and that then trains with the layer."""

    def pupil(self, network: nn.Module, teacher: nn.Module) -> nn.Module:
        """A module from a `Batch` to a loss and a share, by which a network learns from it."""


class Model(nn.Module):
    """A network with a layer, or a conventional head, on top."""

    def __init__(self, network: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.head = head

    def forward(self, features: Tensor, known: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The logits between network and head, and the outputs."""
        logits = self.network(features)
        if isinstance(self.head, SMTLayer):
            return logits, self.head(logits, known)
        return logits, self.head(logits)

    @property
    def layer(self) -> SMTLayer | None:
        """The layer, if the head is one."""
        return self.head if isinstance(self.head, SMTLayer) else None


def check_validation(who: str, share: float) -> None:
    """Raises unless such a share of the training rows can be set apart for validation."""
    if not 0 <= share < 1:
        raise ConfigError(f"{who}: validation must be from 0 to below 1. Got {share}.")


def count_apart(who: str, what: str, count: int, share: float) -> int:
    """How many of the training rows are set apart for validation.

    Raises:
        ConfigError: If all are, or none although a share was asked for.
    """
    apart = round(count * share)
    if share and not 0 < apart < count:
        raise ConfigError(
            f"{who}: validation must leave {what} for training and for validation. "
            f"Got {share}, which sets {apart} of {count} apart."
        )
    return apart


_Part = TypeVar("_Part", Batch, Rows)


def _moved(part: _Part, device: torch.device) -> _Part:
    """A copy of a dataclass with all of its tensors on a device."""
    values: dict[str, Any] = {f.name: getattr(part, f.name) for f in fields(part)}
    moved: dict[str, Any] = {n: v.to(device) for n, v in values.items() if isinstance(v, Tensor)}
    return replace(part, **moved)
