"""Theorem 1: where labels pin the inputs down, B_max *is* supervised learning of the inputs."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from helpers import FORWARD, bijection, random_logits
from smtlayer import Z3, SMTLayer, Table
from smtlayer.testing.theories import addition, unique_labels

WHOLE = [(2, 0), (3, 0), (3, 1), (3, 2), (4, 0), (4, 1), (4, 2)]  # bits, seed


def labelled(theory, rows, seed):
    """Logits, and hidden truths with the labels that the theory gives them."""
    solver = Table().compile(theory)
    every = torch.tensor(list(itertools.product((-1, 1), repeat=theory.n_inputs)))
    solution = solver.solve(every.to(torch.int8))
    truths, labels = solution.inputs[solution.status == 1], solution.outputs[solution.status == 1]
    assert len(torch.unique(labels, dim=0)) == len(truths), "the theorem does not apply"
    picked = torch.randint(len(truths), (rows,), generator=torch.Generator().manual_seed(seed))
    logits = random_logits(rows, theory.n_inputs, seed)
    correct = torch.arange(rows) % 3 == 0  # a third of the rows is right already
    logits[correct] = logits[correct].abs() * truths[picked][correct]
    return logits, (truths[picked] > 0).double(), (labels[picked] > 0).double()


def assert_supervised(theory, forward, backend, rows=24, seed=5):
    logits, truth, label = labelled(theory, rows, seed)
    layer = SMTLayer(theory, backend=backend, forward=forward, backward="maxsmt", scale="batch")
    learnt, taught = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    F.binary_cross_entropy_with_logits(layer(learnt), label).backward()
    F.binary_cross_entropy_with_logits(taught, truth).backward()
    torch.testing.assert_close(learnt.grad, taught.grad, rtol=1e-12, atol=1e-15)
    assert layer.stats.correct >= rows // 3
    assert layer.stats.blamed >= rows // 3
    return layer


@pytest.mark.parametrize("forward", FORWARD)
@pytest.mark.parametrize(("bits", "seed"), WHOLE)
def test_the_gradient_is_the_one_of_the_hidden_truth(bits, seed, forward):
    layer = assert_supervised(bijection(bits, seed), forward, Table())
    assert layer.stats.unsat == 0


@pytest.mark.parametrize(("bits", "seed", "dropped"), [(3, 2, 3), (3, 3, 5), (4, 2, 6)])
def test_inputs_without_a_model_learn_the_hidden_truth_too(bits, seed, dropped):
    layer = assert_supervised(bijection(bits, seed, dropped), "smt", Table())
    assert layer.stats.unsat > 0


def test_a_row_that_the_forward_rule_repaired_is_held_where_its_logits_are():
    # The paper's boxes hold a correct row to sign(z), though F_max overruled an input on the way to
    # the right answer: there the gradient is not the supervised one.
    theory = bijection(2, 0, dropped=1)  # 00 has no model
    logits = torch.tensor([[-3.0, -0.5]], dtype=torch.float64, requires_grad=True)
    layer = SMTLayer(theory, forward="maxsmt", backward="maxsmt", scale="batch")
    outputs = layer(logits)
    label = (Table().compile(theory).solve(theory.encode(x=1)[None]).outputs > 0).double()
    F.binary_cross_entropy_with_logits(outputs, label).backward()
    assert layer.stats.correct == 1
    torch.testing.assert_close(logits.grad, torch.sigmoid(logits.detach()) / 2)


def test_the_theorem_holds_with_z3_and_with_a_formula_that_is_no_list():
    assert_supervised(bijection(3, 7), "smt", Z3())
    assert_supervised(unique_labels(), "maxsmt", Z3())


def test_logits_of_zero_count_as_false_on_both_sides():
    theory = bijection(3, 0)
    logits, truth, label = labelled(theory, 12, 0)
    logits[:, 1] = 0.0
    layer = SMTLayer(theory, backward="maxsmt", scale="batch")
    learnt, taught = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    F.binary_cross_entropy_with_logits(layer(learnt), label).backward()
    F.binary_cross_entropy_with_logits(taught, truth).backward()
    torch.testing.assert_close(learnt.grad, taught.grad, rtol=1e-12, atol=1e-15)


def test_without_unique_labels_the_theorem_does_not_hold():
    a_plus_b = addition()
    layer = SMTLayer(a_plus_b, backward="maxsmt", scale="batch")
    logits = a_plus_b.encode(a=1, b=2).double()[None] * 2
    truth, label = a_plus_b.encode(a=2, b=1)[None], a_plus_b.encode_outputs(total=3)[None]
    learnt, taught = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    F.binary_cross_entropy_with_logits(layer(learnt), (label > 0).double()).backward()
    F.binary_cross_entropy_with_logits(taught, (truth > 0).double()).backward()
    assert (learnt.grad - taught.grad).abs().max() > 0.1
