"""`decision`, `perturbed` and `blackbox`: by enumeration, as derivatives of their losses."""

import itertools
import math
import re

import pytest
import torch
import z3

from helpers import FORWARD, GivesUp, input_gradient, random_logits
from smtlayer import Z3, Circuit, Sat, SMTLayer, Table, Theory, one_hot
from smtlayer.nn import anneal, blackbox, core, decision, mix, perturbed
from smtlayer.testing.theories import addition

BACKENDS = (Table(), Circuit(), Sat(), Z3())
RULES = (decision, perturbed(samples=3), blackbox)


def choices(order=(0, 1, 2, 3, 4)):
    """Decisions in another order than the inputs, and an input `rain` that is not one."""
    a, b, c, rain = z3.Bools("a b c rain")
    size = z3.Int("size")
    rules = [z3.AtMost(a, b, c, 2), z3.Or(a, b), z3.Implies(size == 2, c), z3.Implies(rain, a)]
    inputs = [a, rain, one_hot(size, [1, 2, 3]), b, c]
    return Theory(rules, [inputs[i] for i in order], [c, one_hot(size, [3, 1, 2]), a, b])


THEORY = choices()
COLUMNS = [6, 4, 2, 3, 0, 5]  # the input column of each output


def all_models():
    """Every model over the inputs, by asking z3 about every assignment."""
    solver = z3.Solver()
    solver.add(*THEORY.formulas)
    models = []
    for signs in itertools.product((-1.0, 1.0), repeat=7):
        pairs = zip(THEORY.inputs, signs, strict=True)
        if solver.check(*(x if sign > 0 else z3.Not(x) for x, sign in pairs)) == z3.sat:
            models.append(signs)
    return torch.tensor(models, dtype=torch.float64)


INPUTS = all_models()
OUTPUTS = INPUTS[:, COLUMNS]


def agrees(logits, given):
    """Which models have the signs of the given logits: (B, K)."""
    signs = torch.where(logits > 0, 1.0, -1.0)[:, None]
    return ((signs == INPUTS) | ~given[:, None]).all(-1)


def best(logits, known=None, given=None):
    """The outputs of the best model of each row, by the sum of its known logits."""
    seen = torch.ones_like(logits, dtype=torch.bool) if known is None else known
    score = torch.where(seen, logits.clamp(-1e6, 1e6), 0) @ INPUTS.T
    if given is not None:
        score = score.masked_fill(~agrees(logits, given), -torch.inf)
    return OUTPUTS[score.argmax(-1)]


def on_inputs(pull):
    """A gradient of the decisions as one of all inputs."""
    return torch.zeros(len(pull), 7, dtype=pull.dtype).index_copy(1, torch.tensor(COLUMNS), pull)


def scale_of(slope):
    return slope.abs().sum(-1, keepdim=True) / 7


def shifted(logits, shift):
    return logits.index_add(1, torch.tensor(COLUMNS), shift)


def batch(rows=24, seed=0):
    """Logits, and a gradient that has no opinion on some outputs and no opinion in one row."""
    slope = random_logits(rows, 6, seed + 1)
    slope[::3, 2:4] = 0
    slope[1] = 0
    return random_logits(rows, 7, seed), slope


@pytest.mark.parametrize("forward", FORWARD)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: type(backend).__name__)
def test_decision_is_the_answer_minus_the_wanted_decision(backend, forward):
    logits, slope = batch()
    layer = SMTLayer(THEORY, backend=backend, forward=forward, backward="decision")
    pull = torch.where(slope != 0, (best(logits) + slope.sign()) / 2, 0)
    found = input_gradient(layer, logits, slope)
    torch.testing.assert_close(found, on_inputs(pull) * scale_of(slope))
    assert found[:, 1].eq(0).all()  # rain is not a decision
    assert found.any(0).sum() == 6


@pytest.mark.parametrize("forward", FORWARD)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: type(backend).__name__)
def test_perturbed_is_the_mean_answer_minus_the_wanted_decision(backend, forward):
    logits, slope = batch()
    rule = perturbed(sigma=0.7, samples=5)
    layer = SMTLayer(THEORY, backend=backend, forward=forward, backward=rule)
    torch.manual_seed(0)
    found = input_gradient(layer, logits, slope)
    opinion = slope.any(-1)
    torch.manual_seed(0)
    noise = torch.zeros(5, *slope.shape, dtype=torch.float64)
    noise[:, opinion] = 0.7 * torch.randn(5, int(opinion.sum()), 6, dtype=torch.float64)
    mean = torch.stack([best(shifted(logits, shift)) for shift in noise]).mean(0)
    pull = torch.where(slope != 0, (mean + slope.sign()) / 2, 0)
    torch.testing.assert_close(found, on_inputs(pull) * scale_of(slope))


