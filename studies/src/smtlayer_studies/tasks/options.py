"""Makes tasks from plain options."""

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from smtlayer.errors import ConfigError, did_you_mean
from smtlayer_studies.tasks.base import Combinations, Task
from smtlayer_studies.tasks.registry import find_tasks, resolve

_KINDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text",
    Combinations: "a list of lists of whole numbers",
}  # fmt: skip


def make_task(options: Mapping[str, Any], data_dir: Path | None = None) -> Task:
    """Makes the task of these options. Its data are loaded when they are needed.

    Args:
        options: As in the `[task]` section of an experiment: `name`, and arguments of the class.
        data_dir: The data folder; by default the environment's `SMTLAYER_DATA`.

    Raises:
        ConfigError: If there is no such task or option.

    Examples:
        >>> make_task({"name": "mnist-addition", "percent": 25})
        MnistAddition(percent=25, data='auto', validation=0.0)
    """
    if not isinstance(options, Mapping):
        raise ConfigError(f"A task is made of a table of options, with its name. Got {options!r}.")
    given = dict(options)
    name = given.pop("name", None)
    known = option_types(name)
    for option, value in given.items():
        if option not in known:
            hint = did_you_mean(option, known, f"Known are {', '.join(known)}.")
            raise ConfigError(f"{name}: unknown key 'task.{option}'.{hint}")
        _check(f"{name}: task.{option}", value, known[option])
    kind = _task_class(name)
    if "data_dir" in signature(kind).parameters:
        given["data_dir"] = data_dir
    task: Task = kind(**given)
    return task


def option_types(name: object) -> dict[str, Any]:
    """The options of a task with their types: arguments of its class that a file can hold.

    Raises:
        ConfigError: If there is no such task.
    """
    hints = get_type_hints(_task_class(name).__init__)
    return {o: hint for o, hint in hints.items() if hint in _KINDS or get_origin(hint) is Literal}


def _task_class(name: object) -> Any:
    tasks = find_tasks()
    if not isinstance(name, str) or name not in tasks:
        raise ConfigError(f"There is no task {name!r}. Tasks are {', '.join(tasks)}.")
    return resolve(tasks[name].task)


def _check(option: str, value: Any, kind: Any) -> None:
    """Raises unless a value is of the type of its option."""
    choices = get_args(kind) if kind not in _KINDS else ()
    if choices and value not in choices:
        named = ", ".join(map(repr, choices))
        raise ConfigError(f"{option} must be one of {named}. Got {value!r}.")
    if kind in _KINDS and not _fits(value, kind):
        raise ConfigError(f"{option} must be {_KINDS[kind]}. Got {value!r}.")


def _fits(value: Any, kind: Any) -> bool:
    if kind == Combinations:
        lists = isinstance(value, list | tuple) and all(isinstance(v, list | tuple) for v in value)
        return lists and all(type(number) is int for row in value for number in row)
    return type(value) is kind or (kind is float and isinstance(value, int))
