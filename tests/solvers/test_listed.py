"""Solvers that weigh all models: exact, safe with any logits, and watched by a law that bites."""

import math

import pytest
import torch
import z3

from helpers import Changed, all_equal
from smtlayer import Z3, Sat, Status, Table, Theory
from smtlayer.solvers.base import WeighsModels
from smtlayer.solvers.table import table as table_module
from smtlayer.solvers.table.posterior import draw_model
from smtlayer.testing.theories import addition, xor


def signs(*rows):
    return torch.tensor(rows, dtype=torch.int8)


def test_a_table_is_listed_and_others_are_not():
    assert isinstance(Table().compile(xor()), WeighsModels)
    for backend in (Z3(), Sat()):
        assert not isinstance(backend.compile(xor()), WeighsModels)
    assert not isinstance(Changed(Table().compile(xor()), None), WeighsModels)


def test_the_mean_of_an_exclusive_or_by_hand():
    solver = Table().compile(xor())
    p, q = 1 / (1 + math.exp(-2.0)), 1 / (1 + math.exp(1.0))
    odd = p * (1 - q) / (p * (1 - q) + (1 - p) * q)
    even = p * q / (p * q + (1 - p) * (1 - q))
    logits = torch.tensor([[2.0, -1.0]]).repeat(3, 1)
    found = solver.marginal(logits, signs([1], [-1], [0]))
    expected = torch.tensor([[odd, 1 - odd], [even, even], [p, q]], dtype=torch.float64)
    torch.testing.assert_close(found.inputs, expected, rtol=0, atol=1e-12)
    assert found.status.tolist() == [Status.SAT] * 3


@pytest.mark.parametrize("size", [1e4, 1e30, 1e307])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_any_size_are_safe_and_hide_no_small_one(size, dtype):
    a, b, c, y = z3.Bools("a b c y")
    solver = Table().compile(Theory([y == z3.Xor(a, b), z3.Or(c, y)], [a, b, c], [y]))
    size = min(size, torch.finfo(dtype).max / 2)
    logits = torch.tensor([[size, size / 2, 0.3], [-size, -size, -size]], dtype=dtype)
    found = solver.marginal(logits, signs([-1], [1]))
    assert found.inputs[0].tolist() == pytest.approx([1, 1, 1])  # c must hold where y does not
    assert found.inputs[1].tolist() == pytest.approx([0.5, 0.5, 0])
    mixed = torch.tensor([[size, -size / 2, 0.3]], dtype=dtype)
    unsure = solver.marginal(mixed, signs([1])).inputs[0]
    assert unsure[:2].tolist() == pytest.approx([1, 0])
    assert unsure[2].item() == pytest.approx(torch.sigmoid(mixed[0, 2].double()).item(), abs=1e-12)
    drawn = solver.sample(logits.repeat(50, 1), signs([-1], [1]).repeat(50, 1))
    assert (drawn.status == Status.SAT).all()
    assert (drawn.inputs[::2] == 1).all()
    assert torch.equal(drawn.inputs[1::2, 2], signs(*[-1] * 50))
    assert set(drawn.inputs[1::2, 0].tolist()) == {-1, 1}


def test_sums_that_overflow_still_weigh_alike():
    solver = Table().compile(all_equal(3))
    logits = torch.full((1, 3), -1.7e308, dtype=torch.float64)
    assert solver.marginal(logits, signs([1])).inputs.tolist() == [[1.0] * 3]
    assert solver.sample(logits, signs([1])).inputs.tolist() == [[1] * 3]