@pytest.mark.parametrize("forward", FORWARD)
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: type(backend).__name__)
def test_blackbox_is_the_difference_after_a_step_against_the_gradient(backend, forward):
    logits, slope = batch()
    layer = SMTLayer(THEORY, backend=backend, forward=forward, backward=blackbox(interpolation=2))
    step = 2 * (slope / slope.abs().mean(-1, keepdim=True)).nan_to_num()
    pull = (best(logits) - best(shifted(logits, -step))) / 2
    found = input_gradient(layer, logits, slope)
    torch.testing.assert_close(found, on_inputs(pull) * scale_of(slope))
    assert (found != 0).any(-1).sum() > 12


def largest(logits):
    """The value of the best decision, as signs: (B,)."""
    return (best(logits) * logits[:, COLUMNS]).sum(-1)


@pytest.mark.parametrize("rule", [decision, blackbox(interpolation=3)], ids=str)
def test_the_gradient_is_the_derivative_of_its_loss(rule):
    logits, slope = random_logits(24, 7), random_logits(24, 6, 1)
    logits[:, 1] = -1e-9  # the other input costs nothing
    strength = 3 / slope.abs().mean(-1, keepdim=True)  # the paper's lambda

    def loss(z):
        if rule is decision:
            return (largest(z) + (z[:, COLUMNS] * slope.sign()).sum(-1)) / 2
        return (largest(z) - largest(shifted(z, -strength * slope))) / strength[:, 0]

    found = input_gradient(SMTLayer(THEORY, backward=rule), logits, slope)
    # of a row's gradient, blackbox keeps the mean over the outputs, not the inputs
    found = found / scale_of(slope) if rule is decision else found * 7 / 6
    for column in COLUMNS:
        step = torch.zeros(7).index_fill(0, torch.tensor(column), 1e-5)
        slopes = (loss(logits + step) - loss(logits - step)) / 2e-5
        torch.testing.assert_close(found[:, column], slopes, rtol=0, atol=1e-6)


def test_perturbed_has_the_expectation_of_a_probit():
    x = z3.Bool("x")
    layer = SMTLayer(
        Theory(z3.BoolVal(True), [x], [x]), backward=perturbed(sigma=2, samples=20_000)
    )
    logits = torch.tensor([[-3.0], [0.0], [1.0]])
    torch.manual_seed(0)
    found = input_gradient(layer, logits, torch.tensor([[1.0], [1.0], [-1.0]])).flatten().tolist()
    true = [0.5 * (1 + math.erf(z / 2 / math.sqrt(2))) for z in (-3.0, 0.0, 1.0)]
    expected = [true[0], true[1], true[2] - 1]
    assert found == pytest.approx(expected, abs=0.015)  # four standard deviations


@pytest.mark.parametrize("rule", [decision, blackbox], ids=str)
def test_nothing_is_pushed_where_the_answer_is_as_wanted(rule):
    logits = random_logits(24, 7)
    layer = SMTLayer(THEORY, backward=rule)
    assert not input_gradient(layer, logits, -best(logits)).any()
    assert layer.stats.blamed + layer.stats.correct == 24


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_facts_hold_and_neither_facts_nor_unknown_inputs_get_a_gradient(rule):
    torch.manual_seed(1)
    logits, slope = batch(64)
    given, known = torch.rand(64, 7) < 0.2, torch.rand(64, 7) < 0.8
    logits = torch.where(given & (torch.rand(64, 7) < 0.5), logits.sign() * torch.inf, logits)
    layer, found = SMTLayer(THEORY, backward=rule), []
    for unknown in (-9.0, 9.0):  # these logits have no effect
        leaf = torch.where(known | given, logits, unknown).requires_grad_()
        torch.manual_seed(0)
        layer(leaf, known, given).backward(slope)
        found.append(leaf.grad)
    assert torch.equal(*found)
    assert not leaf.grad[given | ~known].any()
    contradicted = ~agrees(logits, given).any(-1)
    assert not leaf.grad[contradicted].any()
    assert layer.stats.contradicted == 2 * (contradicted & slope.any(-1)).sum() > 0
    if rule is decision:
        answer = best(logits, known | given, given)
        pull = on_inputs(torch.where(slope != 0, (answer + slope.sign()) / 2, 0))
        pushed = known & ~given & ~contradicted[:, None]
        sure = (known | given)[:, COLUMNS].all(-1)  # else several decisions are equally good
        expected = torch.where(pushed, pull * scale_of(slope), 0)
        torch.testing.assert_close(leaf.grad[sure], expected[sure])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_permuted_columns_have_permuted_gradients(rule):
    logits, slope = batch()
    order = (4, 2, 0, 3, 1)  # of the symbols; `size` has three columns
    columns = [6, 2, 3, 4, 0, 5, 1]
    found = []
    for theory, part in ((THEORY, logits), (choices(order), logits[:, columns])):
        torch.manual_seed(0)
        found.append(input_gradient(SMTLayer(theory, backward=rule), part, slope))
    torch.testing.assert_close(found[0][:, columns], found[1])


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_twice_the_loss_is_twice_the_gradient(rule, dtype):
    logits, slope = (part.to(dtype) for part in batch())
    layer, found = SMTLayer(THEORY, backward=rule), []
    for factor in (1, 2):
        torch.manual_seed(0)
        found.append(input_gradient(layer, logits, factor * slope))
    assert found[0].dtype == dtype
    assert torch.equal(2 * found[0], found[1])


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_gradient_that_overflowed_shows(rule, bad):
    logits, slope = batch()
    slope[0, 0] = bad
    found = input_gradient(SMTLayer(THEORY, backward=rule), logits, slope)
    assert not found[0].isfinite().all()
    assert found[1:].isfinite().all()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_row_on_which_the_solver_gives_up_gets_no_gradient(rule):
    layer = SMTLayer(THEORY, backend=GivesUp((1,) * 7, ("maximize",)), backward=rule)
    logits = torch.full((1, 7), 1e3)  # all true, which contradicts the theory
    assert not input_gradient(layer, logits, torch.ones(1, 6)).any()
    assert layer.stats.undecided == 1


