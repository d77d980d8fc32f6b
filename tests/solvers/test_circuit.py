"""The backend Circuit: the laws, exact repairs at the ends of floats, limits and errors."""

import copy
import itertools
import pickle
from fractions import Fraction

import pytest
import torch
import z3

from smtlayer import Circuit, Enumerate, NotFiniteError, SMTLayer, Theory, TooLargeError, one_hot
from smtlayer.solvers.circuit import circuit as backend
from smtlayer.solvers.circuit import repair
from smtlayer.testing import FINITE, SolverConformance, random_finite_theory


class TestCircuit(SolverConformance):
    """All laws, on every kind of theory that comes down to bits."""

    backend = Circuit()
    theories = FINITE
    seeds = 5

    def random(self, seed):
        return random_finite_theory(seed)


@pytest.mark.slow
class TestCircuitAtLength(TestCircuit):
    """The same on many more random theories."""

    seeds = 100


def exactly(k, n, spread=1):
    x = [z3.Bool(f"x{i}") for i in range(n)]
    weights = [(each, 1 + i % spread) for i, each in enumerate(x)]
    return Theory(z3.PbEq(weights, k), inputs=x, outputs=x)


def chain(length=6, values=3):
    """Neighbours differ by one at most."""
    cells = [z3.Int(f"c{i}") for i in range(length)]
    rules = [z3.And(a - b <= 1, b - a <= 1) for a, b in itertools.pairwise(cells)]
    shown = [one_hot(c, range(values)) for c in cells]
    return Theory(rules, inputs=shown, outputs=shown)


def ask(theory, rows=16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, theory.n_inputs, generator=generator, dtype=torch.float64)
    return logits.sign().to(torch.int8), logits.abs()


LARGER = [exactly(5, 6, spread=3), chain(3, 2)]


@pytest.mark.parametrize(
    "theory",
    [
        exactly(2, 5), exactly(4, 5, spread=3), chain(2, 2),
        *(pytest.param(theory, marks=pytest.mark.slow) for theory in LARGER),
    ],
)  # fmt: skip
def test_repairs_are_those_of_trying_everything(theory):
    signs, weights = ask(theory)
    ours = Circuit().compile(theory).maximize(signs, weights)
    theirs = Enumerate().compile(theory).maximize(signs, weights)
    assert torch.equal(ours.inputs, theirs.inputs)
    torch.testing.assert_close(ours.cost, theirs.cost)


@pytest.mark.parametrize("tiny", [1e-17, 1e-200, 5e-324])
def test_no_weight_is_lost_beside_a_larger_one(tiny):
    theory = exactly(2, 4)
    weights = torch.ones(4, 4, dtype=torch.float64)
    weights[:, 3], weights[:, 2] = 1 + tiny, tiny
    for row in range(4):
        weights[row] = weights[row].roll(row)
    found = Circuit().compile(theory).maximize(torch.ones(4, 4, dtype=torch.int8), weights)
    exact = Enumerate().compile(theory).maximize(torch.ones(4, 4, dtype=torch.int8), weights)
    for row in range(4):
        ours, best = (
            sum(Fraction(w) for w, x in zip(weights[row].tolist(), s.inputs[row], strict=True)
                if x < 0)
            for s in (found, exact)
        )  # fmt: skip
        assert ours == best


def test_sums_of_the_largest_floats_do_not_overflow():
    theory = exactly(2, 5)
    weights = torch.tensor([[1.7e308, 1.6e308, 1.5e308, 1.4e308, 1.3e308]], dtype=torch.float64)
    found = Circuit().compile(theory).maximize(torch.ones(1, 5, dtype=torch.int8), weights)
    assert found.inputs.tolist() == [[1, 1, -1, -1, -1]]
    assert found.cost.item() == torch.finfo(torch.float64).max


def test_digits_are_carried():
    """Three weights add up to the fourth but for a tiny one; their lower digits overflow."""
    a = z3.Bools("a0 a1 a2 a3")
    b = z3.Bool("b")
    rule = z3.Or(z3.And([z3.Not(each) for each in a]), z3.Not(b))
    part = 2.0**-18 * (1 - 2.0**-20)  # just below a power of 2**32 times the smallest float
    weights = torch.tensor([[part, part, part, 1e-40, 3 * part]], dtype=torch.float64)
    solver = Circuit().compile(Theory(rule, inputs=[*a, b], outputs=[b]))
    found = solver.maximize(torch.ones(1, 5, dtype=torch.int8), weights)
    assert found.inputs.tolist() == [[1, 1, 1, 1, -1]]


@pytest.mark.parametrize("size", [2.0**-200, 1.0, 2.0**200])
def test_weights_are_compared_exactly_whatever_the_default_dtype(size):
    theory, signs = exactly(1, 2), torch.ones(1, 2, dtype=torch.int8)
    weights = torch.tensor([[size, size * (1 + 2**-52)]], dtype=torch.float64)
    dtype = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float32)
        found = Circuit().compile(theory).maximize(signs, weights)
        wide = torch.tensor([[size, size * 2.0**-40, 3 * size]], dtype=torch.float64)
        assert repair._is_plain(torch.cat([wide, wide / 3])).tolist() == [True, False]
    finally:
        torch.set_default_dtype(dtype)
    assert found.inputs.tolist() == [[-1, 1]]


