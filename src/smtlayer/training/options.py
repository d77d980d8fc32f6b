"""This file holds the options of a training run."""

from dataclasses import asdict, dataclass
from typing import Any, Literal


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

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return max(1, self.rows // self.batch_size)

    def as_dict(self) -> dict[str, Any]:
        """For records."""
        return asdict(self)
