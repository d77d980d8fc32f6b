"""Inputs and outputs of the layer."""

import itertools
from fractions import Fraction

import pytest
import torch
import z3

from helpers import (
    BACKENDS,
    BACKWARD,
    DTYPES,
    FORWARD,
    all_equal,
    input_gradient,
    majority_of_three,
    random_logits,
)
from smtlayer import SMTLayer, Status, Table, Theory
from smtlayer.nn import Blame, BlameRule
from smtlayer.testing import THEORIES, random_theory
from smtlayer.testing.theories import addition, free_outputs, xor

RULES = list(itertools.product(FORWARD, BACKWARD))


def one_of_two():
    """`sure` is false, and so is exactly one of two others: two repairs that share a member."""
    sure, a, b, y = z3.Bools("sure a b y")
    return Theory([z3.Not(sure), z3.Xor(a, b), y == a], inputs=[sure, a, b], outputs=[y])


@pytest.mark.parametrize(("forward", "backward"), RULES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (2, 3), (2, 0), (2, 1, 3)])
@pytest.mark.parametrize("scale", ["gradient", "batch"])
def test_any_leading_shape_equals_its_rows(shape, forward, backward, scale):
    theory = addition()
    layer = SMTLayer(theory, forward=forward, backward=backward, scale=scale)
    rows = torch.Size(shape).numel()
    flat = random_logits(rows, 4)
    slope = random_logits(rows, 3, seed=1)
    shaped = flat.reshape(*shape, 4).requires_grad_()
    outputs = layer(shaped)
    assert outputs.shape == (*shape, 3)
    outputs.backward(slope.reshape(*shape, 3))
    assert torch.equal(outputs.reshape(-1, 3), layer(flat))
    assert torch.equal(shaped.grad.reshape(-1, 4), input_gradient(layer, flat, slope))


@pytest.mark.parametrize(("forward", "backward"), RULES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_outputs_and_gradients_have_the_dtype_of_the_logits(dtype, forward, backward):
    layer = SMTLayer(addition(), forward=forward, backward=backward)
    logits = random_logits(9, 4).to(dtype)
    slope = random_logits(9, 3, seed=1).to(dtype)
    outputs = layer(logits)
    assert outputs.dtype == dtype
    assert torch.equal(outputs.double(), layer(logits.double()))
    gradient = input_gradient(layer, logits, slope)
    assert gradient.dtype == dtype
    exact = input_gradient(layer, logits.double(), slope.double())
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(gradient.double(), exact, rtol=tolerance, atol=1e-6)


def test_strided_logits_are_as_good_as_any():
    layer = SMTLayer(addition(), backward="maxsmt")
    wide = random_logits(4, 10).T
    expected = input_gradient(layer, wide.clone(), torch.ones(10, 3))
    leaf = wide.requires_grad_()
    layer(leaf).backward(torch.ones(10, 3, dtype=torch.float64))
    assert torch.equal(leaf.grad, expected)


def test_train_and_eval_have_a_rule_each():
    logits = torch.tensor([[2.0, 1.0, -0.5]])
    layer = SMTLayer(all_equal(3))
    assert layer(logits).tolist() == [[0.0]]
    assert layer.eval()(logits).tolist() == [[1.0]]
    assert layer.train()(logits).tolist() == [[0.0]]
    other_way = SMTLayer(all_equal(3), forward="maxsmt", inference="smt")
    assert other_way(logits).tolist() == [[1.0]]
    assert other_way.eval()(logits).tolist() == [[0.0]]
    assert other_way.solve(logits).status.tolist() == [Status.UNSAT]


def test_the_rule_of_the_mode_at_the_time_of_the_forward_pass_goes_back():
    layer = SMTLayer(all_equal(3), backward="maxsmt").eval()
    leaf = torch.tensor([[2.0, 1.0, -0.5]], requires_grad=True)
    outputs = layer(leaf)
    layer.train()
    outputs.backward(-torch.ones(1, 1))
    assert layer.stats.correct == 1


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize(("forward", "backward"), RULES)
def test_inputs_that_are_not_known_are_free_and_never_blamed(forward, backward, backend):
    theory = addition()
    layer = SMTLayer(theory, backend=backend, forward=forward, backward=backward)
    logits = random_logits(6, 4)
    known = torch.tensor([True, False, True, True])
    slope = random_logits(6, 3, seed=1)
    gradient = input_gradient(layer, logits, slope, known)
    assert not gradient[:, 1].any()
    assert gradient[:, [0, 2, 3]].any()
    outputs = layer(logits, known)
    for row in range(6):
        free = torch.where(known, logits[row].sign(), 0).to(torch.int8)
        assert outputs[row].abs().all()
        assert layer.solver.core(
            free[None], torch.ones(1, 4), outputs[row, None].to(torch.int8)
        ).status.tolist() == [Status.SAT]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("weights", ["logit", "softmax"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0])
def test_what_an_unknown_input_holds_does_not_matter(bad, weights, backend):
    layer = SMTLayer(all_equal(4), backend=backend, forward="maxsmt", backward="maxsmt",
                     weights=weights)  # fmt: skip
    logits = random_logits(5, 4)
    spoiled = logits.clone()
    spoiled[:, 2] = bad
    known = torch.tensor([True, True, False, True])
    slope = random_logits(5, 1, seed=2)
    assert torch.equal(layer(spoiled, known), layer(logits, known))
    clean, other = (input_gradient(layer, z, slope, known) for z in (logits, spoiled))
    assert torch.equal(clean, other)
    assert clean.any()
    assert torch.equal(layer.solve(spoiled, known).cost, layer.solve(logits, known).cost)


def test_a_mask_broadcasts_over_rows():
    layer = SMTLayer(addition(), forward="maxsmt")
    logits = random_logits(6, 4).reshape(2, 3, 4)
    whole = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0)) < 0.5
    for known in (whole[0, 0], whole[:, :1], whole[:1], whole[..., :1]):
        assert torch.equal(layer(logits, known), layer(logits, known.expand(2, 3, 4).clone()))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("weights", ["logit", "softmax"])
