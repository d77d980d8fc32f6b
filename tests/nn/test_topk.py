"""`topk`: the most probable models by enumeration, `log_prob` in the limit, its refusals."""

import re

import pytest
import torch
import torch.nn.functional as F
import z3
from test_posterior import distribution, targets_of

from helpers import input_gradient, random_logits
from smtlayer import Circuit, Sat, SMTLayer, Table, Theory, one_hot
from smtlayer.nn import anneal, core, mix, topk
from smtlayer.solvers.circuit import circuit as circuit_module
from smtlayer.testing import THEORIES, random_finite_theory

SMALL = [THEORIES[name]() for name in ("xor", "addition", "free_outputs")]


@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("theory", SMALL)
def test_it_pushes_towards_the_mean_of_the_most_probable_models(theory, k, backend):
    layer = SMTLayer(theory, backend=backend, backward=topk(k=k, temperature=2))
    logits, slope = random_logits(6, theory.n_inputs), random_logits(6, theory.n_outputs, 1)
    found = targets_of(layer, logits, slope)
    for row in range(6):
        wanted = (-slope[row].sign()).int().tolist()
        shares = distribution(theory, logits[row].tolist(), wanted, 2)
        best = sorted(shares.items(), key=lambda pair: -pair[1])[:k]
        total = sum(share for _, share in best)
        expected = torch.sigmoid(logits[row])  # no push without a model
        if best:
            true = (sum(p for z, p in best if z[i] > 0) for i in range(theory.n_inputs))
            expected = torch.tensor([share / total for share in true], dtype=torch.float64)
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_with_enough_models_it_is_the_gradient_of_log_prob(seed):
    theory = random_finite_theory(seed)
    logits, slope = random_logits(8, theory.n_inputs), random_logits(8, theory.n_outputs, 1)
    scale = slope.abs().sum(-1, keepdim=True) / theory.n_inputs
    for backend in (Table(), Circuit()):
        layer = SMTLayer(theory, backend=backend, backward=topk(k=1 << 14))
        found = input_gradient(layer, logits, slope)
        leaf = logits.clone().requires_grad_()
        layer.log_prob(leaf, -slope.sign()).where(found.any(-1), 0).sum().backward()
        torch.testing.assert_close(found, -leaf.grad * scale)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_it_is_the_gradient_of_the_probability_of_these_models(k):
    """Bits and a one-hot symbol, by autograd of a sum over the k best of all models."""
    a, b, y = z3.Int("a"), z3.BitVec("b", 2), z3.Bool("y")
    theory = Theory(y == (a + z3.BV2Int(b) > 3), [one_hot(a, range(4)), b], [y])
    logits = random_logits(5, 6)
    leaf = logits.clone().requires_grad_()
    values, bits = leaf[:, :4].log_softmax(-1), leaf[:, 4:]
    models = [
        values[:, i] + (F.logsigmoid(bits[:, 0] * (2 * (j // 2) - 1)))
        + F.logsigmoid(bits[:, 1] * (2 * (j % 2) - 1))
        for i in range(4) for j in range(4) if i + j > 3
    ]  # fmt: skip
    (-torch.stack(models).topk(k, dim=0).values.logsumexp(0)).sum().backward()
    for backend in (Table(), Circuit()):
        layer = SMTLayer(theory, backend=backend, backward=topk(k=k))
        found = input_gradient(layer, logits, torch.full((5, 1), -6.0).double())  # a scale of 1
        torch.testing.assert_close(found, leaf.grad)
        torch.testing.assert_close(found[:, :4].sum(-1), torch.zeros(5).double())


@pytest.mark.parametrize("k", [1, 4])
def test_diagrams_find_the_models_that_a_table_does(k, monkeypatch):
    digits = z3.Ints("a b c")
    theory = Theory(sum(digits) == 9, [one_hot(d, range(7)) for d in digits], [z3.Bool("free")])
    logits, outputs = torch.randn(20, 21).double() * 3, torch.zeros(20, 1, dtype=torch.int8)
    table = Table().compile(theory).topk(logits, outputs, k)
    monkeypatch.setattr(circuit_module, "_CELLS", 500)  # a few rows at once
    circuit = Circuit().compile(theory).topk(logits, outputs, k)
    torch.testing.assert_close(circuit.log_prob, table.log_prob)
    if k % 2 == 0:  # an output that is free doubles every model; of a single one either may come
        torch.testing.assert_close(circuit.inputs, table.inputs)
        torch.testing.assert_close(circuit.outputs, table.outputs)


def test_facts_and_unknown_inputs_get_no_gradient():
    layer = SMTLayer(SMALL[1], backward="topk")
    logits = random_logits(4, 4).requires_grad_()
    known, given = torch.ones(4, 4, dtype=torch.bool), torch.zeros(4, 4, dtype=torch.bool)
    known[:, 1], given[:, 2] = False, True
    layer(logits, known=known, given=given).sum().backward()
    assert not logits.grad[:, [1, 2]].any()
    assert logits.grad[:, [0, 3]].any()


def test_a_label_that_no_model_has_is_counted():
    a, y = z3.Bools("a y")
    layer = SMTLayer(Theory([a == y, y], inputs=[a], outputs=[y]), backward="topk")
    logits = torch.ones(3, 1, requires_grad=True)
    layer(logits).sum().backward()
    assert not logits.grad.any()
    assert layer.stats.contradicted == 3


def test_it_needs_a_backend_that_ranks_models():
    message = "The rule topk(k=2) needs a backend that ranks models, Table or Circuit; this theory"
    with pytest.raises(ValueError, match=re.escape(message)):
        SMTLayer(SMALL[0], backend=Sat(), backward="topk(k=2)")


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None])
def test_k_is_a_whole_number(k):
    message = f"topk expects k as a whole number of at least 1. Got {k!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        topk(k=k)


def test_it_composes_and_prints():
    assert str(topk) == "topk"
    assert str(topk(k=5)) == "topk(k=5)"
    assert str(topk(k=5, temperature=anneal(4, 1))) == "topk(temperature=anneal(4, 1), k=5)"
    assert topk(k=4)(temperature=2) == topk(temperature=2)
    layer = SMTLayer(SMALL[0], backward=mix(core, topk(temperature=anneal(4, 1))))
    layer.progress = 0.5
    assert input_gradient(layer, random_logits(6, 2), random_logits(6, 1)).isfinite().all()
