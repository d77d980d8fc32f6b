"""`sample` and `marginal`: by enumeration, at any temperature, on the rows they should push."""

import itertools
import math
import re

import pytest
import torch
import z3

from helpers import GivesUp, all_equal, input_gradient, random_logits
from smtlayer import Z3, Sat, SMTLayer, Table, Theory
from smtlayer.nn import anneal, core, marginal, mix, sample, schedule
from smtlayer.testing import THEORIES, random_theory
from smtlayer.testing.theories import addition, xor

TEMPERATURES = (0.25, 1.0, 4.0)
DRAWS = 20_000
SMALL = [THEORIES[name]() for name in ("xor", "addition", "colours", "free_outputs", "reals")]
SMALL += [random_theory(seed) for seed in range(8)]


def all_models(theory):
    """Every model over inputs and outputs, by asking z3 about every assignment."""
    columns = [*theory.inputs, *theory.outputs]
    solver = z3.Solver()
    solver.add(*theory.formulas)
    every = itertools.product((-1, 1), repeat=len(columns))
    return [m for m in every if solver.check(*literals(columns, m)) == z3.sat]


def literals(columns, model):
    return [c if s > 0 else z3.Not(c) for c, s in zip(columns, model, strict=True)]


def distribution(theory, logits, wanted, temperature):
    """P over the inputs of one row: assignments and their probability, as the definition has it."""
    n, shares = theory.n_inputs, {}
    for model in all_models(theory):
        if any(w not in (0, y) for w, y in zip(wanted, model[n:], strict=True)):
            continue
        p = [1 / (1 + math.exp(-x / temperature)) for x in logits]
        weight = math.prod(a if z > 0 else 1 - a for a, z in zip(p, model, strict=False))
        shares[model[:n]] = shares.get(model[:n], 0.0) + weight
    return {z: weight / sum(shares.values()) for z, weight in shares.items()}


def targets_of(layer, logits, slope, known=None):
    """What the layer pushed towards, from its gradient with a scale of 1 a row."""
    gradient = input_gradient(layer, logits, slope, known)
    scale = slope.abs().sum(-1, keepdim=True) / logits.shape[-1]
    return torch.sigmoid(logits) - gradient / scale


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("theory", SMALL)
def test_marginal_pushes_towards_the_mean_by_enumeration(theory, temperature):
    layer = SMTLayer(theory, backend=Table(), backward=marginal(temperature=temperature))
    logits, slope = random_logits(6, theory.n_inputs), random_logits(6, theory.n_outputs, 1)
    slope[3:, 0] = 0  # free
    slope[:, -1] += 1e-3 * (slope == 0).all(-1)
    found = targets_of(layer, logits, slope)
    for row in range(6):
        wanted = (-slope[row].sign()).int().tolist()
        shares = distribution(theory, logits[row].tolist(), wanted, temperature)
        mean = [sum(p for z, p in shares.items() if z[i] > 0) for i in range(theory.n_inputs)]
        expected = torch.tensor(mean, dtype=torch.float64)
        expected = expected if shares else torch.sigmoid(logits[row])  # no push
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("seed", range(3))
def test_samples_come_as_often_as_enumeration_says(seed, temperature):
    theory = (addition(), THEORIES["free_outputs"](), random_theory(11))[seed]
    layer = SMTLayer(theory, backend=Table(), backward=sample(temperature=temperature))
    logits = random_logits(1, theory.n_inputs, seed)
    model = all_models(theory)[seed]
    wanted = torch.tensor(model[theory.n_inputs :]).double()
    wanted[0] = 0 if len(wanted) > 1 else wanted[0]
    torch.manual_seed(seed)
    found = targets_of(layer, logits.repeat(DRAWS, 1), -wanted.repeat(DRAWS, 1))
    shares = distribution(theory, logits[0].tolist(), wanted.int().tolist(), temperature)
    assert len(shares) > 1
    check_frequencies(found, shares)


