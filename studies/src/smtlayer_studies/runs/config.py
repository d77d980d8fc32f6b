"""The configuration of a run, from plain data."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any

import torch
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from smtlayer.errors import ArgumentError, ConfigError, did_you_mean
from smtlayer.portfolio import Portfolio
from smtlayer_studies.runs.run_options import (
    Checked,
    LayerOptions,
    MemberOptions,
    PretrainOptions,
    RestartOptions,
    TrainOptions,
    Whole,
    check_device,
)

_GROUPS: Mapping[str, Any] = {
    "pretrain": PretrainOptions,
    "train": TrainOptions,
    "layer": LayerOptions,
    "restarts": RestartOptions,
    "members": MemberOptions,
}
Data = Mapping[str, Any]
MOST_SEED = 2**53  # tasks draw from 1009 times the seed, and torch counts to 2**63


def _check_task(task: dict[str, Any]) -> dict[str, Any]:
    if "name" not in task:
        raise ConfigError("task needs a name, as in task.name = 'my-task'.")
    return task


def _device_name(device: object) -> object:
    return str(device) if isinstance(device, torch.device) else device


@dataclass(frozen=True, config=Checked)
class RunConfig:
    """All options of a run. The same configuration on the same machine gives the same run.

    Attributes:
        experiment: Name of the experiment, for the record.
        method: Name of the method, for the record.
        task: The task's `name`, and its options.
        pretrain: Pre-training, before the layer is added.
        train: The training.
        layer: The layer, or None for a conventional network.
        restarts: Whether failed trainings are started again.
        members: The members of a portfolio, if there is one.
        seed: Seed of network, examples and random draws, from `-2**53` to `2**53`.
        device: Name of a torch device.
    """

    experiment: str
    method: str
    task: Annotated[dict[str, Any], AfterValidator(_check_task)]
    pretrain: PretrainOptions = Field(default_factory=PretrainOptions)
    train: TrainOptions = Field(default_factory=TrainOptions)
    layer: LayerOptions | None = Field(default_factory=LayerOptions)
    restarts: RestartOptions = Field(default_factory=RestartOptions)
    members: MemberOptions = Field(default_factory=MemberOptions)
    seed: Annotated[Whole, Field(ge=-MOST_SEED, le=MOST_SEED)] = 0
    device: Annotated[str, BeforeValidator(_device_name), AfterValidator(check_device)] = "cpu"

    def __post_init__(self) -> None:
        if not self.members.several:
            return
        if self.restarts.most > 1 or self.pretrain.kind != "none":
            raise ConfigError(
                "members has neither restarts nor pre-training. Set restarts.most to 1 and "
                "pretrain.kind to 'none'."
            )
        rules = 0 if self.layer is None else len(self.members.rules)
        count = max(1, rules) * self.members.seeds
        try:
            Portfolio(range(count), rounds=self.train.epochs, budget=self.members.budget)
        except ArgumentError as error:
            raise ConfigError(
                f"{count} members cannot be compared within members.budget = "
                f"{self.members.budget:g} and train.epochs = {self.train.epochs}. Give more "
                f"epochs, a larger budget, or fewer members."
            ) from error

    @classmethod
    def of(cls, data: Data, *, experiment: str, method: str, seed: int, device: str) -> "RunConfig":
        """From nested plain data, as a file holds it; `layer = false` stands for no layer.

        Raises:
            ConfigError: If a key or a value is wrong. The message names the nearest known key.
        """
        for key in data:
            if key not in (*_GROUPS, "task"):
                raise ConfigError(f"{experiment}: {_unknown_key(key, (*_GROUPS, 'task'))}")
        given = {"task": {}, **data}
        if given.get("layer") is False:
            given["layer"] = None
        try:
            return cls(experiment=experiment, method=method, seed=seed, device=device, **given)
        except ValidationError as error:
            text = " ".join(map(_error_text, error.errors()))
            raise ConfigError(f"{experiment}: {text}") from error

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for records."""
        data = asdict(self)
        data["members"]["rules"] = list(self.members.rules)
        return data

    def to_toml(self) -> str:
        """The text of a TOML file."""
        data = self.as_dict()
        tables = {name: data.pop(name) for name in ("task", *_GROUPS)}
        lines = [_line(key, value) for key, value in data.items()]
        for name, table in tables.items():
            if table is not None:
                lines += ["", f"[{name}]", *(_line(key, value) for key, value in table.items())]
        return "\n".join(lines) + "\n"


def other_seeds(seed: int, count: int) -> list[int]:
    """A seed, and those of further trainings of the same run."""
    apart = 1_000 if seed <= MOST_SEED // 2 else -1_000
    return [seed + apart * number for number in range(count)]


def merged(*layers: Data) -> dict[str, Any]:
    """Nested tables merged key by key; later values win."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = result.get(key)
            both = isinstance(below, Mapping) and isinstance(value, Mapping)
            result[key] = merged(below, value) if both else value  # type: ignore[arg-type]
    return result


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Nested tables from settings such as `["train.lr=1e-3", "layer.backward=core"]`.

    A value that is not TOML is text.

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


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _error_text(error: ErrorDetails) -> str:
    """Where a wrong value is, what was expected, and what came."""
    path = ".".join(map(str, error["loc"]))
    if error["type"] == "unexpected_keyword_argument":
        group = str(error["loc"][0])
        return _unknown_key(path, [f"{group}.{field.name}" for field in fields(_GROUPS[group])])
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{error['msg'].replace('Input', path, 1)}. Got {error['input']!r}."


def _unknown_key(key: str, known: Iterable[str]) -> str:
    return f"unknown key {key!r}." + did_you_mean(key, known, f"Known are {', '.join(known)}.")


def _line(key: str, value: Any) -> str:
    return f"{key} = {json.dumps(value)}"  # numbers, text and truth values are the same in TOML
