"""The liar's puzzle as a problem for the laboratory, without words."""

from dataclasses import replace

import torch

from smtlayer.lab import LabProblem, LabRows
from smtlayer_studies.tasks.liars.data import Puzzles
from smtlayer_studies.tasks.liars.task import LiarsPuzzle


def problem(task: LiarsPuzzle) -> LabProblem:
    """The statements of the task's puzzles, in training and in the test."""
    train, test = _rows(task.puzzles("train")), _rows(task.puzzles("test"))
    return LabProblem(task.name, task.theory, (7, 7, 7), (0, 0, 0), train, test)


def _rows(puzzles: Puzzles) -> LabRows:
    outputs = (2 * puzzles.targets() - 1).to(torch.int8)
    both = torch.unique(torch.cat([puzzles.symbols(), outputs], dim=-1), dim=0)
    return LabRows(both[:, :21], both[:, 21:])


def complete(name: str) -> LabProblem:
    """With all that the puzzle states, and the default split."""
    return replace(problem(LiarsPuzzle()), name=name)


def as_printed(name: str) -> LabProblem:
    """The same examples with the paper's equation alone."""
    return replace(problem(LiarsPuzzle(as_printed=True)), name=name)