def check_frequencies(targets, shares):
    """A chi-square test at one in a thousand, cells of less than 5 expected draws put together."""
    rounded = targets.round()
    torch.testing.assert_close(targets, rounded, rtol=0, atol=1e-6)  # one model, not a mean
    place = 2.0 ** torch.arange(targets.shape[-1]).double()
    counts = (rounded @ place).long().bincount(minlength=2 ** targets.shape[-1])
    number = {sum(2**i for i, s in enumerate(z) if s > 0): p for z, p in shares.items()}
    assert set(counts.nonzero().flatten().tolist()) <= number.keys()
    cells = [(counts[k].item(), p * DRAWS) for k, p in number.items() if p * DRAWS >= 5]
    rest = [(counts[k].item(), p * DRAWS) for k, p in number.items() if p * DRAWS < 5]
    assert sum(n for n, _ in rest) <= sum(e for _, e in rest) * 3 + 10
    chi_square = sum((n - e) ** 2 / e for n, e in cells)
    freedom = max(1, len(cells) - 1)
    assert chi_square < freedom + 3.3 * math.sqrt(2 * freedom) + 8


@pytest.mark.parametrize("rule", ["sample", "marginal"])
def test_correct_rows_are_pushed_too_those_without_gradient_are_not(rule):
    layer = SMTLayer(xor(), backward=rule)
    logits = torch.tensor([[0.4, -0.3]]).double().repeat(3, 1)
    slope = torch.tensor([[-1.0], [1.0], [0.0]])  # has 1: correct, wrong, without gradient
    gradient = input_gradient(layer, logits, slope)
    assert gradient.ne(0).all(-1).tolist() == [True, True, False]
    assert not gradient[2].any()
    assert (layer.stats.correct, layer.stats.blamed, layer.stats.without_gradient) == (1, 1, 1)
    kept = (torch.sigmoid(logits[0]) - (logits[0] > 0).double()) / 2
    if rule == "marginal":  # the mean is not where the row leans
        assert (gradient[0] - kept).abs().max() > 0.05


@pytest.mark.parametrize("scale", ["gradient", "batch"])
@pytest.mark.parametrize("backend", [Table(), Z3()], ids=["table", "z3"])
@pytest.mark.parametrize("rule", ["sample", "marginal"])
def test_a_label_that_no_input_allows_pushes_no_input(rule, backend, scale):
    x, y, z = z3.Bools("x y z")
    if rule == "marginal" and backend != Table():
        pytest.skip("not to be had")
    theory = Theory([y == x, z], inputs=[x], outputs=[y, z])
    layer = SMTLayer(theory, backend=backend, backward=rule, scale=scale)
    slope = torch.tensor([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])  # rows 0 and 2 want z false
    gradient = input_gradient(layer, torch.ones(3, 1), slope)
    assert gradient.flatten().ne(0).tolist() == [False, True, False]
    assert layer.stats.contradicted == 2


