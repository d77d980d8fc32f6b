"""A row that is answered by itself, in numpy, gets the model that a batch gets."""

import numpy as np
import pytest
import torch
import z3

from helpers import all_equal, seeds
from smtlayer import Circuit, Table, Theory, one_hot
from smtlayer.solvers.one_row import answers_row, sums_are_exact
from smtlayer.testing.theories import addition, free_outputs, integers, random_theory

WEIGHTS = {
    "reals": lambda n, draw: draw.random(n) + 0.01,
    "ties": lambda n, draw: draw.integers(1, 3, n).astype(float),
    "tiny beside large": lambda n, draw: 10.0 ** draw.integers(-200, 200, n),
}
THEORIES = {
    "addition": addition,
    "free outputs": free_outputs,
    "integers": integers,
    "all equal": lambda: all_equal(7),  # most rows contradict it
}


def rows(n, kind, draw):
    signs = draw.integers(-1, 2, n).astype(np.int8)
    weights = WEIGHTS[kind](n, draw)
    facts = draw.random(n) < 0.2
    return signs, np.where(facts, np.inf, weights)


def check(solver, kind, seed):
    """Compares some rows; returns how many the solver answered by themselves."""
    draw, answered = np.random.default_rng(seed), 0
    for _ in range(8):
        signs, weights = rows(solver.theory.n_inputs, kind, draw)
        batch = torch.from_numpy(signs).repeat(8, 1), torch.from_numpy(weights).repeat(8, 1)
        wanted = solver.maximize(*batch)
        found = solver.cheapest(signs, weights)
        if found is None:
            continue
        answered += 1
        columns, cost = found
        whole = torch.cat([wanted.inputs[0], wanted.outputs[0]])
        assert columns.tolist() == whole.tolist()
        assert cost == pytest.approx(wanted.cost[0].item())
    return answered


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
@pytest.mark.parametrize("theory", THEORIES)
def test_a_row_gets_the_model_of_a_batch(theory, backend, kind):
    solver = backend.compile(THEORIES[theory]())
    assert answers_row(solver)
    answered = check(solver, kind, seed=1)
    assert answered == 8 or kind == "tiny beside large"


@pytest.mark.parametrize("seed", seeds(6, 60))
@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
def test_random_theories_give_a_row_the_model_of_a_batch(backend, seed):
    solver = backend.compile(random_theory(seed))
    for kind in WEIGHTS:
        check(solver, kind, seed)


@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
def test_a_tie_that_rounding_may_hide_is_left_to_an_exact_comparison(backend):
    a, b, c = z3.Bools("a b c")
    theory = Theory(z3.Or(z3.And(a, b), c), inputs=[a, b, c], outputs=[a])
    signs, weights = np.full(3, -1, dtype=np.int8), np.array([1.0, 1e-17, 1.0])
    assert backend.compile(theory).cheapest(signs, weights) is None
    plain = backend.compile(theory).cheapest(signs, np.array([1.0, 0.5, 1.25]))
    assert plain[0].tolist() == [-1, -1, 1, -1]
    assert plain[1] == 1.25


def test_a_theory_without_models_has_none_for_a_row():
    digit = z3.Int("digit")
    theory = Theory(
        digit > 9, inputs=[one_hot(digit, range(4))], outputs=[one_hot(digit, range(4))]
    )
    for backend in (Table(), Circuit()):
        columns, cost = backend.compile(theory).cheapest(np.ones(4, dtype=np.int8), np.ones(4))
        assert (columns.tolist(), cost) == ([0] * 8, np.inf)


@pytest.mark.parametrize(
    ("weights", "exact"),
    [
        ([1.0, 0.5, 3.0], True),
        ([1.0, 1e-17], False),
        ([2.0**899, 2.0**860], True),
        ([1e-300, 1.0], False),
        ([2.0**-950, 2.0**-950], False),
    ],
)
def test_sums_are_exact_if_no_digit_is_lost(weights, exact):
    assert sums_are_exact(np.array(weights)) is exact
