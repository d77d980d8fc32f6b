"""Results over seeds, from the records and timing records in a folder.

Records are plain data here, as their JSON files hold them.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.reports.differences import differences
from smtlayer_studies.reports.paper import EXPERIMENTS
from smtlayer_studies.reports.published import PUBLISHED, UNTUNED
from smtlayer_studies.runs.records import with_current_names

Record = Mapping[str, Any]
METHODS = ("conventional", "conventional-same-budget", "paper", "best", "one-rule", "no-shift")
LEAST_EPOCHS = 5  # timed epochs that a ratio needs
_RECORD = re.compile(r"(?P<method>.+)-seed(?P<seed>\d+)\.json")
_TIMING = "-timing.json"
_NEEDED = (
    "experiment", "method", "seed", "data", "scores", "epochs", "epoch_seconds", "machine",
    "config",
)  # fmt: skip
_NEEDED_TIMING = (
    "experiment", "method", "epoch_seconds", "conventional_epoch_seconds", "ratio", "device",
    "epochs",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """One method on one experiment, over all seeds.

    Attributes:
        experiment: Name of the experiment.
        method: Name of the method.
        seeds: In increasing order.
        accuracy: Test accuracy of each seed, per cent.
        mean: Mean of the accuracies.
        sd: Sample standard deviation of the accuracies; None for one seed.
        representation: Symbols that the network reads right, per cent, mean of the seeds; None
            without a layer.
        epoch_seconds: Mean seconds per epoch: from the timing record if there is one.
        conventional_seconds: The same with a dense head in place of the layer; None if not timed.
        epoch_ratio: Ratio of the two, timed alternately in one process; None for fewer than five
            timed epochs.
        epoch_ratio_sd: Sample standard deviation of the ratio over the timed epochs.
        timed_epochs: Number of timed epochs; 0 if not timed.
        data: Training data.
        device: Device that the runs used.
        epochs: Epochs of pre-training and of training; the maximum over the seeds.
        differences: Differences from the paper's method, or the settings of an experiment that the
            paper does not have; see `differences`.
        scores: The scores that all seeds have, one per seed, per cent.
    """

    experiment: str
    method: str
    seeds: tuple[int, ...]
    accuracy: tuple[float, ...]
    mean: float
    sd: float | None
    representation: float | None
    epoch_seconds: float
    conventional_seconds: float | None
    epoch_ratio: float | None
    epoch_ratio_sd: float | None
    timed_epochs: int
    data: str
    device: str
    epochs: tuple[int, int]
    differences: tuple[str, ...] = ()
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "experiment": self.experiment,
            "method": self.method,
            "seeds": list(self.seeds),
            "accuracy": list(self.accuracy),
            "mean": self.mean,
            "sd": self.sd,
            "representation": self.representation,
            "epoch_seconds": self.epoch_seconds,
            "conventional_epoch_seconds": self.conventional_seconds,
            "epoch_ratio": self.epoch_ratio,
            "epoch_ratio_sd": self.epoch_ratio_sd,
            "timed_epochs": self.timed_epochs,
            "data": self.data,
            "device": self.device,
            "differences": list(self.differences),
        }


@dataclass(frozen=True)
class Folder:
    """The records of a folder of results."""

    records: tuple[Record, ...]
    timings: tuple[Record, ...]


def left_out(record: Record) -> str:
    """Why a run is left out of all tables; empty if it is not.

    Examples:
        >>> left_out({"data": "sample"}), left_out({"data": "mnist+hasy", "split": "test"})
        ('sample data', '')
    """
    if "sample" in str(record["data"]).split("+"):
        return "sample data"
    return "" if record.get("split", "test") == "test" else "not scored on test examples"


def results_of(records: Iterable[Record], timings: Iterable[Record] = ()) -> list[Result]:
    """Results in the order of the paper's table, then of `METHODS`.

    Args:
        records: Records of runs; see `left_out` for those that are ignored.
        timings: Timing records, one per experiment and method.
    """
    groups: dict[tuple[str, str], dict[int, Record]] = {}
    for record in records:
        if not left_out(record):
            group = groups.setdefault((record["experiment"], record["method"]), {})
            if group.setdefault(record["seed"], record) is not record:
                raise ConfigError(
                    "The table takes one record per experiment, method and seed. Got two of "
                    f"{record['experiment']}, {record['method']}, seed {record['seed']}: "
                    "remove one."
                )
    timed = {
        (timing["experiment"], timing["method"]): timing
        for timing in timings
        if timing["epochs"] >= LEAST_EPOCHS
    }
    return [
        _result([group[seed] for seed in sorted(group)], timed.get(key))
        for key, group in sorted(groups.items(), key=lambda item: _place(*item[0]))
    ]


def results_json(results: Sequence[Result]) -> str:
    """A JSON list with one object per experiment and method; shares are in per cent."""
    return json.dumps([result.as_dict() for result in results], indent=2, allow_nan=False)


def _place(experiment: str, method: str) -> tuple[int, str, int, str]:
    known, methods = [*EXPERIMENTS, *PUBLISHED, *UNTUNED], list(METHODS)
    return (
        known.index(experiment) if experiment in known else len(known), experiment,
        methods.index(method) if method in methods else len(methods), method,
    )  # fmt: skip


def _result(group: Sequence[Record], timing: Record | None) -> Result:
    first = group[0]
    accuracy = tuple(_percent(record, "accuracy") for record in group)
    shared = [name for name in first["scores"] if all(name in r["scores"] for r in group)]
    scores = {name: tuple(_percent(record, name) for record in group) for name in shared}
    read = [_percent(r, "representation") for r in group if "representation" in r["scores"]]
    devices = [record["machine"]["device"] for record in group]
    epochs = [_epochs(record) for record in group]
    return Result(
        experiment=first["experiment"],
        method=first["method"],
        seeds=tuple(record["seed"] for record in group),
        accuracy=accuracy,
        mean=fmean(accuracy),
        sd=stdev(accuracy) if len(accuracy) > 1 else None,
        representation=fmean(read) if read else None,
        # Runs may have shared a device, so a timing record is preferred.
        epoch_seconds=fmean(r["epoch_seconds"] for r in ([timing] if timing else group)),
        conventional_seconds=timing["conventional_epoch_seconds"] if timing else None,
        epoch_ratio=timing["ratio"] if timing else None,
        epoch_ratio_sd=timing.get("ratio_sd") if timing else None,
        timed_epochs=timing["epochs"] if timing else 0,
        data=_listed(record["data"] for record in group),
        device=_listed([*devices, _timed_on(timing)] if timing else devices),
        epochs=(max(before for before, _ in epochs), max(after for _, after in epochs)),
        differences=differences(first),
        scores=scores,
    )


def _timed_on(timing: Record) -> str:
    return str(timing.get("machine", {}).get("device", timing["device"]))


def _percent(record: Record, score: str) -> float:
    share = record["scores"][score]
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ConfigError(
            f"The record of {record['experiment']}, {record['method']}, seed {record['seed']}: "
            f"{score} is a share from 0 to 1. Got {share!r}: run that seed again."
        )
    return round(100 * share, 10)  # 0.07 * 100 is not quite 7


def _epochs(record: Record) -> tuple[int, int]:
    phases = [epoch["phase"] for epoch in record["epochs"]]
    return phases.count("pretrain"), phases.count("train")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def holds_records(folder: Path) -> bool:
    """Whether a folder has records of runs, one folder per experiment."""
    return any(_RECORD.fullmatch(path.name) for path in folder.glob("*/*.json"))


def read_results(folder: Path) -> Folder:
    """All records and timing records of a folder of results.

    Raises:
        MissingDataError: If it has no record of a run.
        ConfigError: If a file is not the record that its name promises.
    """
    records, timings = [], []
    for path in sorted(folder.glob("*/*.json")):
        if named := _RECORD.fullmatch(path.name):
            record = read_record(path, _NEEDED)
            held = (record["experiment"], record["method"], str(record["seed"]))
            _check_name(path, held, (path.parent.name, named["method"], named["seed"]))
            records.append(record)
        elif path.name.endswith(_TIMING):
            record = read_record(path, _NEEDED_TIMING)
            method = path.name.removesuffix(_TIMING)
            _check_name(path, (record["experiment"], record["method"]), (path.parent.name, method))
            timings.append(record)
    if not records:
        raise MissingDataError(
            f"The table needs records of runs, as {folder}/EXPERIMENT/METHOD-seedN.json. There are "
            "none: train with `smtlayer reproduce table1`, or name another folder with --results."
        )
    return Folder(tuple(records), tuple(timings))


def read_record(path: Path, needed: Iterable[str] = _NEEDED) -> dict[str, Any]:
    """Reads a record as plain data, and checks that it has what tables need.

    Raises:
        ConfigError: If the file is not JSON, or an entry is missing.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(
            f"{path} is not a record: {error}. Remove it, and run it again."
        ) from error
    record = with_current_names(record) if isinstance(record, dict) else {}
    missing = [key for key in needed if key not in record]
    if missing:
        raise ConfigError(
            f"{path} is not a record: it has no {', '.join(missing)}. Remove it, and run it again."
        )
    numbers = [record[key] for key in ("epoch_seconds", "ratio") if key in record]
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in numbers):
        raise ConfigError(f"{path} is not a record: a time in it is not a number. Run it again.")
    return record


def _check_name(path: Path, held: tuple[str, ...], named: tuple[str, ...]) -> None:
    if held != named:
        raise ConfigError(
            f"{path} should hold {', '.join(named)} by its name. It holds {', '.join(held)}: "
            "rename it, or remove it."
        )
