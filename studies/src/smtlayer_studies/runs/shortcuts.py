"""A warning before training: wrong readings of the symbols fit the examples that it shows."""

import warnings

from smtlayer.errors import ShortcutWarning, UnsupportedError
from smtlayer.lab import readings
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.tasks.base import Task
from smtlayer_studies.tasks.registry import find_tasks, resolve

_LIMIT = 1_000  # readings, which take a second at most


def shortcut_warning(task: Task, config: RunConfig) -> str:
    """The text; empty if all readings that fit answer the test correctly, or if none is counted.

    A conventional network has no readings, and some tasks cannot list what they show: see
    `TaskEntry.problem`.

    Args:
        task: The task of the run, with its split and options.
        config: The options of the run.
    """
    entry = find_tasks().get(task.name)
    if entry is None or not entry.problem or config.layer is None:
        return ""
    problem = resolve(entry.problem)(task)
    if problem is None:
        return ""
    try:
        found = readings(problem, limit=_LIMIT)
    except UnsupportedError:
        return ""
    return f"{found.summary}. {found.advice}." if found.wrong else ""


def warn_of_shortcuts(text: str) -> None:
    """Issues a `ShortcutWarning` for the caller of `run`."""
    warnings.warn(text, ShortcutWarning, stacklevel=3)
