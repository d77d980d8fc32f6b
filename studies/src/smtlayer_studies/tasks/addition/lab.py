"""MNIST addition as a problem for the laboratory, without images."""

from dataclasses import replace

from smtlayer.lab import LabProblem, LabRows, problem_of
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.addition.theory import addition_theory


def problem(task: MnistAddition) -> LabProblem:
    """Training shows the task's pairs; the test has all."""
    every, theory = all_pairs(task.name), task.theory
    a, b = task.shown.T
    shown = LabRows(theory.encode(a=a, b=b), theory.encode_outputs(total=a + b))
    return replace(every, shown=shown)


def equal_pairs(name: str) -> LabProblem:
    """Training shows two equal digits."""
    return replace(problem(MnistAddition(percent=10)), name=name)


def all_pairs(name: str) -> LabProblem:
    """Training shows all pairs of digits."""
    return problem_of(addition_theory(), name=name)
