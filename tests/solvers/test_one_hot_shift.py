"""A constant added to the logits of a one-hot symbol changes neither a repair nor its work."""

import itertools
import math
import random
from fractions import Fraction

import pytest
import torch
import z3

from helpers import seeds
from smtlayer import Z3, Circuit, Sat, SMTLayer, Status, Table, Theory, one_hot
from smtlayer.solvers import sat
from smtlayer.solvers.search import maxsat
from smtlayer.solvers.search.soft import one_hot_columns, soft_literals

BACKENDS = [Table(), Circuit(), Sat(), Sat(remember=0), Z3()]


def tags(tokens):
    """Tags of words: an I follows a B or an I; at most two B."""
    t = z3.Ints([f"t{i}" for i in range(tokens)])
    rules = [t[0] != 2, *(z3.Implies(b == 2, a != 0) for a, b in itertools.pairwise(t))]
    rules.append(z3.AtMost(*(x == 1 for x in t), 2))
    symbols = [one_hot(x, range(3)) for x in t]
    return Theory(rules, inputs=symbols, outputs=symbols)


def not_two():
    """A symbol of three values that must not be 2."""
    x, y = z3.Int("x"), z3.Bool("y")
    return Theory([x != 2, y == (x == 1)], inputs=[one_hot(x, range(3))], outputs=[y])


