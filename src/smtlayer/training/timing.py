"""This file times epochs: methods take turns in one process, which gives fair ratios."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from smtlayer.errors import ConfigError
from smtlayer.training.build import make_task
from smtlayer.training.config import RunConfig
from smtlayer.training.records import here, write_json
from smtlayer.training.trainer import Epoch, Trainer

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
    workers: int  # processes that shared the solver's questions
    device: str

    def write(self, folder: Path, device: str) -> Path:
        """Writes `METHOD-timing.json` into a folder."""
        return write_json(folder / f"{self.method}-timing.json", asdict(self) | here(device))


def time_epochs(
    configs: Mapping[str, RunConfig], epochs: int, data_dir: Path | None = None
) -> list[Timing]:
    """Times epochs of the phase "train" of each method of a row, in turns.

    Each method does one epoch more than is timed, first: the first one pays for set-up. The
    conventional network is given each method's batch size, whatever its own training uses.

    Args:
        configs: By method; `"conventional"` is one of them.
        epochs: How many of each to time.
        data_dir: The data folder.
    """
    if _CONVENTIONAL not in configs:
        raise ConfigError(f"Timing compares with the method {_CONVENTIONAL!r}: name it too.")
    methods = {name: config for name, config in configs.items() if name != _CONVENTIONAL}
    dense = configs[_CONVENTIONAL]
    sizes = {config.train.batch_size for config in methods.values()}
    beside = {size: replace(dense, train=replace(dense.train, batch_size=size)) for size in sizes}
    turns: dict[str | int, Iterator[list[Epoch]]] = {}
    every: list[tuple[str | int, RunConfig]] = [*beside.items(), *methods.items()]
    for key, config in every:
        task = make_task(config.task, data_dir)
        turns[key] = Trainer(task, config).in_turns(epochs + 1)
    for _ in range(epochs + 1):
        for turn in turns.values():
            next(turn)
    seconds = {
        key: _mean([epoch.seconds for epoch in next(turn)][1:]) for key, turn in turns.items()
    }
    timings = []
    for name, config in methods.items():
        mine, base = seconds[name], seconds[config.train.batch_size]
        workers = 0 if config.layer is None else config.layer.workers
        timings.append(
            Timing(config.row, name, mine, base, mine / base, epochs, workers, config.device)
        )
    return timings


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