@pytest.mark.parametrize("rule", [perturbed(sigma=0.05, samples=40), blackbox], ids=str)
def test_a_row_is_given_up_if_one_of_its_shifted_copies_is(rule):
    logits = torch.tensor([[-0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]])
    gives_up = GivesUp((1,) * 7, ("maximize",))
    layer = SMTLayer(THEORY, backend=gives_up, forward="maxsmt", backward=rule)
    torch.manual_seed(0)
    assert not input_gradient(layer, logits, -torch.ones(1, 6)).any()
    assert (layer.stats.unknown, layer.stats.undecided) == (0, 1)


def test_spo_plus_is_the_rule_decision_at_shifted_costs():
    layer = SMTLayer(THEORY, forward="maxsmt", backward=decision)
    predicted, costs = random_logits(24, 7), random_logits(24, 7, 1)
    wanted, leaf = best(-costs), predicted.clone().requires_grad_()
    (-(layer(costs - 2 * leaf) * wanted).sum(-1).mean() * 7 / 6).backward()
    subgradient = 2 * (wanted - best(costs - 2 * predicted)) / 2  # in decisions of 0 and 1
    torch.testing.assert_close(leaf.grad, on_inputs(subgradient) / 24)


def test_costs_are_learned_from_decisions():
    torch.manual_seed(0)
    wanted = best(-random_logits(1, 7, 5)).expand(16, 6)
    costs = torch.nn.Parameter(10 + torch.rand(1, 7))  # far from zero, where a sigmoid is flat
    layer = SMTLayer(THEORY, forward="maxsmt", backward="perturbed(samples=4)")
    descent = torch.optim.SGD([costs], lr=0.5)
    for _ in range(60):
        descent.zero_grad()
        (-(layer(-costs.expand(16, 7)) * wanted).sum(-1).mean()).backward()
        descent.step()
    assert torch.equal(layer(-costs), wanted[:1])


def test_an_annealed_number_is_that_of_the_moment():
    rule = blackbox(interpolation=anneal(4, 1, until=0.5))
    logits, slope = batch()
    annealed = SMTLayer(THEORY, backward=mix(rule))
    for progress, value in ((0.0, 4), (0.25, 2.5), (1.0, 1)):
        annealed.progress = progress
        fixed = SMTLayer(THEORY, backward=blackbox(interpolation=value))
        found = input_gradient(annealed, logits, slope)
        torch.testing.assert_close(found, input_gradient(fixed, logits, slope))
    assert (rule.changes, blackbox.changes, decision.changes) == (True, False, False)


@pytest.mark.parametrize("rule", [*RULES, mix(core, decision)], ids=str)
def test_outputs_that_are_not_inputs_are_refused(rule):
    message = (
        f"The rule {rule.leaves[-1]} needs outputs that are decisions: each must be an input as "
        f"well, in the same form. 'total[2]' is an output only. Add 'total' to the inputs if its "
        f"logits are scores, or use core."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SMTLayer(addition(), backward=rule)


def test_an_output_in_another_form_is_refused():
    x = z3.BitVec("x", 2)
    with pytest.raises(ValueError, match=r"'x\[1\]' is an output only\. Add 'x' to the inputs"):
        SMTLayer(Theory(x != 0, [one_hot(x, [0, 1, 2])], [x]), backward="decision")
