"""Weights and logits at the far ends of floats, compared with sums of fractions."""

import math
import random
from fractions import Fraction

import pytest
import torch
import z3

from smtlayer import Z3, Sat, Status, Table, Theory
from smtlayer.solvers.table.exact import excess, first_minimum
from smtlayer.solvers.table.posterior import asked_halves, less_the_best
from smtlayer.testing import random_theory

LARGEST = torch.finfo(torch.float64).max
SIZES = (
    5e-324, 1e-323, 1e-310, 2.3e-308, 1e-300, 1e-17, 0.5, 1.0, 1 + 2**-52, 3.0, 700.0, 2.0**20,
    2.0**53, 2.0**53 + 2, 1e17, 1e30, 2.0**979, 2.0**980, 2.0**981, 1e300, 1e308, LARGEST,
)  # fmt: skip
ROWS = 16


def models_of(theory):
    table = Table().compile(theory)._models
    return [tuple(map(tuple, pair)) for pair in zip(table.inputs.tolist(), table.outputs.tolist(),
                                                    strict=True)]  # fmt: skip


def sizes(draw, shape, spread):
    """A few sizes for each row, so that sums meet; some are changed by one step of a float."""
    rows = []
    for _ in range(shape[0]):
        pool = draw.sample(SIZES, spread)
        row = [draw.choice(pool) for _ in range(shape[1])]
        rows.append([math.nextafter(x, 1.0) if draw.random() < 0.1 else x for x in row])
    return torch.tensor(rows, dtype=torch.float64)


def signs(draw, shape):
    values = [[draw.choice((-1, 1, 1, -1, 0)) for _ in range(shape[1])] for _ in range(shape[0])]
    return torch.tensor(values, dtype=torch.int8)


def spent(inputs, weights, model):
    """The weight that a model overrules, exactly."""
    rows = zip(inputs, weights, model, strict=True)
    return sum((Fraction(w) for s, w, found in rows if s * found < 0), Fraction(0))


def possible(models, wanted):
    return [x for x, y in models if all(w in (0, s) for w, s in zip(wanted, y, strict=True))]


def check_repairs(backend, seed):
    draw, theory = random.Random(seed), random_theory(seed)
    inputs = signs(draw, (ROWS, theory.n_inputs))
    weights = sizes(draw, inputs.shape, draw.randint(1, 5))
    wanted = signs(draw, (ROWS, theory.n_outputs))
    models, solver = models_of(theory), backend.compile(theory)
    solved = solver.solve(inputs)
    for outputs in (None, wanted):
        found = solver.maximize(inputs, weights, outputs)
        for i in range(ROWS):
            row = (inputs[i].tolist(), weights[i].tolist())
            allowed = possible(models, [0] * theory.n_outputs if outputs is None else wanted[i])
            assert (found.status[i] == Status.SAT) == bool(allowed)
            if not allowed:
                continue
            cost = spent(*row, found.inputs[i].tolist())
            assert cost == min(spent(*row, model) for model in allowed), (seed, i)
            exact = min(cost, Fraction(LARGEST))
            assert found.cost[i].item() == pytest.approx(float(exact), rel=1e-12, abs=0.0)
            if outputs is None:
                assert (cost == 0) == (solved.status[i] == Status.SAT)


def posterior_of(logits, models):
    """The probability of each allowed model's inputs, from exact differences between costs."""
    rows = ([1 if x > 0 else -1 for x in logits], [abs(x) for x in logits])
    costs = {model: spent(*rows, model) for model in set(models)}
    least = min(costs.values())
    shares = [(m, math.exp(-float(min(costs[m] - least, Fraction(1000))))) for m in models]
    total = math.fsum(share for _, share in shares)
    return [(model, share / total) for model, share in shares]


