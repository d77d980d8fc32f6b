"""Visual algebra as a problem for the laboratory, without images."""

from dataclasses import replace

from smtlayer.lab import LabProblem, problem_of
from smtlayer_studies.tasks.algebra.theory import algebra_theory


def in_range(name: str) -> LabProblem:
    """With the ranges of all numbers; training shows equations with a = b and odd x."""
    problem = problem_of(algebra_theory(), name=name)
    rows = problem.tested
    equal = (rows.inputs[:, :4] == rows.inputs[:, 4:8]).all(-1)
    odd = rows.outputs[:, -1] > 0
    return LabProblem(
        name, problem.theory, problem.widths, problem.readers, rows[equal & odd], rows
    )


def as_printed(name: str) -> LabProblem:
    """The same examples with the paper's equation alone."""
    return replace(in_range(name), theory=algebra_theory(as_printed=True))