def test_inputs_that_are_not_known_take_no_part_and_are_not_pushed():
    theory = all_equal(3)
    known = torch.tensor([[True, True, False]])
    logits = torch.tensor([[0.5, -2.0, float("nan")]]).double()
    layer = SMTLayer(theory, backward="marginal")
    leaf = logits.clone().requires_grad_()
    layer(leaf, known).backward(torch.tensor([[-1.0]]).double())  # all true
    pull = (torch.sigmoid(logits[0, :2]) - 1) / 3
    torch.testing.assert_close(leaf.grad[0, :2], pull)
    assert leaf.grad[0, 2] == 0
    a, b, c, y = z3.Bools("a b c y")
    free = Theory(y == z3.Or(a, b, c), inputs=[a, b, c], outputs=[y])
    layer = SMTLayer(free, backend=Table(), backward="marginal")
    found = targets_of(layer, torch.tensor([[0.5, -2.0, 9.0]]).double(),
                       -torch.ones(1, 1).double(), known)  # fmt: skip
    shares = distribution(free, [0.5, -2.0, 0.0], [1], 1.0)  # as if of even odds
    mean = [sum(p for z, p in shares.items() if z[i] > 0) for i in range(2)]
    torch.testing.assert_close(
        found[0, :2], torch.tensor(mean, dtype=torch.float64), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("rule", ["sample", mix(sample, sample(temperature=2))])
def test_a_row_given_up_gets_no_gradient_in_either_pass(rule):
    backend = GivesUp((1, -1), ("solve",))
    layer = SMTLayer(xor(), backend=backend, backward=rule)
    leaf = torch.tensor([[1.0, -1.0], [1.0, 1.0]], requires_grad=True)
    layer(leaf).backward(torch.ones(2, 1))
    assert leaf.grad.ne(0).any(-1).tolist() == [False, True]
    assert (layer.stats.unknown, layer.stats.undecided) == (1, 0)
    layer = SMTLayer(xor(), backend=GivesUp((1, 1), ("maximize",)), backward=rule)
    leaf = torch.full((2, 2), 50.0).requires_grad_()  # too sure for any noise
    leaf.data[1] = -50
    layer(leaf).backward(-torch.ones(2, 1))
    assert layer.stats.undecided == 1
    assert leaf.grad.ne(0).any(-1).tolist() == [False, True]


@pytest.mark.parametrize("backend", [Sat(), Z3()], ids=["sat", "z3"])
def test_without_a_list_every_draw_is_a_model_with_the_wanted_outputs(backend):
    theory = addition()
    layer = SMTLayer(theory, backend=backend, backward=sample(temperature=2.0))
    models = set(all_models(theory))
    logits, slope = random_logits(60, 4), random_logits(60, 3, seed=1)
    slope[:, 0] = 0
    torch.manual_seed(0)
    found = targets_of(layer, logits, slope).round().mul(2).sub(1).int().tolist()
    possible, pushed = 0, input_gradient(layer, logits, slope).ne(0).any(-1)
    for row in range(60):
        wanted = (-slope[row].sign()).int().tolist()
        fits = {
            m[:4] for m in models if all(w in (0, y) for w, y in zip(wanted, m[4:], strict=True))
        }
        assert pushed[row].item() == bool(fits)
        possible += bool(fits)
        assert not fits or tuple(found[row]) in fits
    assert possible > 30
    assert layer.stats.contradicted == 2 * (60 - possible)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_without_a_list_independent_inputs_are_drawn_exactly(temperature):
    a, b, c, y = z3.Bools("a b c y")
    theory = Theory([y == a, z3.Or(b, c, z3.Not(b))], inputs=[a, b, c], outputs=[y])
    backend = GivesUp((), ())  # a table that answers `maximize` and has no list
    layer = SMTLayer(theory, backend=backend, backward=sample(temperature=temperature))
    logits = torch.tensor([[-1.0, 0.7, -0.4]]).double()
    torch.manual_seed(0)
    found = targets_of(layer, logits.repeat(DRAWS, 1), -torch.ones(DRAWS, 1).double())
    check_frequencies(found, distribution(theory, logits[0].tolist(), [1], temperature))


@pytest.mark.parametrize("rule", ["sample", "marginal"])
@pytest.mark.parametrize("size", [1e4, 6e4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_extreme_logits_give_finite_gradients(rule, size, dtype):
    layer = SMTLayer(addition(), backward=rule)
    logits = (random_logits(16, 4).sign() * size).to(dtype)
    gradient = input_gradient(layer, logits, random_logits(16, 3, seed=1).to(dtype))
    assert gradient.isfinite().all()
    assert gradient.dtype == dtype


@pytest.mark.parametrize(
    "rule",
    [marginal, mix(core, marginal), schedule((0.5, core), (1, mix(sample, marginal))),
     "marginal(temperature=2)"],
)  # fmt: skip
def test_marginal_without_a_list_is_refused_when_the_layer_is_made(rule):
    name = rule if isinstance(rule, str) else "marginal"
    message = (
        f"The rule {name} needs a backend that weighs all models, Table or Circuit; this theory is "
        "answered by Z3. Use sample, or core; or Table(), if it has few models; or Circuit(), if "
        "it is finite."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SMTLayer(xor(), backend=Z3(), backward=rule)
    SMTLayer(xor(), backend=Table(), backward=rule)


@pytest.mark.parametrize("rule", [sample, marginal])
def test_options_come_by_name(rule):
    assert rule() == rule
    assert rule(temperature=2) == rule(temperature=2.0) != rule
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        rule(3)
    for wrong in (0, -1.5, math.inf, math.nan, "1", True, anneal(1, 0)):
        with pytest.raises(ValueError, match=f"^{rule} expects temperature above 0, a number or"):
            rule(temperature=wrong)


def test_seeds_repeat_a_run():
    def gradient():
        layer = SMTLayer(addition(), backward=mix(core, sample))
        return input_gradient(layer, random_logits(16, 4), random_logits(16, 3, seed=1))

    def run(seed):
        torch.manual_seed(seed)
        return torch.stack([gradient() for _ in range(8)])

    assert torch.equal(run(0), run(0))
    assert not torch.equal(run(0), run(1))
