"""The liar's puzzle as a problem for the laboratory, without words."""

from dataclasses import replace

import torch

from smtlayer.lab import LabProblem, LabRows
from smtlayer_studies.tasks.liars.data import draw_split
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.liars.theory import liars_theory


def complete(name: str) -> LabProblem:
    """With all that the puzzle states, and the default split."""
    splits = []
    for puzzles in draw_split(LiarsPuzzle.split):
        outputs = (2 * puzzles.targets() - 1).to(torch.int8)
        both = torch.unique(torch.cat([puzzles.symbols(), outputs], dim=-1), dim=0)
        splits.append(LabRows(both[:, :21], both[:, 21:]))
    train, test = splits
    return LabProblem(name, liars_theory(), (7, 7, 7), (0, 0, 0), train, test)


def as_printed(name: str) -> LabProblem:
    """The same examples with the paper's equation alone."""
    return replace(complete(name), theory=liars_theory(as_printed=True))
