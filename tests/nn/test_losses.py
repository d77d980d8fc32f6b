"""`SemanticLoss` and `LikelihoodLoss`: against sums over all inputs, and in training."""

import copy
import itertools
import math
import pickle

import pytest
import torch
import z3

from helpers import random_logits
from smtlayer import Sat, SMTLayer, Table, Theory
from smtlayer.errors import UnsupportedError
from smtlayer.nn import LikelihoodLoss, SemanticLoss
from smtlayer.testing.theories import addition


def exactly_one():
    a, b, c = z3.Bools("a b c")
    return Theory(z3.PbEq([(a, 1), (b, 1), (c, 1)], 1), inputs=[a, b, c], outputs=[a])


def probability(logits, holds):
    """The probability that independent inputs satisfy a predicate, in differentiable torch."""
    total = 0
    for bits in itertools.product((0, 1), repeat=logits.shape[-1]):
        if holds(bits):
            signs = torch.tensor(bits) * 2 - 1
            total = total + (logits * signs).sigmoid().prod(-1)
    return total


def check_gradients(ours, theirs):
    ours[1].sum().backward()
    theirs[1].sum().backward()
    torch.testing.assert_close(ours[0].grad, theirs[0].grad)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_semantic_loss_is_that_of_the_definition(reduction):
    ours, theirs = (random_logits(7, 3).requires_grad_() for _ in range(2))
    found = SemanticLoss(exactly_one(), Table(), reduction)(ours)
    expected = -probability(theirs, lambda bits: sum(bits) == 1).log()
    expected = expected if reduction == "none" else getattr(expected, reduction)()
    torch.testing.assert_close(found, expected)
    check_gradients((ours, found), (theirs, expected))


@pytest.mark.parametrize("conditional", [False, True])
def test_likelihood_loss_is_that_of_the_definition(conditional):
    ours, theirs = (random_logits(7, 3).requires_grad_() for _ in range(2))
    loss = LikelihoodLoss(exactly_one(), reduction="none", conditional=conditional)
    found = loss(ours, {"a": True})
    expected = probability(theirs, lambda bits: bits == (1, 0, 0))
    if conditional:
        expected = expected / probability(theirs, lambda bits: sum(bits) == 1)
    expected = -expected.log()
    torch.testing.assert_close(found, expected)
    check_gradients((ours, found), (theirs, expected))


def test_a_layer_may_be_shared_and_has_the_counts():
    layer = SMTLayer(addition(), backend=Table())
    loss = LikelihoodLoss(layer)
    assert loss.layer is layer
    impossible = loss(random_logits(3, 4), {"total": [1, 7, 2]})  # 3 + 3 is the most
    assert impossible.item() == math.inf
    assert layer.stats.impossible == 1


@pytest.mark.parametrize("conditional", [False, True])
def test_zero_infinity_leaves_out_impossible_rows(conditional):
    logits = random_logits(3, 4).requires_grad_()
    options = {"backend": Table(), "conditional": conditional}
    each = LikelihoodLoss(addition(), reduction="none", **options)(logits, {"total": [1, 7, 2]})
    assert each.isinf().tolist() == [False, True, False]
    loss = LikelihoodLoss(addition(), zero_infinity=True, **options)
    found = loss(logits, {"total": [1, 7, 2]})
    torch.testing.assert_close(found, (each[0] + each[2]) / 3)
    found.backward()
    assert logits.grad.isfinite().all()
    assert logits.grad.ne(0).any(-1).tolist() == [True, False, True]


@pytest.mark.parametrize("zero", [False, True])
def test_facts_that_contradict_the_theory_make_no_nan(zero):
    logits = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    given = torch.tensor([[True, True, False], [True, False, False]])
    losses = [
        SemanticLoss(exactly_one(), zero_infinity=zero)(logits, given=given),
        LikelihoodLoss(exactly_one(), zero_infinity=zero)(logits, {"a": True}, given=given),
        LikelihoodLoss(exactly_one(), conditional=True, zero_infinity=zero)(
            logits, {"a": True}, given=given
        ),
    ]
    assert [loss.isinf().item() for loss in losses] == [not zero] * 3
    assert not any(loss.isnan() for loss in losses)
    sum(losses).backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[0].any()
    known = torch.tensor([False, False, False])
    free = SemanticLoss(exactly_one())(logits, known=known)
    assert free.item() == pytest.approx(-math.log(3 / 8))


def test_training_by_likelihood_learns_the_digits():
    torch.manual_seed(0)
    network = torch.nn.Linear(4, 2, dtype=torch.float64)  # reads one of four digits of two bits
    loss = LikelihoodLoss(addition(), Table())
    optimizer = torch.optim.Adam(network.parameters(), 0.1)
    pairs = torch.cartesian_prod(torch.arange(4), torch.arange(4))
    images = torch.eye(4, dtype=torch.float64)[pairs]  # (16, 2, 4)
    for _ in range(60):
        optimizer.zero_grad()
        value = loss(network(images).flatten(1), {"total": pairs.sum(-1)})
        value.backward()
        optimizer.step()
    assert value.item() < 0.2
    bits = network(torch.eye(4, dtype=torch.float64)) > 0
    assert (bits * torch.tensor([2, 1])).sum(-1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_losses_copy_and_print(copied):
    loss = LikelihoodLoss(exactly_one(), Table(), "sum", conditional=True)
    logits = random_logits(4, 3)
    assert torch.equal(copied(loss)(logits, {"a": False}), loss(logits, {"a": False}))
    assert "reduction='sum', conditional=True, zero_infinity=False" in repr(loss)
    assert "reduction='mean', zero_infinity=True" in repr(
        SemanticLoss(exactly_one(), zero_infinity=True)
    )
    assert not loss.state_dict()


@pytest.mark.parametrize("kind", [SemanticLoss, LikelihoodLoss])
def test_wrong_arguments_are_refused(kind):
    who = kind.__name__
    with pytest.raises(TypeError, match=f"^{who} expects a Theory or an SMTLayer. Got str.$"):
        kind("theory")
    with pytest.raises(ValueError, match=f"^{who}: reduction='max' is not one of 'mean', 'sum'"):
        kind(exactly_one(), reduction="max")
    for theory in (exactly_one(), SMTLayer(exactly_one(), backend=Sat())):
        with pytest.raises(UnsupportedError, match=f"^{who} needs a backend that weighs all"):
            kind(theory, Sat())