def check_posterior(seed, draws):
    draw, theory = random.Random(seed), random_theory(seed)
    shape = (ROWS, theory.n_inputs)
    logits = sizes(draw, shape, draw.randint(1, 5)) * signs(draw, shape)
    wanted = signs(draw, (ROWS, theory.n_outputs))
    models, solver = models_of(theory), Table().compile(theory)
    mean = solver.marginal(logits, wanted)
    drawn = [solver.sample(logits, wanted) for _ in range(draws)]
    for i in range(ROWS):
        allowed = possible(models, wanted[i].tolist())
        assert (mean.status[i] == Status.SAT) == bool(allowed)
        if not allowed:
            continue
        exact = posterior_of(logits[i].tolist(), allowed)
        for column in range(theory.n_inputs):
            true = math.fsum(share for model, share in exact if model[column] > 0)
            assert mean.inputs[i, column].item() == pytest.approx(true, rel=1e-8, abs=1e-9)
        for each in drawn:
            model = tuple(each.inputs[i].tolist())
            assert sum(share for m, share in exact if m == model) > 1e-12
            overruled = spent(logits[i].sign().tolist(), logits[i].abs().tolist(), model)
            cost = float(min(overruled, Fraction(LARGEST)))
            assert each.cost[i].item() == pytest.approx(cost, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("seed", range(40))
def test_repairs_of_a_table_are_exact(seed):
    check_repairs(Table(), seed)


@pytest.mark.parametrize("backend", [Sat(), Z3()], ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("seed", range(8))
def test_repairs_of_other_backends_are_exact(backend, seed):
    check_repairs(backend, seed)


@pytest.mark.parametrize("seed", range(40))
def test_probabilities_are_those_of_exact_costs(seed):
    check_posterior(seed, draws=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 1500))
def test_many_rows_are_exact(seed):
    check_repairs(Table(), seed)
    check_posterior(seed, draws=10)
    if seed % 10 == 0:
        check_repairs(Sat(), seed)
        check_repairs(Z3(), seed)


@pytest.mark.parametrize("backend", [Table(), Sat(), Z3()], ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("large", [1e17, 1e300, LARGEST])
def test_what_need_not_be_overruled_is_kept_beside_a_huge_weight(backend, large):
    a, b, y = z3.Bools("a b y")
    solver = backend.compile(Theory(y == z3.Or(a, z3.Not(b)), [a, b], [y]))
    asked = torch.tensor([[1, 1]], dtype=torch.int8)
    found = solver.maximize(asked, torch.tensor([[5e-324, large]], dtype=torch.float64))
    assert torch.equal(found.inputs, asked)
    assert found.cost.item() == 0


@pytest.mark.parametrize("backend", [Table(), Sat(), Z3()], ids=lambda b: type(b).__name__)
def test_a_cost_beyond_the_largest_float_is_still_no_sign_of_unsat(backend):
    a, b, y = z3.Bools("a b y")
    solver = backend.compile(Theory([z3.Not(a), z3.Not(b), y == a], [a, b], [y]))
    weights = torch.full((1, 2), LARGEST, dtype=torch.float64)
    found = solver.maximize(torch.ones(1, 2, dtype=torch.int8), weights)
    assert (found.status.item(), found.cost.item()) == (Status.SAT, LARGEST)


def test_costs_beyond_the_largest_float_leave_small_logits_their_say():
    a, b, c, y = z3.Bools("a b c y")
    solver = Table().compile(Theory([z3.Not(a), z3.Not(b), y == c], [a, b, c], [y]))
    logits = torch.tensor([[LARGEST, LARGEST, 3.0]], dtype=torch.float64)
    found = solver.marginal(logits, torch.zeros(1, 1, dtype=torch.int8))
    assert found.inputs.tolist() == [[0, 0, pytest.approx(1 / (1 + math.exp(-3)))]]


@pytest.mark.parametrize("large", [1e15, 1e17, 1e300])
def test_huge_logits_that_trade_places_leave_small_ones_their_say(large):
    a, b, c, y = z3.Bools("a b c y")
    one_of_two = Theory([z3.Xor(a, b), y == c], [a, b, c], [y])
    solver = Table().compile(one_of_two)
    logits = torch.tensor([[-large, -large, 3.0]], dtype=torch.float64)
    found = solver.marginal(logits, torch.zeros(1, 1, dtype=torch.int8))
    expected = torch.tensor([[0.5, 0.5, 1 / (1 + math.exp(-3))]], dtype=torch.float64)
    torch.testing.assert_close(found.inputs, expected)


def test_the_excess_over_the_cheapest_candidate_cancels_what_they_share():
    weights = torch.tensor([[1e300, 1e17, 2.0, 1e-5]], dtype=torch.float64)
    members = torch.tensor([[1, 1, 1], [1, 0, 1], [0, 0, 1], [1, 0, 0]]).double()
    allowed = torch.tensor([[True, False, True]])
    more = excess(weights, members, allowed)
    assert more.tolist() == [[0.0, -1e17, pytest.approx(2.0 - 1e-5)]]
    assert first_minimum(weights, members, allowed)[0].item() == 0


@pytest.mark.parametrize("large", [1e15, 1e17, 1e300])
def test_on_a_gpu_a_huge_logit_that_every_model_overrules_cancels(large):
    a, b, c, y = z3.Bools("a b c y")
    models = Table().compile(Theory([y == a, z3.Or(b, c)], [a, b, c], [y]))._models
    disagrees = torch.cat([(models.inputs < 0).T, (models.inputs > 0).T]).double()
    odds = torch.tensor([[-large, 3.0, -2.0]], dtype=torch.float64)
    allowed = (models.outputs > 0).T
    more = less_the_best(asked_halves(odds) @ disagrees, odds, disagrees, allowed)
    chosen = {
        tuple(x[1:]): cost
        for x, cost, ok in zip(models.inputs.tolist(), more[0].tolist(), allowed[0], strict=True)
        if ok
    }
    least = min(chosen.values())
    relative = {model: cost - least for model, cost in chosen.items()}
    assert relative == {(1, -1): 0.0, (1, 1): 2.0, (-1, 1): 5.0}
