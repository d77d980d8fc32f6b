"""This file reads folders of runs back: configuration, record, and the trained model."""

import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from smtlayer.errors import ConfigError, MissingDataError, SMTLayerError
from smtlayer_studies.runs.build import make_task
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.runs.records import RunRecord, with_current_counts, with_current_names
from smtlayer_studies.runs.run import scored_rows
from smtlayer_studies.tasks.base import Model, Rows, SplitName, Task

_OWN = ("experiment", "method", "seed", "device")  # what stands above the tables of a config.toml
_WRITTEN_AGAIN = "The same train command writes it again."


@dataclass(frozen=True, eq=False)
class RunFolder:
    """What a training left in a folder.

    Attributes:
        path: The folder.
        config: All that decides the run, but on the CPU, wherever it was trained.
        options: The same as the file has it: nested tables.
        record: None if the training has not come to its end.
        epochs: Those of the record, or those that an unfinished run has done.
    """

    path: Path
    config: RunConfig
    options: Mapping[str, Any]
    record: RunRecord | None
    epochs: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> "RunFolder":
        """Reads `config.toml` and, if they are there, `record.json` or `checkpoint.pt`.

        Raises:
            MissingDataError: If the folder is not that of a run.
            ConfigError: If a file in it is damaged.
        """
        options = _options(path)
        config = _config(options, path / "config.toml")
        record_path = path / "record.json"
        record = RunRecord.read(record_path) if record_path.is_file() else None
        return cls(path, config, options, record, record.epochs if record else _epochs_so_far(path))

    def load(self, data_dir: Path | None = None) -> "LoadedRun":
        """The task and the trained model, on the CPU.

        Args:
            data_dir: The data folder; by default the environment's `SMTLAYER_DATA`.

        Raises:
            MissingDataError: If there is no `model.pt`, or the data it was trained on are not here.
            ConfigError: If `model.pt` is damaged, or is not a model of this configuration.
        """
        path = self.check_model()
        task = self._task(data_dir)
        layer = self.config.layer
        model = Model(task.network(), task.head() if layer is None else layer.make(task.theory))
        try:
            model.load_state_dict(torch.load(path, map_location="cpu"))
        except Exception as error:  # torch raises what it likes on a broken file
            raise _damaged_model(path, type(error).__name__) from error
        return LoadedRun(self, task, model.eval())

    def check_model(self) -> Path:
        """The path of `model.pt`, after a quick look at whether it is there and whole.

        Raises:
            MissingDataError: If it is not there.
            ConfigError: If it is damaged.
        """
        path = self.path / "model.pt"
        if not path.is_file():
            raise MissingDataError(
                f"{self.path} has no model.pt: the training has not come to its end, or the file "
                "is lost. The command that began it goes on with it."
            )
        if not zipfile.is_zipfile(path):  # its end is missing, or all of it
            raise _damaged_model(path, "it is cut off or damaged")
        return path

    def _task(self, data_dir: Path | None) -> Task:
        """The task with the data of the record, whatever else is at hand by now."""
        options = dict(self.config.task)
        if self.record is not None and options.get("name") != "liars-puzzle":
            digits = self.record.data.replace(",", "+").split("+")[0]
            options["data"] = "sample" if digits == "sample" else "mnist"
        task = make_task(options, data_dir)
        if self.record is not None and task.data != self.record.data:
            raise MissingDataError(
                f"{self.path} was trained on {self.record.data}, and here is {task.data}. "
                "Name the folder of its data with --data-dir or SMTLAYER_DATA."
            )
        return task


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run that can be asked again."""

    folder: RunFolder
    task: Task
    model: Model

    def rows(self, split: SplitName | None = None) -> tuple[SplitName, Rows]:
        """Rows of a split, always in the same order.

        Args:
            split: By default what the run was scored on. Test rows are those that it is scored on
                too; training rows are those of the first epoch.
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
    if not path.is_dir():
        raise MissingDataError(
            f"There is no folder {path}. A run is a folder that "
            f"`smtlayer train EXPERIMENT --out {path}` writes."
        )
    if (path / "config.toml").is_file():
        return [path]
    found = sorted({file.parent for file in path.glob("**/config.toml")})
    if not found:
        raise MissingDataError(
            f"{path} holds no run: no config.toml, as "
            f"`smtlayer train EXPERIMENT --out {path}` writes it."
        )
    return sorted(found, key=lambda run: (run.parent, run.name != "conventional", run.name))


def read_runs(
    paths: Iterable[Path], left_out: Callable[[Path, SMTLayerError], None]
) -> list[RunFolder]:
    """Reads runs that are named, and those below folders that are named, each once.

    Args:
        paths: The folders.
        left_out: Called with each run below one that cannot be read, and with what is wrong.

    Raises:
        MissingDataError: If a folder holds no run.
        ConfigError: If a run that is named itself is damaged, or all of them are.
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
        left_out(path, why)
    return read


def _damaged_model(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path} cannot be read as the model of its config.toml ({reason}). "
        "Delete it: the same train command makes it again."
    )


def _config(options: Mapping[str, Any], file: Path) -> RunConfig:
    """The configuration that a file tells, on the CPU."""
    tables = {name: value for name, value in options.items() if name not in _OWN}
    if "layer" not in tables:
        tables["layer"] = False  # a conventional network has none
    try:
        named = {key: options[key] for key in ("experiment", "method", "seed")}
        return RunConfig.of(tables, **named, device="cpu")
    except KeyError as error:
        raise ConfigError(
            f"{file} is not that of a run: no {error} in it. {_WRITTEN_AGAIN}"
        ) from error
    except ConfigError as error:
        raise ConfigError(f"{file} cannot be used. {error} {_WRITTEN_AGAIN}") from error


def _options(path: Path) -> dict[str, Any]:
    found = find_runs(path)
    if found != [path]:
        names = ", ".join(str(run) for run in found[:4]) + (", ..." if len(found) > 4 else "")
        raise MissingDataError(f"{path} is not a run but holds some: {names}. Name one of them.")
    file = path / "config.toml"
    try:
        return with_current_names(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not a TOML file: {error}. {_WRITTEN_AGAIN}") from error


def _epochs_so_far(path: Path) -> list[dict[str, Any]]:
    """What the checkpoint of an unfinished run tells; nothing if there is none that can be read."""
    file = path / "checkpoint.pt"
    if not file.is_file():
        return []
    try:
        return with_current_counts(torch.load(file, map_location="cpu")["epochs"])
    except Exception:  # torch raises what it likes on a broken file, and it is only for a look
        return []
