"""This file times epochs: methods take turns in one process, which gives fair ratios."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from smtlayer.errors import ConfigError
from smtlayer.training.build import make_task
from smtlayer.training.config import RunConfig
from smtlayer.training.records import here, write_json
from smtlayer.training.trainer import Trainer

_CONVENTIONAL = "conventional"


@dataclass(frozen=True)
class Timing:
    """Mean seconds of an epoch of a method, and of the conventional network beside it."""

    row: str
    method: str
    epoch_seconds: float
    conventional_epoch_seconds: float
    ratio: float
    epochs: int
    device: str

    def write(self, folder: Path, device: str) -> Path:
        """Writes `METHOD-timing.json` into a folder."""
        return write_json(folder / f"{self.method}-timing.json", asdict(self) | here(device))


def time_epochs(
    configs: Mapping[str, RunConfig], epochs: int, data_dir: Path | None = None
) -> list[Timing]:
    """Times epochs of the phase "train" of each method of a row, in turns.

    Each method does one epoch more than is timed, first: the first one pays for set-up.

    Args:
        configs: By method; `"conventional"` is one of them.
        epochs: How many of each to time.
        data_dir: The data folder.
    """
    if _CONVENTIONAL not in configs:
        raise ConfigError(f"Timing compares with the method {_CONVENTIONAL!r}: name it too.")
    turns = {}
    for method, config in configs.items():
        task = make_task(config.task, data_dir)
        turns[method] = Trainer(task, config).in_turns(epochs + 1)
    for _ in range(epochs + 1):
        for turn in turns.values():
            next(turn)
    seconds = {}
    for method, turn in turns.items():
        timed = [epoch.seconds for epoch in next(turn)][1:]
        seconds[method] = sum(timed) / len(timed)
    base = seconds[_CONVENTIONAL]
    return [
        Timing(configs[method].row, method, mean, base, mean / base, epochs, config.device)
        for (method, mean), config in zip(seconds.items(), configs.values(), strict=True)
        if method != _CONVENTIONAL
    ]
