"""This file says what a task is, and holds the network that carries a layer."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from smtlayer.nn import SMTLayer
from smtlayer.tasks.mnist import SplitName
from smtlayer.theory import Theory


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of a data set: what the network sees, what it must say, and the hidden truth."""

    features: Tensor  # (B, ...)
    targets: Tensor  # (B, m) float, 0 or 1: the outputs wanted
    symbols: Tensor  # (B, n) int8: the true inputs, never shown in training
    seen: Tensor  # (B,) bool: whether training shows this combination of symbols

    def to(self, device: torch.device) -> "Batch":
        """The same rows on a device."""
        parts = (self.features, self.targets, self.symbols, self.seen)
        return Batch(*(part.to(device) for part in parts))


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
    def picture_title(self) -> str:
        """What a picture of test rows shows."""

    def draw(self, split: SplitName, count: int, generator: torch.Generator) -> Batch:
        """Random rows of a split."""

    def network(self) -> nn.Module:
        """A new network from features to logits, one a theory input."""

    def head(self) -> nn.Module:
        """What stands in the layer's place in a conventional network."""


class Model(nn.Module):
    """A network with a layer, or a conventional head, on top."""

    def __init__(self, network: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.head = head

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The logits between network and head, and the outputs."""
        logits = self.network(features)
        return logits, self.head(logits)

    @property
    def layer(self) -> SMTLayer | None:
        """The layer, if the head is one."""
        return self.head if isinstance(self.head, SMTLayer) else None
