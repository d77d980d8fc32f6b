"""Bounds of integers: found where they should be, and true in every model."""

import itertools
import random

import pytest
import z3

from helpers import seeds
from smtlayer.solvers.clauses import bounds as intervals
from smtlayer.solvers.clauses.bounds import (
    ContradictionError,
    prove_bounds,
    read_nodes,
    term_intervals,
)
from solvers.integer_terms import Draw

x, y, z, w = z3.Ints("x y z w")
a, b = z3.Bools("a b")
v = z3.BitVec("v", 4)


def bounds(*formulas):
    nodes, roots = read_nodes(formulas)
    found = prove_bounds(nodes, roots)
    return {str(nodes[i].term): interval for i, interval in found.items()}


@pytest.mark.parametrize("seed", seeds(60, 300))
def test_proved_bounds_hold_in_every_model(seed):
    draw = Draw(1000 + seed)
    rules = [draw.truth(2) for _ in range(3)]
    allowed = [
        values
        for values in itertools.product(*draw.domains)
        if all(rule(*values) for _, rule in rules)
    ]
    try:
        found = bounds(*draw.facts(), *(rule for rule, _ in rules))
    except ContradictionError:
        assert not allowed
        return
    for values in allowed:
        for symbol, value in zip(draw.symbols, values, strict=True):
            low, high = found[str(symbol)]
            assert low <= value <= high


@pytest.mark.parametrize(
    ("formulas", "expected"),
    [
        ([x <= 4, x > -3], (-2, 4)),
        ([z3.IntVal(5) >= x, z3.Not(x < 0)], (0, 5)),
        ([z3.Not(x >= 5), z3.Not(x <= 1)], (2, 4)),
        ([z3.Not(x > 5), z3.Not(x < 1)], (1, 5)),
        ([z3.And(x >= 1, z3.And(a, 2 * x < 9))], (1, 4)),
        ([x == 7], (7, 7)),
        ([z3.Or(x == 3, x == -1, x == 8)], (-1, 8)),
        ([z3.Or(z3.And(x > 2, x < 5), z3.And(a, x >= 8, x <= 9)), b], (3, 9)),
        ([z3.Not(z3.And(x != 3, z3.Or(x < 4, x > 6))), x >= 0, x <= 99], (0, 99)),
        ([z3.Implies(x <= 3, x >= 2), x <= 9, z3.If(a, x >= 1, x == 0)], (2, 9)),
        ([x == y + 1, y >= 0, y <= 3], (1, 4)),
        ([x + y <= 9, x >= 0, y >= 0], (0, 9)),
        ([x == z3.If(a, 3, y), z3.Or(y == 5, y == 1)], (1, 5)),
        ([x == y * y - z % 3, y >= -4, y <= 2, z > 0, z < 0 + w, w == 9], (-10, 16)),
        ([x * y == 12, y >= 2, y <= 3], (0, 6)),
        ([x == z3.BV2Int(v) / 4], (0, 3)),
        ([x == y + 1, y == z + 1, z == w + 1, w == 0], (3, 3)),
        ([w == 0, z == w + 1, y == z + 1, x == y + 1], (3, 3)),
        ([10 * x + y == z * w + 5, y >= 0, y <= 9, z > 0, z <= 9, w > 0, w <= 9], (0, 8)),
    ],
)
def test_bounds_are_found(formulas, expected):
    assert bounds(*formulas)["x"] == expected


def test_long_chains_of_definitions_are_followed_in_any_order():
    chain = z3.Ints([f"k{i}" for i in range(60)])
    steps = [one == other + 1 for one, other in itertools.pairwise(chain)]
    random.Random(0).shuffle(steps)
    formulas = [*steps, chain[-1] >= 0, chain[-1] <= 2]
    assert bounds(*formulas)["k0"] == (59, 61)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_chain_in_order_takes_few_rounds_whichever_way_it_runs(turn, monkeypatch):
    rounds = []
    monkeypatch.setattr(
        intervals, "term_intervals", lambda *given: rounds.append(1) or term_intervals(*given)
    )
    chain = z3.Ints([f"k{i}" for i in range(100)])
    steps = [one == other + 1 for one, other in itertools.pairwise(chain)]
    assert bounds(*[*steps, chain[-1] == 0][::turn])["k0"] == (99, 99)
    assert len(rounds) <= 4


def test_a_repeated_term_is_read_once():
    rule, number = z3.And(x >= 0, x <= 5), y
    for _ in range(60):
        rule, number = z3.And(rule, z3.Not(z3.Not(rule))), number + number
    assert bounds(rule, number == x * 2**60) == {"x": (0, 5), "y": (0, 5)}


def test_bounds_that_shrink_for_ever_are_left_where_they_are():
    formulas = [x < y, y < x, x >= 0, y >= 0, x <= 10**6, y <= 10**6]
    assert bounds(*formulas)["x"][1] > 10**5
