"""Questions that a SAT solver answers without a search, and what it must not take for one."""

import itertools
import random

import pytest

from helpers import seeds
from smtlayer import Status
from smtlayer.solvers.clauses.cnf import Cnf, facts, join
from smtlayer.solvers.sat import SatRow


def opened(clauses, inputs, outputs, n_variables):
    """A row solver of clauses, whose columns are literals."""
    return SatRow(Cnf(join(clauses), (*inputs, *outputs), n_variables), len(inputs), 10_000)


@pytest.fixture
def no_search(monkeypatch):
    def fail(*args):
        raise AssertionError("a search")

    monkeypatch.setattr(SatRow, "check", fail)


def copies(count):
    """Outputs that are the inputs: variables 1, 2, ... and their copies."""
    pairs = [(i, count + i) for i in range(1, count + 1)]
    clauses = [clause for x, y in pairs for clause in ([-x, y], [x, -y])]
    return opened(clauses, [x for x, _ in pairs], [-y for _, y in pairs], 2 * count)


@pytest.mark.usefixtures("no_search")
def test_what_follows_at_once_is_not_searched_for():
    row = copies(3)
    assert row.solve([1, -1, 1]) == (Status.SAT, [1, -1, 1], [-1, 1, -1], True)
    assert row.maximize([1, 1, 1], [3.0, 2.0, 1.0], [1, -1, -1]) == (
        Status.SAT, [-1, 1, 1], [1, -1, -1], True,
    )  # fmt: skip


@pytest.mark.usefixtures("no_search")
def test_a_contradiction_at_once_is_not_searched_for():
    row = opened([[-1, -2], [2, 3], [-2, 3]], [1, 2], [3], 3)
    assert row.solve([1, 1]) == (Status.UNSAT, (), (), True)
    assert row.maximize([1, 1], [1.0, 1.0], [-1]) == (Status.UNSAT, (), (), True)


@pytest.mark.usefixtures("no_search")
def test_inputs_that_the_wanted_outputs_leave_open_are_kept_without_a_search():
    row = opened([[-1, 3], [1, -3]], [1, 2], [3], 3)  # the second input is free
    found = row.maximize([1, -1], [5.0, 1.0], [-1])
    assert found == (Status.SAT, [-1, -1], [-1], True)


@pytest.mark.usefixtures("no_search")
def test_facts_of_the_theory_need_no_question():
    row = opened([[1], [-1, 3], [-2, 4], [2, -4]], [1, 2, -1], [-3, 4], 4)
    assert row.solve([0, -1, 0]) == (Status.SAT, [1, -1, -1], [-1, -1], True)
    assert row.solve([-1, 1, 0]).status is Status.UNSAT


def test_what_leaves_a_variable_open_is_no_model_yet():
    # The output alone does not determine 3 and 4, of which exactly one must hold.
    row = opened([[1, 3], [3, 4], [-3, -4], [1, 4]], [1], [2], 4)
    assert row.solve([0]) == (Status.SAT, [1], [-1], True)
    assert row.solve([-1]).status is Status.UNSAT
    assert row.maximize([-1], [1.0], [1]) == (Status.SAT, [1], [1], True)


def test_all_inputs_decided_but_not_all_variables_takes_a_model():
    row = opened([[-1, 2], [1, -2], [3, 4], [-3, -4]], [1], [2], 4)
    assert row.maximize([1], [1.0], [-1]) == (Status.SAT, [-1], [-1], True)
    hard = [[2, x, y] for x in (3, -3) for y in (4, -4)]  # without 2 there is no model
    row = opened([[-1, 2], [1, -2], *hard], [1], [2], 4)
    assert row.maximize([1], [1.0], [-1]).status is Status.UNSAT


def test_a_column_that_no_clause_mentions_is_false_unless_it_is_set():
    row = opened([[1, 2]], [1, 3], [2, -3], 3)
    assert row.solve([-1, 0]) == (Status.SAT, [-1, -1], [1, 1], True)
    assert row.solve([-1, 1]) == (Status.SAT, [-1, 1], [1, -1], True)
    assert row.maximize([-1, 1], [1.0, 1.0], [-1, 1]) == (Status.SAT, [1, -1], [-1, 1], True)


def test_repairs_without_counters_use_up_no_variables():
    one_of_four = [[-x, -y] for x, y in itertools.combinations(range(1, 5), 2)]
    row = opened([*one_of_four, [5, 6]], [1, 2, 3, 4], [5], 6)
    for _ in range(5):
        assert row.maximize([1, 0, 0, 0], [1.0] * 4, [0]).inputs[0] == 1
    assert row._repairs == 0
    assert row.maximize([1, 1, 1, 1], [2.0, 1.0, 4.0, 3.0], [0]).inputs == [-1, -1, 1, -1]
    assert row._repairs == 1  # whatever counters it took


def literals_forced(clauses):
    """Unit propagation, literally."""
    true = set()
    while True:
        left = [
            [x for x in clause if -x not in true] for clause in clauses if not true & set(clause)
        ]
        new = {clause[0] for clause in left if len(clause) == 1}
        if not new:
            return true
        true |= new


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_facts_are_what_clauses_of_one_literal_force(seed):
    draw = random.Random(seed)
    variables = range(1, 9)
    model = {x: draw.choice([1, -1]) for x in variables}
    clauses = [
        [draw.choice([1, -1]) * x for x in draw.sample(variables, draw.choice([1, 2, 2, 3, 3]))]
        for _ in range(12)
    ]
    clauses = [c for c in clauses if any(model[abs(x)] * x > 0 for x in c)]  # it has a model
    assert facts(join(clauses), 8) == literals_forced(clauses)


def test_facts_of_no_clauses_are_none_and_a_chain_is_followed():
    assert facts(join([]), 3) == set()
    assert facts(join([[1, 2]]), 2) == set()
    chain = [[1], *([-x, x + 1] for x in range(1, 40))]
    assert facts(join(chain), 40) == set(range(1, 41))


def test_a_theory_that_contradicts_itself_is_unsat_in_every_way():
    for clauses in ([[1], [-1]], [[]], [[1, 2], [1, -2], [-1, 2], [-1, -2]]):
        row = opened(clauses, [1], [2], 2)
        for signs in itertools.product((-1, 0, 1), repeat=2):
            assert row.solve(signs[:1]).status is Status.UNSAT
            assert row.maximize(signs[:1], [1.0], signs[1:]).status is Status.UNSAT
