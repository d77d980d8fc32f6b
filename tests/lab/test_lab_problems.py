"""Problems that the lab makes of theories, and its errors about theories it cannot use."""

import pytest
import z3

from smtlayer import Theory
from smtlayer.errors import TheoryError
from smtlayer.lab.problems import problem_of
from smtlayer_studies.tasks.lab_problems import task_problem


def sums():
    """Two numbers of two bits that have a given sum."""
    a, b, total = z3.BitVec("a", 2), z3.BitVec("b", 2), z3.BitVec("total", 3)
    adds = total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b)
    return Theory(adds, inputs=[total], outputs=[a, b])


def test_inputs_that_leave_outputs_open_are_counted():
    problem = problem_of(sums())
    assert (len(problem.shown), problem.left_out, problem.choices) == (2, 5, 7)
    assert task_problem("mnist-addition-10").left_out == 0


def test_inputs_left_out_are_counted_when_only_some_rows_are_shown():
    a, b, y = z3.Bools("a b y")
    theory = Theory(z3.Or(z3.And(a, b), y == z3.Xor(a, b)), inputs=[a, b], outputs=[y])
    problem = problem_of(theory, shown=0.67)
    assert (len(problem.shown), len(problem.tested)) == (2, 1)
    assert (problem.left_out, problem.choices) == (1, 4)


def test_a_theory_without_models_differs_from_one_that_determines_no_outputs():
    a, y = z3.Bools("a y")
    with pytest.raises(TheoryError, match=r"has none: its constraints contradict.*Theory.check"):
        problem_of(Theory(z3.And(a, z3.Not(a), y), inputs=[a], outputs=[y]))
    with pytest.raises(TheoryError, match="there are none: add constraints"):
        problem_of(Theory(z3.Or(a, y, z3.Not(y)), inputs=[a], outputs=[y]))