def class_scores(theory, rows, seed):
    """Logits, and the same with a constant added to each symbol; floats hold both exactly."""
    draw = torch.Generator().manual_seed(seed)
    scores = (
        torch.randint(-(2**20), 2**20, (rows, theory.n_inputs), generator=draw).double() / 2**18
    )
    constants = torch.randint(-8, 9, (rows, theory.n_inputs // 3), generator=draw).double()
    return scores, scores + constants.repeat_interleave(3, dim=-1)


@pytest.mark.parametrize("seed", seeds(2, 10))
@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_answers_and_gradients_are_those_without_the_constant(backend, seed):
    theory = tags(5)
    layer = SMTLayer(theory, backend=backend, forward="maxsmt", backward="maxsmt")
    wanted = theory.encode_outputs(t0=1, t1=2, t2=[0, 1, 0, 2], t3=0, t4=0).double()
    outputs, directions = [], []
    for logits in class_scores(theory, 4, seed):
        leaf = logits.clone().requires_grad_()
        outputs.append(layer(leaf))
        outputs[-1].backward(outputs[-1].detach() - wanted)
        directions.append(leaf.grad.sign())
    assert torch.equal(*outputs)
    assert torch.equal(*directions)
    assert directions[0].any()


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_the_cost_is_the_overruled_weight_of_the_given_signs(backend):
    theory = tags(4)
    signs = torch.ones(1, 12, dtype=torch.int8)
    weights = torch.arange(1.0, 13)[None]
    found = backend.compile(theory).maximize(signs, weights)
    assert found.cost.item() == weights[found.inputs < 0].sum().item()
    reference = Table().compile(theory).maximize(signs, weights)
    assert torch.equal(found.cost, reference.cost)


@pytest.mark.parametrize("seed", seeds(3, 20))
def test_the_sat_solver_does_the_same_work_with_and_without_the_constant(seed, monkeypatch):
    monkeypatch.setattr(maxsat, "_PATIENCE_S", math.inf)  # the clock decides nothing
    opened, solver_of = [], sat.open_solver
    monkeypatch.setattr(sat, "open_solver", lambda cnf: opened.append(solver_of(cnf)) or opened[-1])
    theory = tags(12)
    for logits in class_scores(theory, 4, seed):
        solver = Sat(remember=0).compile(theory)
        signs = torch.where(logits > 0, 1, -1).to(torch.int8)
        assert solver.maximize(signs, logits.abs().clamp(min=2**-20)).proved.all()
    first, second = (solver.accum_stats() for solver in opened)
    assert first == second
    assert first["propagations"] > 0


@pytest.mark.parametrize("backend", [Sat(), Z3()], ids=str)
def test_a_repair_is_remembered_up_to_the_constant(backend):
    theory = tags(4)
    solver = backend.compile(theory)
    logits = torch.tensor([[1.0, 2, 4] * 4])  # no I may come first
    for constant in (0.0, 8.0, -16.0):
        shifted = logits + constant
        signs = torch.where(shifted > 0, 1, -1).to(torch.int8)
        solver.maximize(signs, shifted.abs())
    assert solver.cache_hits == 2
    solver.maximize(torch.ones_like(logits, dtype=torch.int8), logits * 2)
    assert solver.cache_hits == 2


def test_memory_distinguishes_differences_that_floats_do_not():
    solver = Sat().compile(not_two())
    signs = torch.tensor([[1, 1, 1]], dtype=torch.int8)
    for least in (1e-17, 2e-17):  # 1 - 1e-17 is 1
        solver.maximize(signs, torch.tensor([[least, 1.0, 2.0]], dtype=torch.float64))
    assert solver.cache_hits == 0


@pytest.mark.parametrize("backend", [Sat(), Z3()], ids=str)
def test_huge_weights_and_facts_have_keys_of_their_own(backend):
    theory = tags(2)
    solver, table = backend.compile(theory), Table().compile(theory)
    signs = torch.tensor([[1, 1, 1, -1, 1, 1]] * 4, dtype=torch.int8)
    weights = torch.tensor([[1.0, 2, 3, 1, 2, 3]] * 4, dtype=torch.float64)
    weights[1, 2], weights[2, 3], weights[3, 4] = 1.7e308, torch.inf, torch.inf
    for _ in range(2):
        ours, reference = solver.maximize(signs, weights), table.maximize(signs, weights)
        assert torch.equal(ours.inputs, reference.inputs)
    assert solver.cache_hits == 4


def test_the_least_difference_decides():
    theory = not_two()
    signs, tiny = torch.tensor([[1, 1, 1]], dtype=torch.int8), 5e-324
    for first, second, wanted in ((1.0, 1 + 2**-52, 1), (2 * tiny, tiny, 0), (1e300, tiny, 0)):
        weights = torch.tensor([[first, second, 1.5e300]], dtype=torch.float64)
        for backend in (Table(), Sat(), Z3()):
            found = backend.compile(theory).maximize(signs, weights)
            assert found.inputs[0, wanted] == 1


@pytest.mark.parametrize("seed", range(30))
def test_shifted_weights_differ_from_the_given_ones_by_a_constant_cost(seed):
    draw = random.Random(seed)
    width = draw.randint(2, 5)
    signs = [draw.choice([1, -1]) for _ in range(width)]
    weights = [draw.choice([5e-324, 1.0, 1 + 2**-52, 3.0, 1e300]) for _ in range(width)]
    facts = [i for i in range(width) if signs[i] < 0 and draw.random() < 0.2][:-1]
    for i in facts:
        weights[i] = float("inf")
    columns = {i: draw.choice([1, -1]) * (i + 1) for i in range(width)}
    soft = soft_literals(columns, signs, weights, [range(width)])
    assert sum(x == columns[i] for i in columns for x in soft) <= 1  # assumed true
    costs, shifted = [], []
    for value in sorted(set(columns) - set(facts)):
        held = {columns[i] if i == value else -columns[i] for i in columns}
        overruled = [i for i in columns if (i == value) != (signs[i] > 0)]
        costs.append(sum(Fraction(weights[i]) for i in overruled))
        shifted.append(sum(w for x, w in soft.items() if x not in held))
    unit = max((Fraction(w).denominator for w in weights if w < float("inf")), default=1)
    assert len({cost * unit - ours for cost, ours in zip(costs, shifted, strict=True)}) == 1


def test_a_symbol_that_is_observed_in_part_is_left_alone():
    columns, group = {0: 1, 1: 2, 2: 3}, [range(3)]
    assert soft_literals(columns, [1, 0, 1], [1.0, 2.0, 3.0], group) == {1: 1, 3: 3}
    assert soft_literals(columns, [1, 1, 1], [1.0, 2.0, 3.0]) == {1: 1, 2: 2, 3: 3}
    assert soft_literals(columns, [1, 1, 1], [1.0, 2.0, 3.0], group) == {-1: 1, 3: 1}
    del columns[2]  # decided to be false
    assert soft_literals(columns, [1, 1, 0], [1.0, 2.0, 3.0], group) == {2: 1}


def test_columns_that_share_a_variable_share_a_weight():
    assert soft_literals({0: 1, 1: -1, 2: 1}, [1, 1, -1], [5.0, 2.0, 2.0]) == {1: 1}
    assert soft_literals({0: 1, 1: -1}, [1, 1], [2.0, 2.0]) == {}


def test_one_hot_columns_are_those_of_one_hot_inputs():
    x, a, b = z3.Int("x"), z3.Bool("a"), z3.BitVec("b", 2)
    theory = Theory(z3.Or(a, x == 1), inputs=[a, one_hot(x, range(3)), b], outputs=[a])
    assert one_hot_columns(theory) == [range(1, 4)]
    found = Sat().compile(theory).maximize(torch.tensor([[-1, 1, 1, 1, 0, 0]]), torch.ones(1, 6))
    assert found.status.item() == Status.SAT