def test_digits_are_only_compared_where_rounding_could_hide_something(monkeypatch):
    calls = []
    by_digits = repair._by_digits
    monkeypatch.setattr(
        repair, "_by_digits", lambda *args: calls.append(len(args[1])) or by_digits(*args)
    )
    theory, solver = exactly(3, 8), Circuit().compile(exactly(3, 8))
    signs, weights = ask(theory)
    solver.maximize(signs, weights)
    solver.maximize(signs, torch.ones_like(weights))  # ties, but without rounding
    assert not calls
    weights[3] = 1 / 3
    weights[3, 2] = 1e-30
    solver.maximize(torch.ones_like(signs), weights)
    assert calls == [1]


@pytest.mark.parametrize("cells", [1, 200, 10**9])
def test_answers_do_not_depend_on_how_many_rows_fit_into_memory(cells, monkeypatch):
    monkeypatch.setattr(backend, "_CELLS", cells)
    theory, solver = chain(), Circuit().compile(chain())
    signs, weights = ask(theory)
    free = torch.zeros(16, theory.n_outputs, dtype=torch.int8)
    logits = signs * weights
    whole = Circuit().compile(theory)
    monkeypatch.setattr(backend, "_CELLS", 10**9)
    assert torch.equal(
        solver.maximize(signs, weights).inputs, whole.maximize(signs, weights).inputs
    )
    assert torch.equal(solver.log_prob(logits, free), whole.log_prob(logits, free))
    core = solver.core(signs, weights, free)
    assert torch.equal(core.inputs, whole.core(signs, weights, free).inputs)


def test_an_empty_batch_gets_empty_answers():
    theory, solver = chain(), Circuit().compile(chain())
    signs, weights = ask(theory, rows=0)
    outputs = torch.zeros(0, theory.n_outputs, dtype=torch.int8)
    assert solver.solve(signs).inputs.shape == (0, theory.n_inputs)
    assert solver.maximize(signs, weights).outputs.shape == outputs.shape
    assert solver.core(signs, weights, outputs).inputs.shape == (0, theory.n_inputs)
    assert solver.marginal(weights, outputs).inputs.shape == (0, theory.n_inputs)
    assert solver.sample(weights, outputs).inputs.shape == (0, theory.n_inputs)


def test_a_theory_without_a_model_answers_unsat():
    a, y = z3.Bools("a y")
    solver = Circuit().compile(Theory([y == a, a != y], inputs=[a], outputs=[y]))
    free = torch.zeros(2, 1, dtype=torch.int8)
    assert solver.diagram.n_models == 0
    assert solver.solve(free).status.tolist() == [0, 0]
    assert solver.marginal(torch.zeros(2, 1), free).log_prob.tolist() == [-torch.inf] * 2
    assert not solver.marginal(torch.zeros(2, 1), free).inputs.any()
    assert solver.sample(torch.zeros(2, 1), free).status.tolist() == [0, 0]
    assert solver.core(free + 1, torch.ones(2, 1), free).status.tolist() == [0, 0]


def test_a_diagram_that_is_too_large_is_refused_with_the_numbers():
    p, q = z3.BitVecs("p q", 12)
    theory = Theory(z3.UGT(p * q, 7), inputs=[p], outputs=[q])
    with pytest.raises(TooLargeError, match=r"^Circuit: this theory is too large, its decision "
                       r"diagram takes more than max_nodes=3,000 nodes\. Use Sat\(\) instead, or "
                       r"raise max_nodes\.$"):  # fmt: skip
        Circuit(max_nodes=3_000).compile(theory)


def test_a_theory_that_is_not_finite_is_refused():
    x, y = z3.Real("x"), z3.Bool("y")
    with pytest.raises(NotFiniteError, match=r"^Circuit takes theories that come down to bits, and "
                       r"this one does not: .*\. Use Z3\(\) or Auto\(\) instead\.$"):  # fmt: skip
        Circuit().compile(Theory(y == (x * x > 2), inputs=[y], outputs=[y]))


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "many"])
def test_a_limit_that_is_no_number_of_nodes_is_refused(wrong):
    with pytest.raises(
        (ValueError, TypeError), match="Circuit expects max_nodes as a whole number"
    ):
        Circuit(max_nodes=wrong)


def test_something_else_than_a_theory_is_refused():
    with pytest.raises(TypeError, match=r"Circuit\.compile expects a Theory\. Got str\."):
        Circuit().compile("a")


def test_options_compare_print_pickle_and_a_layer_survives_copies():
    assert Circuit() == Circuit(100_000) != Circuit(5)
    assert repr(Circuit()) == "Circuit(max_nodes=100000)"
    assert pickle.loads(pickle.dumps(Circuit(7))) == Circuit(7)
    layer = SMTLayer(chain(), backend=Circuit()).eval()
    logits = torch.randn(4, layer.theory.n_inputs)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(logits), layer(logits))


@pytest.mark.parametrize("rule", ["core", "maxsmt", "sample", "marginal", "mix(core, marginal)"])
def test_every_rule_trains_on_a_diagram(rule):
    torch.manual_seed(0)
    layer = SMTLayer(chain(), backend=Circuit(), backward=rule)
    wanted = layer.theory.encode_outputs(c0=0, c1=1, c2=2, c3=2, c4=1, c5=0).float()
    logits = torch.randn(1, layer.theory.n_inputs, requires_grad=True)
    for _ in range(60):
        loss = (layer(logits) - wanted).square().sum()
        (grad,) = torch.autograd.grad(loss, logits)
        logits = (logits - 2 * grad.sign() * (grad != 0)).detach().requires_grad_()
    layer.eval()
    assert torch.equal(layer(logits)[0], wanted)
