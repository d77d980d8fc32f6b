"""This file holds the options of a training run."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

from smtlayer.errors import ConfigError


def check_device(name: str) -> None:
    """Raises unless torch can put tensors on the device of this name."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ConfigError(f"The device {name!r} cannot be used: {reason}.") from error


@dataclass(frozen=True)
class TrainOptions:
    """How to train: what does not belong to the task or the layer."""

    epochs: int = 5
    rows: int = 60_000  # drawn anew for each epoch
    batch_size: int = 128
    optimizer: Literal["adam", "sgd"] = "adam"
    lr: float = 1e-3
    warmup: float = 0.05  # share of the steps over which the learning rate rises
    decay: float = 0.4  # share of the steps at the end over which it falls, as a cosine
    clip: float = 0.1  # norm that gradients are clipped to
    test_rows: int = 10_000
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("epochs", "rows", "batch_size", "lr", "clip", "test_rows"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be above 0. Got {getattr(self, name)!r}.")
        check_device(self.device)

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return max(1, self.rows // self.batch_size)

    def as_dict(self) -> dict[str, Any]:
        """For records."""
        return asdict(self)
