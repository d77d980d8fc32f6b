"""Probabilities on a GPU: the same as on a CPU, step by step and as replayed graphs."""

import math

import pytest
import torch

from helpers import input_gradient, random_logits
from smtlayer import Circuit, SMTLayer, Table
from smtlayer.nn import LikelihoodLoss, core, marginal, mix
from smtlayer.testing.theories import addition, mixed_inputs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def value_and_gradient(layer, logits, outputs, known, given):
    leaf = logits.detach().clone().requires_grad_()
    value = layer.log_prob(leaf, outputs, known, given)
    value.exp().sum().backward()
    return value.detach(), leaf.grad


def batch(theory, seed, masks, dtype=torch.float64):
    logits = random_logits(32, theory.n_inputs, seed).to(dtype)
    draw = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed))
    generator = torch.Generator().manual_seed(seed + 1)
    outputs = torch.randint(-1, 2, (32, theory.n_outputs), generator=generator).to(torch.int8)
    known = draw < 0.8 if masks in ("known", "both") else None
    given = draw < 0.3 if masks in ("given", "both") else None
    return logits, outputs, known, given


def on_gpu(*parts):
    return [None if part is None else part.cuda() for part in parts]


@pytest.mark.parametrize("masks", ["none", "known", "given", "both"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("theory", [addition(3), mixed_inputs()], ids=["bits", "mixed"])
@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
def test_graphs_give_what_the_cpu_gives(theory, dtype, masks, backend):
    here, there = (SMTLayer(theory, backend=backend) for _ in range(2))
    for seed in range(8):
        parts = batch(theory, seed, masks, dtype)
        expected = value_and_gradient(here, *parts)
        found = value_and_gradient(there, *on_gpu(*parts))
        assert all(tensor.is_cuda and tensor.dtype == dtype for tensor in found)
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(expected))
    assert [key[0] for key in there._graphs._captured] == ["marginal"]
    assert there.stats.impossible == here.stats.impossible
    assert there.stats.solver_seconds > 0


def test_without_a_gradient_another_graph_is_replayed():
    theory = mixed_inputs()
    here, there = (SMTLayer(theory, backend=Table()) for _ in range(2))
    for seed in range(8):
        parts = batch(theory, seed, "both")
        found = there.log_prob(*on_gpu(*parts))
        torch.testing.assert_close(found.cpu(), here.log_prob(*parts))
    assert [key[0] for key in there._graphs._captured] == ["log_prob"]


@pytest.mark.parametrize("options", [{"cuda_graphs": False}, {}])
@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
def test_results_are_not_overwritten_by_the_next_batch(options, backend):
    theory = addition(3)
    layer = SMTLayer(theory, backend=backend, **options)
    values, leaves = [], []
    for seed in range(8):
        leaves.append(random_logits(16, 6, seed).cuda().requires_grad_())
        values.append(layer.log_prob(leaves[-1], {"total": 5}))
    torch.stack(values).sum().backward()  # all backward passes after all forward passes
    for seed, (leaf, value) in enumerate(zip(leaves, values, strict=True)):
        own = random_logits(16, 6, seed).requires_grad_()
        expected = SMTLayer(theory, backend=Table()).log_prob(own, {"total": 5})
        expected.sum().backward()
        torch.testing.assert_close(value.detach().cpu(), expected.detach())
        torch.testing.assert_close(leaf.grad.cpu(), own.grad)


def test_bad_logits_are_refused_also_by_a_graph():
    layer = SMTLayer(addition(3), backend=Table())
    for _ in range(6):
        layer.log_prob(torch.ones(4, 6, device="cuda"))
    bad = torch.ones(4, 6, device="cuda")
    bad[2, 3] = math.nan
    with pytest.raises(ValueError, match=r"^SMTLayer expects finite logits. Row 2, column 3"):
        layer.log_prob(bad)
    assert layer.log_prob(torch.ones(4, 6, device="cuda")).isfinite().all()


@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])
def test_impossible_rows_have_no_gradient_in_a_graph(backend):
    layer = SMTLayer(addition(3), backend=backend)
    for step in range(1, 8):
        leaf = torch.randn(3, 6, device="cuda", requires_grad=True)
        value = layer.log_prob(leaf, {"total": [3, 15, 4]})  # 7 + 7 is the most
        value.square().sum().backward()
        assert value.isneginf().tolist() == [False, True, False]
        assert leaf.grad.isfinite().all()
        assert not leaf.grad[1].any()
        assert layer.stats.impossible == step


def test_a_solver_that_cannot_be_captured_answers_eagerly(monkeypatch):
    layer = SMTLayer(addition(3), backend=Table())
    monkeypatch.setattr(type(layer.solver), "capturable", frozenset())
    for _ in range(6):
        layer.log_prob(torch.randn(4, 6, device="cuda"))
    assert not layer._graphs._captured


def test_marginals_and_samples_are_those_of_the_cpu():
    theory = mixed_inputs()
    layer = SMTLayer(theory, backend=Table())
    parts = batch(theory, 3, "both")
    here, there = layer.marginals(*parts), layer.marginals(*on_gpu(*parts))
    for name in ("inputs", "outputs", "log_prob"):
        torch.testing.assert_close(getattr(there, name).cpu(), getattr(here, name))
    logits, _, known, given = parts
    generator = torch.Generator("cuda").manual_seed(0)
    before = torch.cuda.get_rng_state()
    drawn = layer.sample(*on_gpu(logits, None), 3000, *on_gpu(known, given), generator=generator)
    assert torch.equal(torch.cuda.get_rng_state(), before)
    mean = (drawn.inputs > 0).double().mean(0).cpu()
    assert (mean - layer.marginals(logits, None, known, given).inputs).abs().max() < 0.06


@pytest.mark.parametrize("rule", [marginal, mix(core, marginal)], ids=str)
def test_a_circuit_replays_the_passes_whose_questions_it_can_capture(rule):
    here, there = (SMTLayer(addition(3), backend=Circuit(), backward=rule) for _ in range(2))
    for step in range(8):
        logits, slope = random_logits(16, 6, step), random_logits(16, 4, step + 50)
        torch.manual_seed(step)  # the same choice on both sides
        expected = input_gradient(here, logits, slope)
        torch.manual_seed(step)
        found = input_gradient(there, logits.cuda(), slope.cuda())
        torch.testing.assert_close(found.cpu(), expected)
    (captured,) = there._graphs._captured.values()
    assert len(captured._backward_graphs) == 1  # not that of cores


def test_training_with_autocast_and_a_loss():
    loss = LikelihoodLoss(addition(3), Table())
    network = torch.nn.Linear(5, 6, device="cuda", dtype=torch.float32)
    optimizer = torch.optim.Adam(network.parameters(), 0.05)
    features = torch.randn(16, 5, device="cuda", dtype=torch.float32)
    labels = {"total": torch.randint(0, 15, (16,)).tolist()}
    first = None
    for _ in range(12):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            value = loss(network(features), labels)
        assert value.dtype == torch.float32
        value.backward()
        optimizer.step()
        first = value.item() if first is None else first
    assert value.item() < first
