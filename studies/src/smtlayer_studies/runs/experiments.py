"""Experiments: one TOML file per experiment, with a section for each method."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smtlayer.errors import ConfigError, did_you_mean
from smtlayer.plain import is_whole, whole
from smtlayer_studies.runs.config import RunConfig, merged, parse_settings
from smtlayer_studies.tasks.registry import find_experiments, short_names

_SHARED = ("task", "pretrain", "train", "layer", "restarts", "members")
_SEED = "seed"  # an option of the task with this value gets the seed of the run


@dataclass(frozen=True)
class Experiment:
    """What the methods of an experiment share, and the settings of each method."""

    name: str
    title: str
    shared: Mapping[str, Any]
    sections: Mapping[str, Mapping[str, Any]]
    sample: Mapping[str, Any]  # overrides both if the data are only a sample
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)  # of its results

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of the file."""
        return tuple(self.sections)

    def seeds_of(self, method: str) -> tuple[int, ...]:
        """The seeds of the results of a method, which may have its own number of them."""
        own = self._section(method).get("seeds")
        return self.seeds if own is None else tuple(range(own))

    def config(
        self,
        method: str,
        *,
        seed: int = 0,
        device: str = "cpu",
        settings: Sequence[str] | None = None,
        sample: bool = False,
    ) -> RunConfig:
        """The configuration of one run: defaults, then the file, then settings such as
        `"train.lr=1e-3"`.
        """
        if method not in self.sections:
            raise ConfigError(
                f"{self.name} has the methods {', '.join(self.methods)}. Got {method!r}."
            )
        own = merged(self.shared, self._section(method))
        own.pop("seeds", None)
        given = parse_settings(() if settings is None else settings)
        data = merged(own, self.sample if sample else {}, given)
        if own.get("layer") is False:
            data["layer"] = False  # a conventional network has no options of a layer
        task = data.get("task")
        if isinstance(task, Mapping):
            data["task"] = {key: seed if value == _SEED else value for key, value in task.items()}
        return RunConfig.of(data, experiment=self.name, method=method, seed=seed, device=device)

    def _section(self, method: str) -> dict[str, Any]:
        """The settings of a method, on top of those of the method named by `like`."""
        section = dict(self.sections[method])
        model = section.pop("like", None)
        return section if model is None else merged(self.sections[model], section)


def experiment_names() -> tuple[str, ...]:
    """Names of all experiments, including those of tasks in other packages."""
    return tuple(find_experiments())


def load_experiment(name: str | Path) -> Experiment:
    """Loads an experiment by its name, or from the path of a TOML file.

    Raises:
        ConfigError: If there is no such experiment, or the file is not one.
    """
    path = _path(name)
    data = _read(path)
    title, sample = data.pop("title", path.stem), data.pop("sample", {})
    seeds = _seeds(path, data.pop("seeds", 5))
    shared = {key: data.pop(key) for key in _SHARED if key in data}
    if not data:
        raise ConfigError(f"{path} has no method: give it a section such as [best.train].")
    for key, table in (*data.items(), ("sample", sample)):
        if not isinstance(table, Mapping):
            raise ConfigError(
                f"{path}: {key} expects sections such as [{key}.train]. Got {table!r}."
            )
        _seeds(path, table.get("seeds", 1))
        like = table.get("like", key)
        if like != key and (like not in data or "like" in data[like]):
            plain = ", ".join(name for name in data if "like" not in data[name])
            raise ConfigError(f"{path}: {key}.like expects one of {plain}. Got {like!r}.")
    return Experiment(path.stem, str(title), shared, data, sample, seeds)


def _seeds(path: Path, count: object) -> tuple[int, ...]:
    if not is_whole(count, 1):
        raise ConfigError(f"{path}: seeds is the number of runs of each method. Got {count!r}.")
    return tuple(range(whole(count)))


def _path(name: str | Path) -> Path:
    """The file of an experiment."""
    if not isinstance(name, str | Path):
        raise ConfigError(
            f"An experiment is given by its name or by the path of a TOML file. Got {name!r}."
        )
    path, known, short = Path(name), find_experiments(), short_names()
    if path.suffix != ".toml":
        path = known.get(short.get(str(name), str(name)), Path())
    if not _is_file(path):
        hint = did_you_mean(str(name), (*short, *known), f"Experiments are {', '.join(known)}.")
        raise ConfigError(f"There is no experiment {str(name)!r}.{hint}")
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for a file
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not a TOML file: {error}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not a TOML file: byte {error.start} is not UTF-8. Save it as UTF-8."
        ) from error
