"""Softmax weights order and sum as the exact softmax does, however far apart the logits are."""

import random
from decimal import Context, Decimal

import pytest
import torch
import z3

from helpers import input_gradient
from smtlayer import Z3, Sat, SMTLayer, Table, Theory
from smtlayer.nn.weights import confidence, exact_softmax
from smtlayer.testing import random_theory

DIGITS = Context(prec=60, Emin=-(10**17), Emax=10**17)
SPREADS = (1e-3, 1.0, 30.0, 500.0, 1000.0, 3000.0, 6e4, 1e12)


def logits_of(draw, columns):
    """Clusters of logits: each value near one of a few centres, or equal to it."""
    spread = draw.choice(SPREADS)
    centres = [draw.choice((0.0, draw.uniform(0, spread))) for _ in range(draw.randint(1, 4))]
    near = [draw.choice(centres) + draw.choice((0, draw.randint(0, 8))) for _ in range(columns)]
    return [draw.choice((-1, 1)) * size for size in near]


def total(sizes, top):
    return sum((DIGITS.exp(Decimal(x) - Decimal(top)) for x in sizes), Decimal(0))


def costs_no_more(logits, found, other):
    """Whether a model overrules no more than another, by what one of them alone overrules."""
    signs = [1 if x > 0 else -1 for x in logits]
    rows = list(zip(logits, signs, found, other, strict=True))
    ours = [abs(x) for x, s, a, b in rows if s * a < 0 < s * b]
    theirs = [abs(x) for x, s, a, b in rows if s * b < 0 < s * a]
    for size in set(ours) & set(theirs):  # equal logits cancel
        for _ in range(min(ours.count(size), theirs.count(size))):
            ours.remove(size)
            theirs.remove(size)
    top = max([*ours, *theirs], default=0)
    return total(ours, top) <= total(theirs, top) * (1 + Decimal("1e-11"))


def check_repairs(seed, backend):
    draw, theory = random.Random(seed), random_theory(seed)
    rows = [logits_of(draw, theory.n_inputs) for _ in range(12)]
    layer = SMTLayer(theory, backend=backend, weights="softmax").eval()
    found = layer.solve(torch.tensor(rows, dtype=torch.float64)).inputs.tolist()
    models = Table().compile(theory)._models.inputs.tolist()
    for logits, repaired in zip(rows, found, strict=True):
        assert all(costs_no_more(logits, repaired, model) for model in models), (seed, logits)


@pytest.mark.parametrize("seed", range(30))
def test_repairs_are_the_cheapest_by_the_exact_softmax(seed):
    check_repairs(seed, (Table(), Sat(), Z3())[seed % 3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30, 600))
def test_many_repairs_are_the_cheapest_by_the_exact_softmax(seed):
    check_repairs(seed, (Table(), Sat(), Z3())[seed % 3])


@pytest.mark.parametrize("top", [100.0, 600.0, 1000.0, 6e4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_two_light_inputs_go_before_a_heavier_one_beside_any_logit(top, dtype):
    k, a, b, c, y = z3.Bools("k a b c y")
    either = z3.Or(z3.And(a, z3.Not(b), z3.Not(c)), z3.And(z3.Not(a), b, c))
    layer = SMTLayer(Theory([k, either, y == a], [k, a, b, c], [y]), weights="softmax").eval()
    assert layer(torch.tensor([[top, 5.0, 3.0, 3.0]], dtype=dtype)).item() == 1
    assert layer(torch.tensor([[top, 5.0, 4.5, 4.5]], dtype=dtype)).item() == -1


@pytest.mark.parametrize("weights", ["logit", "softmax"])
@pytest.mark.parametrize(("small", "large"), [(1e-30, 1e-17), (1e-320, 1e-310), (0.0, 1e-323)])
@pytest.mark.parametrize("swap", [False, True])
def test_the_less_confident_of_two_tiny_logits_is_blamed(weights, small, large, swap):
    a, b, y = z3.Bools("a b y")
    logits = torch.tensor([[-small, -large]], dtype=torch.float64)
    logits = logits.flip(-1) if swap else logits
    theory = Theory(y == z3.And(a, b), [a, b], [y])
    layer = SMTLayer(theory, weights=weights)
    gradient = input_gradient(layer, logits, -torch.ones(1, 1, dtype=torch.float64))
    assert (gradient[0] != 0).tolist() == [not swap, swap]
    either = SMTLayer(Theory([z3.Or(a, b), y == a], [a, b], [y]), weights=weights).eval()
    assert (either.solve(logits).inputs[0] > 0).tolist() == [not swap, swap]


@pytest.mark.parametrize("seed", range(30))
def test_weights_tie_only_where_logits_do(seed):
    draw = random.Random(seed)
    pool = [0.0, 5e-324, 1e-300, 1e-30, 1e-17, 1.0, 1 + 2**-52, 3.0, 1e3, 6e4, 1e17, 1e300, 1.7e308]
    logits = torch.tensor([draw.choices(pool, k=12) for _ in range(20)], dtype=torch.float64)
    known = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed)) < 0.8
    weights = exact_softmax(logits, known)
    assert (weights > 0).equal(known)
    assert (weights.sum(-1) - known.any(-1).double()).abs().max() < 1e-12
    for sizes, row, mask in zip(logits, weights, known, strict=True):
        sizes, row = sizes[mask], row[mask]
        assert torch.equal(sizes[:, None] < sizes, row[:, None] < row)


def test_a_hundred_far_apart_logits_are_compared_from_the_largest_down():
    size = torch.linspace(0, 6e4, 100, dtype=torch.float64)[None]
    weights = exact_softmax(size, torch.ones_like(size, dtype=torch.bool))[0]
    assert (weights[1:] > weights.cumsum(-1)[:-1]).all()


def test_an_input_of_logit_zero_is_lighter_than_any_other():
    rows = [[0.0, 1e-310, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
    logits = torch.tensor(rows, dtype=torch.float64)
    weights = confidence(logits, torch.ones_like(logits, dtype=torch.int8), "logit")
    assert weights[:, 0].tolist() == [5e-311, 1e-300, 1e-300]
    assert torch.equal(weights[:2, 1:], logits[:2, 1:])
    half = confidence(logits[1:].half(), torch.ones(2, 3, dtype=torch.int8), "logit")
    assert half[:, 0].tolist() == [1e-300, 1e-300]
