"""Rows with two inputs that cannot both hold are refused without a solver."""

from itertools import combinations_with_replacement

import pytest
import torch
import z3
from stages import Asks, solver_of

from helpers import Changed, seeds
from smtlayer import Enumerate, Sat, Status, Table, Theory, one_hot
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.host import clash_filter as module
from smtlayer.solvers.host.clash_filter import ClashFilter, clash_filter, clashes
from smtlayer.testing import random_theory
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


def different():
    """Two numbers that must differ from each other and a third; their sum is the output."""
    a, b, c, total = z3.Ints("a b c total")
    inputs = [one_hot(a, range(1, 4)), one_hot(b, range(1, 4))]
    rules = [total == a + b, z3.Distinct(a, b, c), c >= 1, c <= 3]
    return Theory(rules, inputs, [one_hot(total, range(2, 7))])


def counting(theory):
    """A solver with a clash filter, and the number of rows of each question that passes it."""
    asked = []

    def count(question, answer):
        asked.append(len(answer.status))
        return answer

    last = Asks(Changed(Table().compile(theory), count))
    return solver_of(theory, clash_filter(last, to_cnf(theory), theory)), asked


def pairs_of(theory):
    return {(one, other) for one, other in clashes(to_cnf(theory), theory).pairs.tolist()}


def impossible_pairs(theory, backend=None):
    """The pairs of readings that `Enumerate`, or another backend, finds no model for."""
    n = theory.n_inputs
    choices = combinations_with_replacement(range(2 * n), 2)
    pairs = [(one, other) for one, other in choices if other - one != n]
    rows = torch.zeros(len(pairs), n, dtype=torch.int8)
    for row, pair in zip(rows, pairs, strict=True):
        for reading in pair:
            row[reading % n] = 1 if reading < n else -1
    status = (backend or Enumerate()).compile(theory).solve(rows).status.tolist()
    return {pair for pair, found in zip(pairs, status, strict=True) if found == Status.UNSAT}


def test_readings_that_no_model_has_together_clash():
    theory = different()
    found = pairs_of(theory)
    assert {(0, 1), (0, 2), (1, 2), (0, 3), (1, 4), (2, 5)} <= found  # two values, or the same one
    assert found <= impossible_pairs(theory)


def test_a_digit_twice_in_a_row_a_column_or_a_box_clashes():
    theory = sudoku_theory(2, "digits")
    found = pairs_of(theory)
    assert {(0, 4), (0, 16), (0, 20)} <= found
    assert {(0, 1), (2, 3)} <= found  # two digits in a cell
    assert (0, 40) not in found
    assert found <= impossible_pairs(theory, Table())


@pytest.mark.parametrize("seed", seeds(14, 40))
def test_the_answers_are_the_references(seed):
    theory = random_theory(seed)
    assert pairs_of(theory) <= impossible_pairs(theory)
    solver, reference = Sat(remember=0).compile(theory), Enumerate().compile(theory)
    draw = torch.Generator().manual_seed(seed)
    inputs = (torch.randint(0, 3, (60, theory.n_inputs), generator=draw) - 1).to(torch.int8)
    found, expected = solver.solve(inputs), reference.solve(inputs)
    assert torch.equal(found.status, expected.status)
    assert torch.equal(found.cost, expected.cost)


def test_only_rows_without_a_clash_are_asked_about():
    theory = different()
    solver, asked = counting(theory)
    assert isinstance(solver._first, ClashFilter)
    inputs = theory.encode(a=[1, 2, 3, 3], b=[2, 2, 3, 1])
    found, plain = solver.solve(inputs), Table().compile(theory).solve(inputs)
    assert asked == [2]
    for name in ("status", "inputs", "outputs", "cost", "proved"):
        assert torch.equal(getattr(found, name), getattr(plain, name))
        assert getattr(found, name).dtype == getattr(plain, name).dtype
    assert found.status.tolist() == [Status.SAT, Status.UNSAT, Status.UNSAT, Status.SAT]
    assert solver.solve(inputs[1:3]).status.tolist() == [Status.UNSAT] * 2
    assert asked == [2]
    assert solver.solve(inputs[:0]).status.tolist() == []


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 64, 65])
def test_a_clash_is_seen_in_whichever_row_it_is(rows):
    theory = different()
    solver, _ = counting(theory)
    for place in range(rows):
        numbers = [2 if row == place else 1 for row in range(rows)]
        found = solver.solve(theory.encode(a=numbers, b=2))
        assert found.status.tolist() == [int(row != place) for row in range(rows)]


