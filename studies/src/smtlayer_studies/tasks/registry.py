"""Finds tasks and experiments by name, without importing torch.

A task is a package whose `__init__` defines `TASK`, a `TaskEntry`, and imports nothing heavy. It is
found if it lies in this folder, or if an entry point of the group `smtlayer.tasks` names it:

    [project.entry-points."smtlayer.tasks"]
    parity = "my_package.parity:TASK"

Its folder may also hold experiments: TOML files, as in the folder `experiments`.
"""

import pkgutil
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import smtlayer_studies.tasks

GROUP = "smtlayer.tasks"
_EXPERIMENTS = Path(__file__).parents[1] / "experiments"


@dataclass(frozen=True)
class TaskEntry:
    """What a task's package declares.

    Args:
        name: As in `task.name` of an experiment.
        task: The class, as `"package.module:Class"`.
        experiment: The experiment that the task's name stands for, if none is called so.
        default: Whether `smtlayer train` and `smtlayer demo` use this task by default.
        problem: A function that takes a task and makes the `LabProblem` of what it shows and tests,
            as `"package.module:function"`; it may return None. Training then warns of shortcuts.
        lab: Problems for the laboratory by name, each a function that makes a `LabProblem`, as
            `"package.module:function"`.
    """

    name: str
    task: str
    experiment: str = ""
    default: bool = False
    problem: str = ""
    lab: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder of its package."""
        spec = find_spec(self.task.partition(":")[0])
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{self.name}: there is no module {self.task}.")
        return Path(spec.origin).parent


def find_tasks() -> dict[str, TaskEntry]:
    """All tasks by name."""
    path = smtlayer_studies.tasks.__path__
    here = [module.name for module in pkgutil.iter_modules(path) if module.ispkg]
    entries = [import_module(f"{smtlayer_studies.tasks.__name__}.{name}").TASK for name in here]
    for point in entry_points(group=GROUP):
        try:
            entries.append(point.load())
        except Exception as error:  # the other tasks still work
            warnings.warn(f"The task {point.value} is left out: {error}.", stacklevel=2)
    return {entry.name: entry for entry in entries}


def default_task() -> TaskEntry:
    """The task that newcomers start with."""
    return next(task for task in find_tasks().values() if task.default)


def find_experiments() -> dict[str, Path]:
    """The files of all experiments by name; numbers in names are ordered by value."""
    folders = [_EXPERIMENTS, *(entry.folder for entry in find_tasks().values())]
    files = {file.stem: file for folder in folders for file in folder.glob("*.toml")}
    return {name: files[name] for name in sorted(files, key=_by_number)}


def short_names() -> dict[str, str]:
    """Names of tasks that stand for one of their experiments."""
    return {task.name: task.experiment for task in find_tasks().values() if task.experiment}


def find_lab_problems() -> dict[str, str]:
    """The laboratory's problems by name, each as `"package.module:function"`."""
    return {name: where for task in find_tasks().values() for name, where in task.lab.items()}


def resolve(where: str) -> Any:
    """Imports what `"package.module:name"` refers to."""
    return pkgutil.resolve_name(where)


def _by_number(name: str) -> list[tuple[str, int]]:
    parts = re.findall(r"(\D*)(\d*)", name)
    return [(text, int(number or 0)) for text, number in parts]
