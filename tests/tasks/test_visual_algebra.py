import itertools

import z3

from smtlayer.tasks.visual_algebra import algebra_theory
from tasks.every_model import every_model

PROBLEMS = {
    (a, b, *divmod(a * x + b, 10), x) for a, b, x in itertools.product(range(1, 10), repeat=3)
}


def test_the_models_are_all_problems_with_their_solutions():
    assert len(PROBLEMS) == 729
    assert every_model(algebra_theory(), z3.BitVecs("a b c1 c2 x", 4)) == PROBLEMS


def test_every_problem_has_one_solution():
    assert len({problem[:4] for problem in PROBLEMS}) == 729


def test_a_network_gives_four_digits_and_gets_one():
    theory = algebra_theory()
    assert (theory.n_inputs, theory.n_outputs) == (16, 4)
    assert theory.input_widths == (4, 4, 4, 4)
    assert theory.input_names[::4] == ("a[3]", "b[3]", "c1[3]", "c2[3]")
    assert theory.output_names[0] == "x[3]"
