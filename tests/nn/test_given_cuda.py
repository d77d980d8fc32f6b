"""Facts on a GPU: the same answers as on a CPU, step by step and as replayed graphs."""

import pytest
import torch

from smtlayer import Sat, SMTLayer, Table
from smtlayer.nn import anneal, core, marginal, maxsmt, mix
from smtlayer.testing.theories import addition

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

COUNTS = ("rows", "sat", "unsat", "correct", "blamed", "without_gradient", "contradicted")


def batch(dtype, masked):
    """Logits that are infinite for half of the facts, masks, and a gradient of the outputs."""
    logits, slope = torch.randn(32, 6, dtype=dtype), torch.randn(32, 4, dtype=dtype)
    given = torch.rand(32, 6) < 0.3
    certain = given & (torch.rand(32, 6) < 0.5)
    logits = torch.where(certain, logits.sign() * torch.inf, logits).to(dtype)
    known = torch.rand(32, 6) < 0.7 if masked else None
    return logits, known, given, slope


def outputs_and_gradient(layer, logits, known, given, slope):
    logits = logits.detach().clone().requires_grad_()
    outputs = layer(logits, known, given)
    (outputs * slope).sum().backward()
    return outputs.detach(), logits.grad


def on_gpu(*tensors):
    return [None if tensor is None else tensor.cuda() for tensor in tensors]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("forward", ["smt", "maxsmt"])
@pytest.mark.parametrize(
    "rule",
    [core, marginal, marginal(temperature=anneal(4, 1)), mix(core, marginal), maxsmt],
    ids=str,
)
def test_facts_on_a_gpu_are_those_on_the_cpu(rule, forward, dtype, masked):
    theory = addition(3)
    here, there = (SMTLayer(theory, backward=rule, forward=forward) for _ in range(2))
    for step in range(8):
        here.progress = there.progress = step / 7
        question = batch(dtype, masked)
        torch.manual_seed(step)  # the same choice on both sides
        wanted = outputs_and_gradient(here, *question)
        torch.manual_seed(step)
        found = outputs_and_gradient(there, *on_gpu(*question))
        assert not found[1][question[2].cuda()].any()
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    assert len(there._graphs._captured) == (forward == "smt")
    counts, expected = there.stats.as_dict(), here.stats.as_dict()
    assert [counts[name] for name in COUNTS] == [expected[name] for name in COUNTS]


def test_a_graph_is_for_batches_with_facts_or_without():
    theory = addition(3)
    here, there = SMTLayer(theory), SMTLayer(theory)
    for step in range(12):
        logits, known, given, slope = batch(torch.float32, masked=True)
        given = given if step % 2 else None
        logits = logits.nan_to_num(posinf=3.0, neginf=-3.0)
        wanted = outputs_and_gradient(here, logits, known, given, slope)
        found = outputs_and_gradient(there, *on_gpu(logits, known, given, slope))
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    assert len(there._graphs._captured) == 2


def test_a_replayed_graph_refuses_what_is_not_finite_and_not_a_fact():
    layer = SMTLayer(addition(3))
    for _ in range(6):
        logits, _, given, _ = on_gpu(*batch(torch.float32, masked=False))
        layer(logits, given=given)
    assert len(layer._graphs._captured) == 1
    free = (~given).nonzero()[0].tolist()
    fact = given.nonzero()[0].tolist()
    for (row, column), bad in ((free, torch.inf), (free, torch.nan), (fact, torch.nan)):
        wrong = logits.clone()
        wrong[row, column] = bad
        with pytest.raises(ValueError, match=f"Row {row}, column {column} "):
            layer(wrong, given=given)


@pytest.mark.parametrize("rule", ["core", "maxsmt"])
def test_a_solver_on_the_host_gets_the_facts(rule):
    theory = addition(3)
    here, there = (SMTLayer(theory, backend=Sat(), backward=rule) for _ in range(2))
    for _ in range(3):
        question = batch(torch.float32, masked=True)
        wanted = outputs_and_gradient(here, *question)
        found = outputs_and_gradient(there, *on_gpu(*question))
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))


def test_samples_respect_facts_in_a_graph():
    theory = addition(3)
    layer = SMTLayer(theory, backend=Table(), backward="sample")
    for _ in range(8):
        logits, _, given, slope = on_gpu(*batch(torch.float64, masked=False))
        _, pull = outputs_and_gradient(layer, logits, None, given, slope)
        assert pull.isfinite().all()
        assert not pull[given].any()
    assert len(layer._graphs._captured) == 1


@pytest.mark.parametrize("training", [True, False])
def test_explanations_and_solutions_take_facts_on_the_gpu(training):
    layer = SMTLayer(addition(3)).train(training)
    logits, known, given, _ = batch(torch.float32, masked=True)
    here, there = layer.solve(logits, known, given), layer.solve(*on_gpu(logits, known, given))
    assert torch.equal(here.status, there.status.cpu())
    assert torch.equal(here.cost, there.cost.cpu())
    rows = zip(
        layer.explain(logits, None, known, given),
        layer.explain(logits.cuda(), None, *on_gpu(known, given)),
        strict=True,
    )
    assert all(a.to_dict() == b.to_dict() for a, b in rows)
