"""MNIST addition as a problem for the laboratory, without images."""

from smtlayer.lab import LabProblem, problem_of
from smtlayer_studies.tasks.addition.theory import addition_theory


def equal_pairs(name: str) -> LabProblem:
    """Training shows two equal digits."""
    problem = all_pairs(name)
    rows = problem.tested
    equal = (rows.inputs[:, :4] == rows.inputs[:, 4:]).all(-1)
    return LabProblem(name, problem.theory, problem.widths, problem.readers, rows[equal], rows)


def all_pairs(name: str) -> LabProblem:
    """Training shows all pairs of digits."""
    return problem_of(addition_theory(), name=name)