def test_a_logit_of_zero_has_no_effect():
    solver = Table().compile(all_equal(3))
    logits = torch.tensor([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    found = solver.marginal(logits, signs([0], [0])).inputs
    assert found[0].tolist() == [0.5] * 3
    torch.testing.assert_close(found[1], torch.sigmoid(torch.tensor(2.0).double()).expand(3))


def test_outputs_that_no_model_has_are_unsat_and_zero():
    a, y, z = z3.Bools("a y z")
    solver = Table().compile(Theory([y == a, z], [a], [y, z]))
    wanted, logits = signs([1, -1], [1, 1]), torch.ones(2, 1)
    mean, drawn = solver.marginal(logits, wanted), solver.sample(logits, wanted)
    assert mean.status.tolist() == drawn.status.tolist() == [Status.UNSAT, Status.SAT]
    assert mean.inputs.tolist() == [[0.0], [1.0]]
    assert drawn.inputs.tolist() == [[0], [1]]
    assert drawn.outputs.tolist() == [[0, 0], [1, 1]]
    assert drawn.cost.tolist() == [math.inf, 0.0]


def test_the_cost_of_a_draw_is_what_it_overrules():
    solver = Table().compile(addition())
    logits = torch.randn(200, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = solver.sample(logits, torch.zeros(200, 3, dtype=torch.int8))
    expected = torch.where(drawn.inputs * logits < 0, logits.abs(), 0).sum(-1)
    torch.testing.assert_close(drawn.cost, expected)
    assert expected.any()


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_rows_that_do_not_fit_at_once_are_answered_in_parts(rows, monkeypatch):
    whole = Table().compile(addition())
    monkeypatch.setattr(table_module, "_CELLS", 33)  # two rows of 16 models
    parts = Table().compile(addition())
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(rows, 4, generator=generator)
    wanted = torch.randint(-1, 2, (rows, 3), generator=generator).to(torch.int8)
    ours, theirs = parts.marginal(logits, wanted), whole.marginal(logits, wanted)
    assert torch.equal(ours.status, theirs.status)
    for name in ("log_prob", "inputs", "outputs"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name))
    torch.testing.assert_close(parts.log_prob(logits, wanted), theirs.log_prob)
    drawn = parts.sample(logits, wanted)
    assert torch.equal(drawn.status, ours.status)
    assert (drawn.inputs.shape, drawn.outputs.shape) == ((rows, 4), (rows, 3))


def test_a_theory_without_a_model_is_unsat():
    theory = all_equal(2)
    theory = Theory([*theory.constraints, theory.inputs[0] != theory.outputs[0]],
                    theory.inputs, theory.outputs)  # fmt: skip
    solver = Table().compile(theory)
    logits, wanted = torch.ones(3, 2), torch.zeros(3, 1, dtype=torch.int8)
    for answer in (solver.marginal(logits, wanted), solver.sample(logits, wanted)):
        assert answer.status.tolist() == [Status.UNSAT] * 3
        assert not answer.inputs.any()


def test_draws_repeat_with_the_seed_and_differ_without():
    solver = Table().compile(addition(3))
    logits, wanted = torch.zeros(64, 6), torch.zeros(64, 4, dtype=torch.int8)
    torch.manual_seed(5)
    first, second = (solver.sample(logits, wanted).inputs for _ in range(2))
    torch.manual_seed(5)
    assert torch.equal(solver.sample(logits, wanted).inputs, first)
    assert not torch.equal(first, second)


def test_a_race_is_won_as_often_as_the_weights_say():
    torch.manual_seed(0)
    share = torch.tensor([0.5, 0.3, 0.15, 0.04, 0.01, 0.0], dtype=torch.float64)
    allowed = torch.tensor([True] * 5 + [False])
    cost = -share.clamp(min=1e-3).log() + 1e5
    index = draw_model(cost.repeat(20_000, 1), allowed.expand(20_000, 6))
    seen = index.bincount(minlength=7) / 20_000
    assert seen[5:].tolist() == [0, 0]
    chi_square = ((seen[:5] - share[:5]) ** 2 / share[:5]).sum() * 20_000
    assert chi_square < 18.5  # four degrees of freedom: one in a thousand is above


@pytest.mark.parametrize("size", [1e4, 1e30, 1.7e308])
def test_log_prob_of_any_logits_is_a_number(size):
    solver = Table().compile(all_equal(3))
    logits = torch.tensor([[size] * 3, [-size] * 3, [size, -size, size]], dtype=torch.float64)
    found = solver.log_prob(logits, signs([1], [1], [0]))
    expected = [0.0, -3 * min(size, 1e300), -min(size, 1e300)]
    assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert torch.equal(solver.marginal(logits, signs([1], [1], [0])).log_prob, found)


def test_facts_that_no_model_has_are_impossible():
    solver = Table().compile(all_equal(3))
    logits = torch.tensor([[math.inf, -math.inf, 0.5], [math.inf, -3.0, 0.5]])
    assert solver.log_prob(logits, signs([0], [0]))[0].item() == -math.inf
    found, drawn = (ask(logits, signs([0], [0])) for ask in (solver.marginal, solver.sample))
    assert found.status.tolist() == drawn.status.tolist() == [Status.UNSAT, Status.SAT]
    assert found.inputs.tolist() == [[0.0] * 3, [1.0] * 3]
    assert found.outputs.tolist() == [[0.0], [1.0]]
    assert drawn.inputs.tolist() == [[0] * 3, [1] * 3]
    assert drawn.cost.tolist() == [math.inf, 3.0]


def test_internal_values_do_not_count():
    a, y = z3.Bools("a y")
    hidden = z3.BitVec("hidden", 3)
    solver = Table().compile(Theory(z3.Implies(a, z3.And(y, hidden == 0)), [a], [y]))
    found = solver.log_prob(torch.tensor([[0.0]]), signs([1]))
    assert found.exp().tolist() == pytest.approx([1.0])  # two models, however `hidden` is chosen
