"""Seconds per epoch: methods alternate in one process, which gives fair ratios."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev

from smtlayer.errors import ConfigError
from smtlayer_cli.provenance import here
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.runs.records import Epoch, write_json
from smtlayer_studies.runs.run_options import PretrainOptions
from smtlayer_studies.runs.trainer import Trainer
from smtlayer_studies.tasks.options import make_task

_THEORY = ("as_printed",)  # options of tasks that only the layer depends on


@dataclass(frozen=True)
class Timing:
    """Seconds per epoch of a method and of the conventional network.

    Attributes:
        seconds: Seconds of each timed epoch; epochs i of the two methods ran one after the other.
        conventional_seconds: The same for the conventional network.
        ratio: Ratio of the mean seconds.
        ratio_sd: Sample standard deviation of the ratios of epochs i.
    """

    experiment: str
    method: str
    epoch_seconds: float
    conventional_epoch_seconds: float
    ratio: float
    ratio_sd: float | None
    seconds: tuple[float, ...]
    conventional_seconds: tuple[float, ...]
    epochs: int
    workers: int  # processes of the solver
    device: str

    def write(self, folder: Path, device: str) -> Path:
        """Writes `METHOD-timing.json` into a folder."""
        return write_json(folder / f"{self.method}-timing.json", asdict(self) | here(device))


def time_epochs(
    configs: Iterable[RunConfig], epochs: int, data_dir: Path | None = None
) -> list[Timing]:
    """Times epochs of the phase "train" of several methods, alternately.

    Each method is compared with the same configuration and a dense head in place of the layer: the
    same network, examples, batches, optimiser and shifts, so that the ratio is the cost of the
    layer. Methods that differ in nothing else share it. The first epoch of each includes set-up
    and is not timed.

    Args:
        configs: The methods; those without a layer are ignored.
        epochs: Number of epochs to time.
        data_dir: The data folder.
    """
    methods = [config for config in configs if config.layer is not None]
    if not methods:
        raise ConfigError(
            "Timing needs a method with a layer, which it compares with a dense head."
        )
    turns: dict[object, Iterator[Epoch]] = {}
    for config in methods:
        train = replace(config.train, epochs=epochs + 1)
        own = replace(config, train=train, pretrain=PretrainOptions())
        for key, one in ((_key(config), replace(own, layer=None)), (config.method, own)):
            if key not in turns:
                turns[key] = Trainer(make_task(one.task, data_dir), one).each_epoch()
    seconds: dict[object, list[float]] = {key: [] for key in turns}
    for _ in range(epochs + 1):
        for name, turn in turns.items():
            seconds[name].append(next(turn).seconds)
    return [
        _timing(config, seconds[config.method][1:], seconds[_key(config)][1:]) for config in methods
    ]


def _key(config: RunConfig) -> tuple[object, ...]:
    """All that the time of a conventional epoch depends on."""
    train, task = config.train, {k: v for k, v in config.task.items() if k not in _THEORY}
    return (
        train.batch_size, train.rows, train.optimizer, train.shift, train.clip > 0,
        tuple(sorted(task.items())),
    )  # fmt: skip


def _timing(config: RunConfig, ours: list[float], beside: list[float]) -> Timing:
    ratios = [one / other for one, other in zip(ours, beside, strict=True)]
    mean, base = fmean(ours), fmean(beside)
    workers = 0 if config.layer is None else config.layer.workers
    return Timing(
        config.experiment, config.method, mean, base, mean / base,
        stdev(ratios) if len(ratios) > 1 else None, tuple(ours), tuple(beside), len(ours),
        workers, config.device,
    )  # fmt: skip
