"""Decision diagrams on a GPU: the same answers as on a CPU, step by step and as replayed graphs."""

import itertools

import pytest
import torch
import z3

from smtlayer import Circuit, SMTLayer, Theory, one_hot
from smtlayer.testing import FINITE, random_finite_theory

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def digits(length=8):
    """Digits that never fall."""
    cells = [z3.Int(f"c{i}") for i in range(length)]
    shown = [one_hot(cell, range(10)) for cell in cells]
    return Theory([a <= b for a, b in itertools.pairwise(cells)], inputs=shown, outputs=shown)


THEORIES = {**FINITE, "digits": digits} | {
    f"random {seed}": lambda seed=seed: random_finite_theory(seed) for seed in range(6)
}


def batch(theory, seed=0, rows=24):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, theory.n_inputs, generator=generator)
    logits[::5, 0] = torch.inf
    outputs = torch.randint(-1, 2, (rows, theory.n_outputs), generator=generator)
    return logits, outputs.to(torch.int8)


@pytest.mark.parametrize("name", THEORIES)
def test_every_question_gets_the_answer_of_the_cpu(name):
    theory = THEORIES[name]()
    solver = Circuit().compile(theory)
    logits, outputs = batch(theory)
    signs, weights = logits.sign().to(torch.int8), logits.abs().double()
    pairs = [
        (solver.solve(signs), solver.solve(signs.cuda())),
        (
            solver.maximize(signs, weights, outputs),
            solver.maximize(signs.cuda(), weights.cuda(), outputs.cuda()),
        ),
        (
            solver.core(signs, weights, outputs),
            solver.core(signs.cuda(), weights.cuda(), outputs.cuda()),
        ),
    ]
    for here, there in pairs:
        assert there.status.is_cuda
        assert torch.equal(here.status, there.status.cpu())
    assert torch.equal(pairs[2][0].inputs, pairs[2][1].inputs.cpu())
    torch.testing.assert_close(pairs[1][0].cost, pairs[1][1].cost.cpu())
    here, there = solver.marginal(logits, outputs), solver.marginal(logits.cuda(), outputs.cuda())
    for field in ("status", "log_prob", "inputs", "outputs"):
        torch.testing.assert_close(getattr(here, field), getattr(there, field).cpu())
    drawn = solver.sample(logits.cuda(), outputs.cuda())
    assert torch.equal(drawn.status.cpu(), here.status)


def test_the_same_batch_gets_the_same_bits_again():
    theory = digits()
    solver = Circuit().compile(theory)
    logits, outputs = (part.cuda() for part in batch(theory, rows=256))
    first = solver.marginal(logits, outputs * 0)
    for _ in range(5):
        again = solver.marginal(logits, outputs * 0)
        assert torch.equal(first.inputs, again.inputs)
        assert torch.equal(first.log_prob, again.log_prob)


def test_the_likelihood_and_its_gradient_are_replayed_as_a_graph():
    theory = digits()
    here, there = (SMTLayer(theory, backend=Circuit()) for _ in range(2))
    wanted = theory.encode_outputs(**{f"c{i}": i for i in range(8)})
    for seed in range(8):
        logits = batch(theory, seed)[0].clamp(-5, 5)
        found = []
        for layer, device in ((here, "cpu"), (there, "cuda")):
            leaf = logits.to(device).detach().requires_grad_()
            value = layer.log_prob(leaf, wanted.to(device).expand(24, -1))
            (grad,) = torch.autograd.grad(value.sum(), leaf)
            found += [value.detach().cpu(), grad.cpu()]
        torch.testing.assert_close(found[:2], found[2:])
    assert [key[0] for key in there._graphs._captured] == ["marginal"]


@pytest.mark.parametrize("rule", ["marginal", "sample", "core", "mix(core, marginal)"])
def test_rules_train_on_a_gpu(rule):
    layer = SMTLayer(digits(), backend=Circuit(), backward=rule)
    wanted = layer.theory.encode_outputs(**{f"c{i}": i for i in range(8)}).float().cuda()
    logits = torch.randn(4, layer.theory.n_inputs, device="cuda", requires_grad=True)
    for _ in range(8):
        (layer(logits) - wanted).square().sum().backward()
        assert logits.grad.isfinite().all()
    assert logits.grad.any()
