"""The layer does what the paper's algorithm boxes say, entry by entry."""

import itertools

import pytest
import torch

from helpers import BACKENDS, BACKWARD, FORWARD, majority_of_three, random_logits, seeds
from nn.paper import Paper
from smtlayer import SMTLayer, Table
from smtlayer.testing import THEORIES, random_theory

ROWS = 6
NAMED = {**THEORIES, "majority_of_three": majority_of_three}


def check(paper, backend, forward, backward, seed=0):
    """A few rows of logits, slopes of the outputs, and what the paper makes of them."""
    theory = paper.theory
    layer = SMTLayer(theory, backend=backend, forward=forward, backward=backward,
                     weights=paper.weights, scale="batch")  # fmt: skip
    leaf = questions(theory, seed).requires_grad_()
    slope = random_logits(ROWS, theory.n_outputs, seed + 1)
    outputs = layer(leaf)
    outputs.backward(slope)
    forward_of = paper.forward_smt if forward == "smt" else paper.forward_max
    backward_of = paper.backward_core if backward == "core" else paper.backward_max
    for row in range(ROWS):
        z, y = leaf[row].tolist(), outputs[row].int().tolist()
        assert y in forward_of(z), f"{forward} of {z}"
        gradients = torch.tensor(backward_of(z, y, slope[row].tolist(), ROWS), dtype=torch.float64)
        distance = (gradients - leaf.grad[row]).abs().amax(-1).min()
        assert distance < 1e-12, f"{backward} of {z}, {y}: {leaf.grad[row]} is none of {gradients}"


def questions(theory, seed):
    logits = random_logits(ROWS, theory.n_inputs, seed)
    logits[1::3] = logits[1::3].round()  # ties, and some zeros
    return logits


@pytest.mark.parametrize("name", NAMED)
def test_named_theories_get_the_outputs_and_gradients_of_the_paper(name):
    paper = Paper(NAMED[name](), "softmax")
    for backend, forward, backward in itertools.product(BACKENDS, FORWARD, BACKWARD):
        check(paper, backend, forward, backward)


@pytest.mark.parametrize("seed", seeds(8, 16))
def test_random_theories_get_the_outputs_and_gradients_of_the_paper(seed):
    paper = Paper(random_theory(seed), "softmax")
    for backend, forward, backward in itertools.product(BACKENDS[:2], FORWARD, BACKWARD):
        check(paper, backend, forward, backward, seed)


@pytest.mark.parametrize("seed", range(16, 22))
def test_log_odds_as_weights_change_nothing_else(seed):
    paper = Paper(random_theory(seed), "logit")
    for backend, forward in itertools.product(BACKENDS[:2], FORWARD):
        check(paper, backend, forward, "maxsmt", seed)


def test_the_comparison_sees_correct_wrong_contradicted_and_unsatisfiable_rows():
    seen = {"correct": 0, "blamed": 0, "contradicted": 0, "unsat": 0}
    for seed in range(16):
        theory = random_theory(seed)
        layer = SMTLayer(theory, backend=Table())
        leaf = questions(theory, seed).requires_grad_()
        layer(leaf).backward(random_logits(ROWS, theory.n_outputs, seed + 1))
        seen = {name: count + getattr(layer.stats, name) for name, count in seen.items()}
    assert all(count >= 5 for count in seen.values()), seen
