"""This file holds the whole configuration of a run, and reads it from plain data."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

import torch

from smtlayer.errors import ConfigError, did_you_mean
from smtlayer.plain import whole
from smtlayer_studies.runs.options import (
    LayerOptions,
    PretrainOptions,
    RestartOptions,
    TrainOptions,
    check_device,
)

_Group = TypeVar("_Group", PretrainOptions, TrainOptions, LayerOptions, RestartOptions)
_GROUPS = {
    "pretrain": PretrainOptions,
    "train": TrainOptions,
    "layer": LayerOptions,
    "restarts": RestartOptions,
}
Data = Mapping[str, Any]
MOST_SEED = 2**53  # rows of the tasks draw from 1009 times the seed, and torch counts to 2**63


@dataclass(frozen=True)
class RunConfig:
    """All that decides a run. The same configuration on the same machine is the same run.

    Args:
        experiment: Its name, for the record.
        method: Which of its methods.
        task: The task's `name`, and its own options.
        pretrain: What happens before the layer comes on top.
        train: The training itself.
        layer: The layer, or None for a conventional network.
        restarts: Whether trainings that fail are begun again.
        seed: Of network, rows and draws: from -2**53 to 2**53.
        device: As torch names it.

    Raises:
        ConfigError: If one of them cannot be used as given.
    """

    experiment: str
    method: str
    task: Mapping[str, Any]
    pretrain: PretrainOptions = field(default_factory=PretrainOptions)
    train: TrainOptions = field(default_factory=TrainOptions)
    layer: LayerOptions | None = field(default_factory=LayerOptions)
    restarts: RestartOptions = field(default_factory=RestartOptions)
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, kind in _GROUPS.items():
            self._check_group(name, kind)
        object.__setattr__(self, "seed", _seed(self.experiment, self.seed))
        if isinstance(self.device, torch.device):
            object.__setattr__(self, "device", str(self.device))
        check_device(self.device)
        if not isinstance(self.task, Mapping):
            raise ConfigError(
                f"{self.experiment}: task expects a table of options. Got {self.task!r}."
            )
        object.__setattr__(self, "task", dict(self.task))
        if "name" not in self.task:
            raise ConfigError(
                f"{self.experiment}: the task needs a name, as in task.name = 'my-task'."
            )

    def _check_group(self, name: str, kind: type) -> None:
        group = getattr(self, name)
        if isinstance(group, kind) or (name == "layer" and group is None):
            return
        raise ConfigError(
            f"{self.experiment}: {name} expects {kind.__name__}(...). Got {group!r}. "
            f"RunConfig.of takes plain data."
        )

    @classmethod
    def of(cls, data: Data, *, experiment: str, method: str, seed: int, device: str) -> "RunConfig":
        """From nested plain data, as a file holds it.

        Raises:
            ConfigError: If a key is not known; the message names the nearest that is.
        """
        for key in data:
            if key not in (*_GROUPS, "task"):
                raise _unknown(experiment, key, (*_GROUPS, "task"))
        made: dict[str, Any] = {
            name: _group(experiment, name, kind, data.get(name, {}))
            for name, kind in _GROUPS.items()
        }
        if data.get("layer") is False:
            made["layer"] = None
        return cls(experiment, method, data.get("task", {}), **made, seed=seed, device=device)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for records."""
        return asdict(self)

    def to_toml(self) -> str:
        """The same as a TOML file that a person reads."""
        data = self.as_dict()
        tables = {name: data.pop(name) for name in ("task", *_GROUPS)}
        lines = [_line(key, value) for key, value in data.items()]
        for name, table in tables.items():
            if table is not None:
                lines += ["", f"[{name}]", *(_line(key, value) for key, value in table.items())]
        return "\n".join(lines) + "\n"


def merged(*layers: Data) -> dict[str, Any]:
    """Nested tables put on top of each other; what comes later wins."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = result.get(key)
            both = isinstance(below, Mapping) and isinstance(value, Mapping)
            result[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return result


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """`["train.lr=1e-3", "layer.backward=core"]` as nested tables.

    Values are read as TOML where they are TOML, else as text.

    Examples:
        >>> parse_settings(["train.lr=1e-3", "layer.backward=mix(core, marginal)"])
        {'train': {'lr': 0.001}, 'layer': {'backward': 'mix(core, marginal)'}}
    """
    if isinstance(settings, str) or not isinstance(settings, Iterable):
        raise ConfigError(f"settings expects a list, as ['train.lr=1e-3']. Got {settings!r}.")
    result: dict[str, Any] = {}
    for setting in settings:
        if not isinstance(setting, str):
            raise ConfigError(f"settings are texts, as 'train.lr=1e-3'. Got {setting!r}.")
        path, equals, text = setting.partition("=")
        *tables, key = path.strip().split(".")
        if not equals or not key or not all(tables):
            raise ConfigError(f"--set expects key=value, as in train.lr=1e-3. Got {setting!r}.")
        nested: dict[str, Any] = {key: _value(text.strip())}
        for table in reversed(tables):
            nested = {table: nested}
        result = merged(result, nested)
    return result


def _seed(experiment: str, seed: object) -> int:
    try:
        number = whole(seed)
    except TypeError as error:
        raise ConfigError(f"{experiment}: seed expects a whole number. Got {seed!r}.") from error
    if abs(number) > MOST_SEED:
        raise ConfigError(f"{experiment}: seed must be from -2**53 to 2**53. Got {number}.")
    return number


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _group(experiment: str, name: str, kind: type[_Group], data: Any) -> _Group:
    if data is False and name == "layer":
        return kind()
    if not isinstance(data, Mapping):
        raise ConfigError(f"{experiment}: {name} expects a table of options. Got {data!r}.")
    known = [f.name for f in fields(kind)]
    for key in data:
        if key not in known:
            raise _unknown(experiment, f"{name}.{key}", [f"{name}.{other}" for other in known])
    try:
        return kind(**data)
    except ConfigError as error:
        raise ConfigError(f"{experiment}: {name}.{error}") from error


def _unknown(experiment: str, key: str, choices: Iterable[str]) -> ConfigError:
    hint = did_you_mean(key, choices, f"Known are {', '.join(choices)}.")
    return ConfigError(f"{experiment}: unknown key {key!r}.{hint}")


def _line(key: str, value: Any) -> str:
    return f"{key} = {json.dumps(value)}"  # numbers, text and truth values are the same in TOML
