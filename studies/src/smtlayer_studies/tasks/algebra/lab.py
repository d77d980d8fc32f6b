"""Visual algebra as a problem for the laboratory, without images."""

from dataclasses import replace

import torch
from torch import Tensor

from smtlayer.lab import LabProblem, problem_of
from smtlayer_studies.tasks.algebra.task import VisualAlgebra
from smtlayer_studies.tasks.algebra.theory import algebra_theory


def problem(task: VisualAlgebra) -> LabProblem | None:
    """Training shows the task's equations; the test has all.

    None if the network sees the whole image at once: it may read any symbol from any place.
    """
    at_once = task.configuration == 2 and task.reader == "paper"
    return None if at_once else _showing(task.shown, task.name)


def in_range(name: str) -> LabProblem:
    """With the ranges of all numbers; training shows equations with a = b and odd x."""
    return _showing(VisualAlgebra().shown, name)


def as_printed(name: str) -> LabProblem:
    """The same examples with the paper's equation alone."""
    return replace(in_range(name), theory=algebra_theory(as_printed=True))


def _showing(pairs: Tensor, name: str) -> LabProblem:
    """Training shows equations with these values of a = b and x: (N, 2)."""
    found = problem_of(algebra_theory(), name=name)
    rows, theory = found.tested, found.theory
    read = theory.decode_inputs(rows.inputs) | theory.decode(rows.outputs)
    a, b, x = (torch.from_numpy(read[symbol]) for symbol in ("a", "b", "x"))
    is_shown = torch.zeros(10, 10, dtype=torch.bool)
    is_shown[tuple(pairs.T)] = True
    return replace(found, shown=rows[(a == b) & is_shown[a, x]])
