"""Probabilities of a layer: dtypes, extreme logits, samples, and arguments that are refused."""

import math

import pytest
import torch

from helpers import DTYPES, GivesUp, random_logits
from smtlayer import Circuit, Sat, SMTLayer, Table
from smtlayer.errors import UnsupportedError
from smtlayer.testing.theories import addition, mixed_inputs, xor

INF = math.inf


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_have_the_dtype_of_the_logits(dtype):
    layer = SMTLayer(addition(), backend=Table())
    logits = random_logits(6, 4).to(dtype).requires_grad_()
    wide = logits.detach().double().requires_grad_()
    found, exact = (layer.log_prob(z, {"total": 3}) for z in (logits, wide))
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), exact, rtol=2 * torch.finfo(dtype).eps, atol=1e-12)
    found.sum().backward()
    exact.sum().backward()
    assert logits.grad.dtype == dtype
    close = {"rtol": 2 * torch.finfo(dtype).eps, "atol": 1e-12}
    torch.testing.assert_close(logits.grad.double(), wide.grad, **close)
    real = torch.promote_types(dtype, torch.float32)
    assert layer.marginals(logits).inputs.dtype == real


@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_logits_stay_finite(dtype, backend):
    layer = SMTLayer(mixed_inputs(), backend=backend)
    size = torch.finfo(dtype).max
    logits = (random_logits(32, 8).sign() * size).to(dtype).requires_grad_()
    found = layer.log_prob(logits)
    assert found.isfinite().all()
    found.sum().backward()
    assert logits.grad.isfinite().all()


def test_autocast_computes_in_float32():
    layer = SMTLayer(addition(), backend=Table())
    network = torch.nn.Linear(3, 4, dtype=torch.float32)
    features = torch.randn(5, 3, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = network(features)
        found = layer.log_prob(logits, {"total": 2})
        assert (logits.dtype, found.dtype) == (torch.bfloat16, torch.float32)
    exact = layer.log_prob(logits.detach().double(), {"total": 2})
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-6)
    found.sum().backward()
    assert network.weight.grad.isfinite().all()


def masked_batch(theory):
    draw = torch.rand(3, theory.n_inputs, generator=torch.Generator().manual_seed(4))
    return random_logits(3, theory.n_inputs), draw < 0.8, draw < 0.2


def test_samples_follow_the_marginals_and_their_generator():
    layer = SMTLayer(mixed_inputs(), backend=Table())
    logits, known, given = masked_batch(layer.theory)
    generator = torch.Generator().manual_seed(1)
    before = torch.random.get_rng_state()
    drawn = layer.sample(logits, None, 4000, known, given, generator=generator)
    assert torch.equal(torch.random.get_rng_state(), before)
    again = layer.sample(logits, None, 4000, known, given, generator=generator)
    assert not torch.equal(drawn.inputs, again.inputs)
    generator.manual_seed(1)
    same = layer.sample(logits, None, 4000, known, given, generator=generator)
    assert torch.equal(drawn.inputs, same.inputs)
    expected = layer.marginals(logits, None, known, given)
    for signs, mean in ((drawn.inputs, expected.inputs), (drawn.outputs, expected.outputs)):
        assert ((signs > 0).double().mean(0) - mean).abs().max() < 0.05
    with pytest.raises(ValueError, match=r"^SMTLayer.sample expects count as a whole number of 1"):
        layer.sample(logits, count=0)


@pytest.mark.parametrize("backend", [Sat(), GivesUp((1, 1))], ids=["sat", "other"])
def test_backends_that_cannot_weigh_models_are_refused(backend):
    layer = SMTLayer(xor(), backend=backend)
    for method in ("log_prob", "marginals", "sample"):
        with pytest.raises(UnsupportedError) as caught:
            getattr(layer, method)(torch.zeros(2))
        assert caught.value.reason == (
            f"SMTLayer.{method} needs a backend that weighs all models, Table or Circuit; this "
            f"theory is answered by {layer.solver.name}."
        )
        assert caught.value.remedy == (
            "Pass backend=Table(), if it has few models, or backend=Circuit(), if it is finite."
        )


def test_wrong_arguments_are_refused():
    layer = SMTLayer(xor(), backend=Table())
    with pytest.raises(ValueError, match=r"^SMTLayer expects logits of shape \(batch, 2\)"):
        layer.log_prob(torch.zeros(3))
    with pytest.raises(TypeError, match=r"^SMTLayer expects given as a bool tensor. Got torch.int"):
        layer.log_prob(torch.zeros(2), given=torch.ones(2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"^SMTLayer expects known of the logits' shape \(2,\)"):
        layer.marginals(torch.zeros(2), known=torch.ones(3, dtype=torch.bool))
    bad = torch.tensor([INF, math.nan])
    for method in (layer.log_prob, layer.marginals, layer.sample):
        with pytest.raises(ValueError, match=r"^SMTLayer expects finite logits. Row 0, column 0"):
            method(bad)
        with pytest.raises(ValueError, match=r"column 1 \(b\) is nan"):
            method(bad, given=torch.tensor([True, True]))
        assert method(bad, known=torch.tensor([False, False])) is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, in forward mode
def test_transforms_are_refused():
    layer = SMTLayer(xor(), backend=Table())
    logits = torch.zeros(3, 2)
    with pytest.raises(RuntimeError, match="cannot run inside vmap"):
        torch.func.vmap(layer.log_prob)(logits)
    with pytest.raises(RuntimeError, match=r"cannot run inside torch.func transforms"):
        torch.func.grad(lambda z: layer.log_prob(z).sum())(logits)
    leaf = logits.clone().requires_grad_()
    loss = layer.log_prob(leaf, {"y": True}).square().sum()
    (pull,) = torch.autograd.grad(loss, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        pull.sum().backward()
    message = r"^SMTLayer.log_prob has no forward-mode derivative. Use loss.backward\(\) or"
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match=message):
        layer.log_prob(torch.autograd.forward_ad.make_dual(logits, torch.ones(3, 2)))
