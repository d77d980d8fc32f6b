"""The tasks as problems for the laboratory: their theories without images."""

from collections.abc import Callable, Mapping
from functools import partial

import torch

from smtlayer.errors import ConfigError, did_you_mean
from smtlayer.lab import LabProblem, LabRows, problem_of
from smtlayer.lab.problems import unique_rows
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.liars.data import draw_split
from smtlayer_studies.tasks.liars.theory import liars_theory

_LIARS_SPLIT = 1  # the task's default


def task_problem(name: str) -> LabProblem:
    """The problem of a task: its theory, and the combinations that it shows and tests.

    Examples:
        >>> problem = task_problem("mnist-addition-10")
        >>> len(problem.shown), len(problem.tested)
        (10, 100)

    Raises:
        ConfigError: If there is no such task.
    """
    if name not in LAB_TASKS:
        hint = did_you_mean(name, LAB_TASKS)
        raise ConfigError(f"The laboratory has {', '.join(LAB_TASKS)}. Got {name!r}.{hint}")
    return LAB_TASKS[name](name)


def _addition(percent: int, name: str) -> LabProblem:
    problem = problem_of(addition_theory(), name=name)
    rows = problem.tested
    equal = (rows.inputs[:, :4] == rows.inputs[:, 4:]).all(-1)
    shown = rows[equal] if percent == 10 else rows
    return LabProblem(name, problem.theory, problem.widths, problem.readers, shown, rows)


def _algebra(as_printed: bool, name: str) -> LabProblem:
    problem = problem_of(algebra_theory(), name=name)
    rows = problem.tested
    equal = (rows.inputs[:, :4] == rows.inputs[:, 4:8]).all(-1)
    odd = rows.outputs[:, -1] > 0
    theory = algebra_theory(as_printed=as_printed)
    return LabProblem(name, theory, problem.widths, problem.readers, rows[equal & odd], rows)


def _liars(as_printed: bool, name: str) -> LabProblem:
    rows = []
    for puzzles in draw_split(_LIARS_SPLIT):
        outputs = (2 * puzzles.targets() - 1).to(torch.int8)
        both = unique_rows(torch.cat([puzzles.symbols(), outputs], dim=-1))
        rows.append(LabRows(both[:, :21], both[:, 21:]))
    theory = liars_theory(as_printed=as_printed)
    return LabProblem(name, theory, (7, 7, 7), (0, 0, 0), rows[0], rows[1])


LAB_TASKS: Mapping[str, Callable[[str], LabProblem]] = {
    "mnist-addition-10": partial(_addition, 10),
    "mnist-addition-100": partial(_addition, 100),
    "visual-algebra": partial(_algebra, False),
    "visual-algebra-as-printed": partial(_algebra, True),
    "liars-puzzle": partial(_liars, False),
    "liars-puzzle-as-printed": partial(_liars, True),
}
"""Tasks by name; each function takes that name."""
