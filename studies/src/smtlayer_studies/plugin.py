"""The commands, checks and problems that the studies add to `smtlayer`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from smtlayer_cli.plugins import Check, Command, Panel, Plugin
from smtlayer_studies.tasks.registry import find_lab_problems

if TYPE_CHECKING:
    from smtlayer.lab import LabProblem
    from smtlayer_cli.checks import Finding

_COMMANDS = (
    ("train", Panel.TRAIN, "Train an experiment, with the layer and without it."),
    ("evaluate", Panel.TRAIN, "Score a trained run again: other data, rules or backend."),
    ("reproduce", Panel.TRAIN, "Train what is missing of the paper's table, and show it."),
    ("inspect", Panel.LOOK, "Show examples of a trained run, and explain their results."),
    ("report", Panel.LOOK, "Write a web page about trained runs, which opens offline."),
    ("data", Panel.KEEP, "Show which data sets are there, and download missing ones."),
)


def check_data() -> Iterable[Finding]:
    """Checks the data sets of the tasks."""
    from smtlayer_studies.commands.data import find_data

    return find_data()


def make_lab_problem(name: str) -> LabProblem:
    """The problem of a task: its theory without images."""
    from smtlayer_studies.tasks.lab_problems import task_problem

    return task_problem(name)


plugin = Plugin(
    commands=tuple(
        Command(name, panel, line, f"smtlayer_studies.commands.{name}:{name}")
        for name, panel, line in _COMMANDS
    ),
    examples=(
        (
            "smtlayer train mnist-addition --data sample",
            "Learn to add from sums of equal digits alone, in minutes and without a download.",
        ),
        (
            "smtlayer evaluate runs/mnist-addition-10/best --inference smt",
            "Score that run again, without letting the solver overrule the network.",
        ),
    ),
    environment=(
        ("SMTLAYER_DATA", "Folder of the data sets."),
        ("SMTLAYER_DOWNLOAD", "1 lets training download missing data."),
    ),
    checks=(Check("Data", "data", check_data),),
    lab_problems=dict.fromkeys(find_lab_problems(), make_lab_problem),
)  # fmt: skip