def test_values_that_cannot_be_clash_with_themselves():
    a, b = z3.Ints("a b")
    theory = Theory([a > 1, b == a], [one_hot(a, range(1, 4))], [one_hot(b, range(1, 4))])
    assert (0, 0) in pairs_of(theory)
    solver, asked = counting(theory)
    assert solver.solve(theory.encode(a=[1])).status.tolist() == [Status.UNSAT]
    assert asked == []


def test_inputs_that_cannot_both_be_false_clash():
    a, b, c, y = z3.Bools("a b c y")
    theory = Theory([z3.Or(a, b), z3.Implies(c, a), y == a], [a, b, c], [y])
    assert pairs_of(theory) == {(3, 4), (2, 3)} == impossible_pairs(theory)
    solver, asked = counting(theory)
    rows = torch.tensor([[-1, -1, 0], [-1, 0, 1], [-1, 1, -1]], dtype=torch.int8)
    assert solver.solve(rows).status.tolist() == [Status.UNSAT, Status.UNSAT, Status.SAT]
    assert asked == [1]


def test_sat_looks_for_clashes_before_it_asks():
    assert isinstance(Sat(remember=0).compile(different())._first, ClashFilter)


def test_a_theory_without_clashes_or_with_too_many_is_left_to_its_solver(monkeypatch):
    a, b, y = z3.Bools("a b y")
    xor = Theory(y == z3.Xor(a, b), [a, b], [y])
    solver, _ = counting(xor)
    assert isinstance(solver._first, Asks)
    theory = sudoku_theory(2)  # read by bits
    count = len(pairs_of(theory))
    assert count > 0
    monkeypatch.setattr(module, "_MOST", count - 1)
    assert pairs_of(theory) == set()
    solver, _ = counting(theory)
    assert isinstance(solver._first, Asks)


def test_looking_for_clashes_ends_in_time_with_what_it_has(monkeypatch):
    theory = different()
    every = pairs_of(theory)
    monkeypatch.setattr(module, "_EFFORT", 0)
    some = pairs_of(theory)
    assert set() < some < every


def test_a_symbol_without_any_of_its_values_is_refused():
    theory = different()
    solver, asked = counting(theory)
    nothing = torch.full((1, 6), -1, dtype=torch.int8)
    for columns in (slice(0, 3), slice(3, 6), slice(0, 6)):
        inputs = torch.zeros(1, 6, dtype=torch.int8)
        inputs[:, columns] = nothing[:, columns]
        assert solver.solve(inputs).status.tolist() == [Status.UNSAT]
    assert asked == []
    inputs[0, 2], inputs[0, 5] = 0, 0  # now there is a value left for each, the same
    assert solver.solve(inputs).status.tolist() == [Status.UNSAT]
    assert asked == [1]


def test_repairs_and_cores_are_left_to_the_solver_behind():
    theory = different()
    solver, asked = counting(theory)
    inputs, weights = theory.encode(a=[2], b=[2]), torch.ones(1, 6, dtype=torch.float64)
    reference = Enumerate().compile(theory)
    wanted = theory.encode_outputs(total=[4])
    assert solver.maximize(inputs, weights).cost.item() == 2.0
    assert torch.equal(
        solver.core(inputs, weights, wanted).inputs, reference.core(inputs, weights, wanted).inputs
    )
    assert asked == [1, 1]