@pytest.mark.parametrize("name", ["addition", "reals", "free_outputs", "strings", "colours"])
def test_where_smt_finds_a_model_maxsmt_overrules_nothing(name, weights, backend):
    theory = THEORIES[name]()
    layer = SMTLayer(theory, backend=backend, inference="maxsmt", weights=weights)
    signs = torch.tensor(list(itertools.product((0.0, 1.0), repeat=theory.n_inputs)))
    for logits in (signs, signs * 300 - 150, (signs - 0.5) * 1e-8):
        plain, best = layer.train().solve(logits), layer.eval().solve(logits)
        sat = plain.status == Status.SAT
        assert sat.any()
        assert (best.cost[sat] == 0).all()
        assert (best.cost[~sat] > 0).all()
        assert torch.equal(best.inputs[sat], torch.where(logits > 0, 1, -1)[sat].to(torch.int8))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
def test_a_tiny_softmax_weight_beside_a_huge_one_still_decides(backend):
    layer = SMTLayer(one_of_two(), backend=backend, weights="softmax").eval()
    lower_last, lower_first = torch.tensor([[60.0, 0.3, 0.1], [60.0, 0.1, 0.3]])
    assert layer.solve(lower_last).inputs.tolist() == [-1, 1, -1]
    assert layer.solve(lower_first).inputs.tolist() == [-1, -1, 1]


@pytest.mark.parametrize("seed", range(6))
def test_softmax_of_huge_logits_gives_the_exact_best_repair(seed):
    theory = random_theory(seed)
    logits = random_logits(20, theory.n_inputs, seed) * 30
    size = logits.abs().softmax(-1)
    models = [[1 if v else -1 for v in x] for x in itertools.product((0, 1), repeat=len(logits[0]))]
    solver = Table().compile(theory)
    found = solver.solve(torch.tensor(models, dtype=torch.int8)).status == Status.SAT
    chosen = SMTLayer(theory, weights="softmax").eval().solve(logits).inputs

    def cost(row, model):
        against = [w for w, z, x in zip(size[row].tolist(), logits[row], model, strict=True)
                   if (z > 0) != (x > 0)]  # fmt: skip
        return sum(map(Fraction, against), Fraction(0))

    for row in range(20):
        best = min(cost(row, x) for x, ok in zip(models, found, strict=True) if ok)
        assert cost(row, chosen[row].tolist()) == best


def test_log_odds_choose_the_most_probable_assignment():
    theory = free_outputs()
    logits = random_logits(30, 3, seed=3)
    layer = SMTLayer(theory).eval()
    models = {tuple(x) for x in itertools.product((-1, 1), repeat=3) if x != (1, 1, 1)}
    log_p = {x: torch.nn.functional.logsigmoid(logits * torch.tensor(x)).sum(-1) for x in models}
    best = torch.stack(list(log_p.values())).argmax(0)
    assert layer.solve(logits).inputs.tolist() == [list(list(log_p)[i]) for i in best]


def test_solve_returns_the_whole_answer():
    layer = SMTLayer(all_equal(3), inference="maxsmt")
    logits = torch.tensor([[2.0, 1.0, -0.5], [-1.0, -2.0, -3.0]], requires_grad=True)
    plain = layer.solve(logits)
    assert plain.status.tolist() == [Status.UNSAT, Status.SAT]
    assert plain.inputs.tolist() == [[0, 0, 0], [-1, -1, -1]]
    assert plain.outputs.tolist() == [[0], [-1]]
    assert plain.cost.tolist() == [float("inf"), 0.0]
    best = layer.eval().solve(logits.reshape(2, 1, 3))
    assert best.status.tolist() == [[1], [1]]
    assert best.inputs.tolist() == [[[1, 1, 1]], [[-1, -1, -1]]]
    assert best.outputs.tolist() == [[[1]], [[-1]]]
    assert best.cost.tolist() == [[0.5], [0.0]]
    assert not best.cost.requires_grad
    single = layer.solve(logits[0], torch.tensor([False, True, True]))
    assert (single.status.item(), single.outputs.tolist()) == (1, [1])


def test_the_layer_prints_its_theory_backend_and_rules():
    assert str(SMTLayer(xor(), backend=Table(max_models=9))) == (
        "SMTLayer(Theory(1 constraint, inputs=[a, b], outputs=[y]), "
        "backend=Table(max_models=9, max_work=100000000), forward='smt', inference='maxsmt', "
        "backward='core', weights='logit', scale='gradient', cuda_graphs=True, "
        "on_unknown='zero')"
    )


def test_the_layer_has_nothing_to_learn():
    layer = SMTLayer(xor())
    assert layer.state_dict() == {}
    assert list(layer.parameters()) == list(layer.buffers()) == []
    layer.load_state_dict({})


def test_a_user_may_write_the_blame_rule():
    class PushAll(BlameRule):
        def blame(self, solver, question):
            none = torch.zeros_like(question.wrong)
            targets = torch.ones_like(question.logits)
            return Blame(targets, torch.ones_like(question.signs, dtype=torch.bool), none, none)

    layer = SMTLayer(majority_of_three(), backward=PushAll())
    gradient = input_gradient(layer, torch.zeros(2, 3), torch.ones(2, 1))
    torch.testing.assert_close(gradient, torch.full((2, 3), -1 / 6))
