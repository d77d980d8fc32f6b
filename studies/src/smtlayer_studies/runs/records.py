"""The record of a run: its configuration, machine, epochs and scores."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from smtlayer.errors import ConfigError
from smtlayer_cli.provenance import here
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.tasks.base import Task

PhaseName = Literal["pretrain", "train"]
# Names in records of earlier versions, and those of today.
_RENAMED = {"row": "experiment", "scout_lr": "placement_lr", "pupil": "distillation"}
_RENAMED_KINDS = {"scouts": "placement-search", "teacher": "distillation"}
_RENAMED_SCORES = {"repaired": "overruled"}
_RENAMED_COUNTS = {"settled": "correct", "asked": "blamed", "silent": "without_gradient"}


@dataclass(frozen=True)
class Epoch:
    """The counts of one epoch."""

    phase: PhaseName
    loss: float
    accuracy: float  # on training examples, during the epoch; 0 without labels
    seconds: float
    solver: dict[str, float]  # the layer's counts; empty without a layer


@dataclass(frozen=True)
class RunRecord:
    """The record of one run, as its JSON file holds it."""

    experiment: str
    method: str
    seed: int
    data: str  # a record from "sample" never goes into a table of results
    data_title: str
    split: str  # what was scored: "test", or "validation" while settings are chosen
    config: dict[str, Any]
    layer: str
    epochs: list[dict[str, Any]]
    scores: dict[str, float]
    epoch_seconds: float  # mean over the epochs of the phase "train"
    restarts: list[dict[str, float]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)  # of a portfolio
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    written: str = ""

    @classmethod
    def of(
        cls,
        config: RunConfig,
        task: Task,
        *,
        split: str,
        layer: str,
        epochs: list[Epoch],
        scores: dict[str, float],
        restarts: list[dict[str, float]],
        members: list[dict[str, Any]],
    ) -> "RunRecord":
        """A record of what just ran in this process."""
        seconds = [epoch.seconds for epoch in epochs if epoch.phase == "train"]
        return cls(
            config.experiment, config.method, config.seed, task.data_source, task.data_title, split,
            config.as_dict(), layer, [asdict(epoch) for epoch in epochs], scores,
            sum(seconds) / len(seconds), restarts, members, **here(config.device),
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """Seconds of training; of a portfolio those of all members."""
        return sum(float(one["seconds"]) for one in self.members or self.epochs)

    @classmethod
    def read(cls, path: str | Path) -> "RunRecord":
        """Reads a record, possibly of an earlier version.

        Raises:
            ConfigError: If there is no such file, or it is not a record.
        """
        path = Path(path)
        if not path.is_file():
            raise ConfigError(f"There is no record {path}. Name the folder of a finished run.")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise _no_record(path, "it is cut off or damaged") from error
        if not isinstance(data, dict):
            raise _no_record(path, "it holds no JSON object")
        data = {"members": []} | with_current_names(data)
        lacking = [f.name for f in fields(cls) if f.name not in data]
        if lacking:
            raise _no_record(path, f"no {lacking[0]!r} in it")
        data["scores"] = {_RENAMED_SCORES.get(name, name): s for name, s in data["scores"].items()}
        data["epochs"] = with_current_counts(data["epochs"])
        return cls(**{f.name: data[f.name] for f in fields(cls)})


def with_current_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """A record, timing or configuration with the keys of today; earlier versions wrote others."""
    renamed = {_RENAMED.get(key, key): value for key, value in data.items()}
    for table in ("config", "pretrain"):
        if isinstance(renamed.get(table), Mapping):
            renamed[table] = with_current_names(renamed[table])
    if isinstance(kind := renamed.get("kind"), str):  # of pre-training
        renamed["kind"] = _RENAMED_KINDS.get(kind, kind)
    return renamed


def with_current_counts(epochs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Epochs of a record or checkpoint, whose solver counts may have the names of earlier ones."""
    return [
        epoch
        | {"solver": {_RENAMED_COUNTS.get(k, k): n for k, n in epoch.get("solver", {}).items()}}
        for epoch in epochs
    ]


def _no_record(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path} is not the record of a run: {reason}. "
        f"Delete it: the same train command makes it again."
    )


def write_json(path: Path, data: dict[str, Any]) -> Path:
    """Writes plain data to a file, all at once or not at all."""
    with whole_file(path) as part:
        part.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path to write to, which then replaces the file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    yield part
    part.replace(path)
