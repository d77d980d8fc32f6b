"""The folder of a run: reads and writes its configuration, checkpoint, model and record."""

import re
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import torch

from smtlayer.errors import ConfigError, MissingDataError, SMTLayerError
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.runs.metrics import scored_rows
from smtlayer_studies.runs.records import (
    RunRecord,
    whole_file,
    with_current_counts,
    with_current_names,
    write_json,
)
from smtlayer_studies.runs.run_options import MemberOptions, PretrainOptions, TrainOptions
from smtlayer_studies.tasks.base import Model, Rows, SplitName, Task
from smtlayer_studies.tasks.networks import DenseHead
from smtlayer_studies.tasks.options import make_task, option_types

CONFIG, RECORD, MODEL, CHECKPOINT = "config.toml", "record.json", "model.pt", "checkpoint.pt"
_TOP = ("experiment", "method", "seed", "device")  # keys above the tables of a configuration
_RUN_AGAIN = "The same train command writes it again."


@dataclass(frozen=True, eq=False)
class RunFolder:
    """The folder of a run.

    Attributes:
        path: The folder.
        config: The configuration. One that was read has the device `"cpu"`, wherever it ran.
        options: The configuration as nested tables, as the file has it.
        record: The record, or None if the training is not finished.
        epochs: Those of the record, or those that an unfinished run has done.
    """

    path: Path
    config: RunConfig
    options: Mapping[str, Any] = field(default_factory=dict)
    record: RunRecord | None = None
    epochs: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def read(cls, path: Path) -> "RunFolder":
        """Reads the configuration and, if present, the record or the checkpoint.

        Raises:
            MissingDataError: If the folder is not that of a run.
            ConfigError: If a file in it is damaged.
        """
        options = _options(path)
        config = _config(options, path / CONFIG)
        record = RunRecord.read(path / RECORD) if (path / RECORD).is_file() else None
        return cls(path, config, options, record, record.epochs if record else _epochs_so_far(path))

    @classmethod
    def for_writing(cls, path: str | Path, config: RunConfig) -> "RunFolder":
        """The folder for a new run, or for one to resume. Nothing is written yet.

        Raises:
            ConfigError: If a file is in the way, or the folder has a checkpoint of another run.
        """
        folder = cls(Path(path), config)
        there = next(place for place in (folder.path, *folder.path.parents) if place.exists())
        if not there.is_dir():
            raise ConfigError(
                f"A run is written to a folder, and {there} is a file. Choose another folder."
            )
        folder.load_checkpoint()
        return folder

    def write_config(self) -> None:
        """Writes the configuration."""
        with whole_file(self.path / CONFIG) as part:
            part.write_text(self.config.to_toml(), encoding="utf-8")

    def save_checkpoint(self, state: Mapping[str, Any]) -> None:
        """Writes the state of a training, in place of the previous one."""
        with whole_file(self.path / CHECKPOINT) as part:
            torch.save({**state, "config": self.config.to_toml()}, part)

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The state that was saved last, or None if there is none.

        Raises:
            ConfigError: If it belongs to another configuration, or cannot be read.
        """
        path = self.path / CHECKPOINT
        if not path.is_file():
            return None
        try:
            state = with_current_names(torch.load(path, map_location=self.config.device))
        except Exception as error:  # torch raises what it likes on a broken file
            reason = type(error).__name__
            raise ConfigError(
                f"{path} cannot be read ({reason}). Delete it to begin again."
            ) from error
        if _tables(state["config"]) != _tables(self.config.to_toml()):
            raise ConfigError(
                f"{path} belongs to a run with other options. Choose another folder with --out, "
                f"or delete it to begin again."
            )
        return state

    def save(self, model: Model, record: RunRecord) -> None:
        """Writes what a finished run leaves: the weights, then the record."""
        with whole_file(self.path / MODEL) as part:
            torch.save(model.state_dict(), part)
        write_json(self.path / RECORD, asdict(record))

    def load(self, data_dir: Path | None = None) -> "LoadedRun":
        """The task and the trained model, on the CPU.

        Args:
            data_dir: The data folder; by default the environment's `SMTLAYER_DATA`.

        Raises:
            MissingDataError: If there is no `model.pt`, or the data it was trained on are missing.
            ConfigError: If `model.pt` is damaged, or is not a model of this configuration.
        """
        path = self.check_model()
        task = self._task(data_dir)
        layer = self.config.layer
        head = DenseHead(task.theory) if layer is None else layer.make(task.theory)
        model = Model(task.network(), head)
        try:
            model.load_state_dict(torch.load(path, map_location="cpu"))
        except Exception as error:  # torch raises what it likes on a broken file
            raise _damaged_model(path, type(error).__name__) from error
        return LoadedRun(self, task, model.eval())

    def check_model(self) -> Path:
        """The path of `model.pt`, after a quick check that it exists and is complete.

        Raises:
            MissingDataError: If it does not exist.
            ConfigError: If it is damaged.
        """
        path = self.path / MODEL
        if not path.is_file():
            raise MissingDataError(
                f"{self.path} has no {MODEL}: the training is not finished, or the file is lost. "
                "The same train command resumes it."
            )
        if not zipfile.is_zipfile(path):  # its end is missing, or all of it
            raise _damaged_model(path, "it is cut off or damaged")
        return path

    def _task(self, data_dir: Path | None) -> Task:
        """The task with the data of the record, whatever other data are available."""
        options = dict(self.config.task)
        if self.record is not None:
            source = re.split("[,+]", self.record.data)[0]
            if source in get_args(option_types(options.get("name")).get("data")):
                options["data"] = source
        task = make_task(options, data_dir)
        if self.record is not None and task.data_source != self.record.data:
            raise MissingDataError(
                f"{self.path} was trained on {self.record.data}, and here is {task.data_source}. "
                "Name the folder of its data with --data-dir or SMTLAYER_DATA."
            )
        return task


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run with its task and trained model."""

    folder: RunFolder
    task: Task
    model: Model

    def rows(self, split: SplitName | None = None) -> tuple[SplitName, Rows]:
        """Examples of a split, always in the same order.

        Args:
            split: By default what the run was scored on. Test examples are those that it was
                scored on; training examples are those of the first epoch.
        """
        config = self.folder.config
        scored, rows = scored_rows(self.task, config)
        if split is None or split == scored:
            return scored, rows
        if split == "train":
            return split, self.task.rows(split, config.train.rows, config.seed)
        return split, self.task.rows(split, config.train.test_rows, config.seed)


def find_runs(path: Path) -> list[Path]:
    """The folder itself if it is that of a run, else the runs below it, conventional ones first.

    Raises:
        MissingDataError: If there is none.
    """
    train = f"`smtlayer train EXPERIMENT --out {path}`"
    if not path.is_dir():
        raise MissingDataError(f"There is no folder {path}. A run is a folder that {train} writes.")
    if (path / CONFIG).is_file():
        return [path]
    found = sorted({file.parent for file in path.glob(f"**/{CONFIG}")})
    if not found:
        raise MissingDataError(f"{path} holds no run: no {CONFIG}, as {train} writes it.")
    return sorted(found, key=lambda run: (run.parent, run.name != "conventional", run.name))


def read_runs(
    paths: Iterable[Path], on_skip: Callable[[Path, SMTLayerError], None]
) -> list[RunFolder]:
    """Reads the given runs, and the runs below given folders, each once.

    Args:
        paths: The folders.
        on_skip: Called with each run below a folder that cannot be read, and with the error.

    Raises:
        MissingDataError: If a folder holds no run.
        ConfigError: If a run that was given itself is damaged, or all of them are.
    """
    named, read = list(paths), []
    bad: dict[Path, ConfigError] = {}
    for path in dict.fromkeys(found for one in named for found in find_runs(one)):
        try:
            read.append(RunFolder.read(path))
        except ConfigError as error:
            if path in named:
                raise
            bad[path] = error
    if not read:
        raise next(iter(bad.values()))
    for path, why in bad.items():
        on_skip(path, why)
    return read


def _damaged_model(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path} cannot be read as the model of its {CONFIG} ({reason}). "
        "Delete it: the same train command makes it again."
    )


def _config(options: Mapping[str, Any], file: Path) -> RunConfig:
    """The configuration in a file, on the CPU."""
    tables = {name: value for name, value in options.items() if name not in _TOP}
    if "layer" not in tables:
        tables["layer"] = False  # a conventional network has none
    try:
        named = {key: options[key] for key in _TOP if key != "device"}
        return RunConfig.of(tables, **named, device="cpu")
    except KeyError as error:
        raise ConfigError(f"{file} is not that of a run: no {error} in it. {_RUN_AGAIN}") from error
    except ConfigError as error:
        raise ConfigError(f"{file} cannot be used. {error} {_RUN_AGAIN}") from error


def _options(path: Path) -> dict[str, Any]:
    found = find_runs(path)
    if found != [path]:
        names = ", ".join(str(run) for run in found[:4]) + (", ..." if len(found) > 4 else "")
        raise MissingDataError(f"{path} is not a run but holds some: {names}. Name one of them.")
    file = path / CONFIG
    try:
        return _tables(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not a TOML file: {error}. {_RUN_AGAIN}") from error


def _tables(text: str) -> dict[str, Any]:
    """The tables of a configuration; options that earlier versions did not have get defaults."""
    data = with_current_names(tomllib.loads(text))
    for name, options in (("train", TrainOptions()), ("pretrain", PretrainOptions())):
        if isinstance(data.get(name), dict):
            data[name] = asdict(options) | data[name]
    members = data.get("members", {})
    data["members"] = asdict(MemberOptions()) | {"rules": []} | members
    return data


def _epochs_so_far(path: Path) -> list[dict[str, Any]]:
    """The epochs in the checkpoint of an unfinished run; none if it cannot be read."""
    file = path / CHECKPOINT
    if not file.is_file():
        return []
    try:
        return with_current_counts(torch.load(file, map_location="cpu")["epochs"])
    except Exception:  # torch raises what it likes on a broken file
        return []
