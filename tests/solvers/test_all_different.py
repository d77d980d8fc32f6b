"""A variable for each value: which terms get them, and what propagation then finds out alone."""

import itertools

import pytest
import z3
from pysat.solvers import Minisat22

from smtlayer import TooLargeError
from smtlayer.solvers.clauses import all_different
from smtlayer.solvers.clauses.all_different import (
    DirectEncoding,
    all_different_groups,
    direct_clauses,
)
from smtlayer.solvers.clauses.cnf import Budget, join
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.theory import Theory
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

a, b = z3.Bools("a b")
x, y, z, w = z3.BitVecs("x y z w", 3)
EASY = """
53..7....
6..195...
.98....6.
8...6...3
4..8.3..1
7...2...6
.6....28.
...419..5
....8..79
"""
HINTS = {
    f"cell_{row}_{column}": int(digit)
    for row, line in enumerate(EASY.split())
    for column, digit in enumerate(line)
    if digit != "."
}


def pairs(terms):
    return [one != other for one, other in itertools.combinations(terms, 2)]


def names(groups):
    return {frozenset(map(str, group)) for group in groups}


def sudoku_by_pairs(box):
    """The rules of a Sudoku, one disequality per pair of cells that see each other."""
    size = box * box
    cell = {
        (r, c): z3.BitVec(f"cell_{r}_{c}", size.bit_length())
        for r, c in itertools.product(range(size), repeat=2)
    }

    def sees(one, other):
        boxes = [(r // box, c // box) for r, c in (one, other)]
        return one[0] == other[0] or one[1] == other[1] or boxes[0] == boxes[1]

    return [cell[p] != cell[q] for p, q in itertools.combinations(cell, 2) if sees(p, q)]


@pytest.mark.parametrize(("box", "count"), [(2, 12), (3, 27)])
def test_a_sudoku_by_pairs_has_the_groups_of_one_by_distinct(box, count):
    at_once, rest = all_different_groups(sudoku_theory(box).constraints)
    by_pairs, left = all_different_groups(sudoku_by_pairs(box))
    assert names(by_pairs) == names(at_once)
    assert (len(by_pairs), len(at_once), left) == (count, count, [])
    assert len(rest) == (box * box) ** 2  # the bounds of each cell


def test_formulas_that_say_something_else_are_left_as_they_are():
    v = z3.BitVec("v", 7)
    others = [
        a, z3.Or(x != y, a), x == y, z3.Not(z3.And(a, b)), a != b, x != 3, v != z3.ZeroExt(4, x),
        z3.Distinct(v, v + 1, v + 2), z3.Distinct(a, b), z3.Not(z3.Distinct(x, y, z)),
    ]  # fmt: skip
    groups, rest = all_different_groups(others)
    assert groups == []
    assert [f.get_id() for f in rest] == [f.get_id() for f in others]


def test_a_lone_pair_is_no_group_and_is_not_lost():
    groups, rest = all_different_groups([x != y, z3.Distinct(z, w), *pairs([x, z, w + 1])])
    assert names(groups) == {frozenset({"x", "z", "w + 1"})}
    assert {frozenset(map(str, _sides(f))) for f in rest} == {
        frozenset({"x", "y"}), frozenset({"z", "w"}),
    }  # fmt: skip


def _sides(formula):
    return (formula if z3.is_distinct(formula) else formula.arg(0)).children()


def test_groups_cover_every_pair_and_claim_no_other():
    unequal = [(x, y), (x, z), (y, z), (y, w), (z, w), (w, x + 1)]
    groups, rest = all_different_groups([one != other for one, other in unequal])
    claimed = {frozenset(p) for g in groups for p in itertools.combinations(map(str, g), 2)}
    claimed |= {frozenset(map(str, _sides(f))) for f in rest}
    assert claimed == {frozenset(map(str, pair)) for pair in unequal}
    assert sorted(map(len, groups)) == [3, 3]


def propagated(theory, hints, **options):
    """Which columns follow from the hints without any search."""
    cnf = to_cnf(theory, **options)
    signs = theory.encode(**hints).tolist()
    asked = [c * s for c, s in zip(cnf.columns, signs, strict=False) if s]
    with Minisat22(bootstrap_with=cnf.clauses) as solver:
        possible, found = solver.propagate(asked)
    assert possible
    known = set(found)
    return [1 if c in known else -1 if -c in known else 0 for c in cnf.columns[: theory.n_inputs]]


def test_an_easy_sudoku_is_solved_by_propagation_alone():
    theory = sudoku_theory()
    found = propagated(theory, HINTS)
    board = theory.decode_inputs(found)
    assert all(found)
    assert all(board[name] == digit for name, digit in HINTS.items())
    rows = [[board[f"cell_{r}_{c}"] for c in range(9)] for r in range(9)]
    assert all(sorted(line) == list(range(1, 10)) for line in [*rows, *zip(*rows, strict=True)])
    bit_by_bit = propagated(theory, HINTS, direct=False)
    assert 0 in bit_by_bit
    assert all(s in (0, t) for s, t in zip(bit_by_bit, found, strict=True))


def test_a_sudoku_by_pairs_is_solved_by_propagation_too():
    cells = {str(s): s for f in sudoku_by_pairs(3) for s in _sides(f)}
    bounds = [z3.And(z3.ULE(1, s), z3.ULE(s, 9)) for s in cells.values()]
    theory = Theory([*sudoku_by_pairs(3), *bounds], list(cells.values()), list(cells.values()))
    assert all(propagated(theory, HINTS))


def test_a_value_with_one_place_left_goes_there_if_all_values_are_needed():
    few = z3.BitVecs("f0 f1 f2 f3", 2)
    settled = Theory([z3.Distinct(few), *(s != 3 for s in few[:3])], few[:3], few[3:])
    open_ = Theory([z3.Distinct(x, y, z), x != 7, y != 7], [x, y], [z])
    for theory, possible in ((settled, False), (open_, True)):
        cnf = to_cnf(theory)
        with Minisat22(bootstrap_with=cnf.clauses) as solver:
            for column in cnf.columns[theory.n_inputs :]:
                assert solver.propagate([-column])[0] is possible
                assert solver.propagate([column])[0] is True


def made(groups):
    """The direct encoding of some groups, numbered from 1."""
    named = DirectEncoding.of(groups, "value")
    return named, named.numbered(range(1, len(named.literals) + 1))


def test_values_are_numbered_term_by_term_bits_before_values():
    named, numbered = made([(x, y, z), (y, z, w)])
    assert numbered.groups == ((0, 1, 2), (1, 2, 3))
    assert numbered.bits[1] == (12, 13, 14)
    assert numbered.values[1] == tuple(range(15, 23))
    assert len(named.definitions) == len(named.literals) == 44
    solver = z3.Solver()
    solver.add(*named.definitions, y == 6)
    assert solver.check() == z3.sat
    read = [z3.is_true(solver.model()[b]) for b in (*named.bits[1], *named.values[1])]
    assert read == [False, True, True, *(n == 6 for n in range(8))]


@pytest.mark.parametrize("at_once", [2, 20])
def test_at_most_one_of_a_group_has_a_value_however_it_is_counted(at_once, monkeypatch):
    monkeypatch.setattr(all_different, "_PAIRS", at_once)
    _, numbered = made([(x, y, z, w)])
    clauses = direct_clauses(join([]), numbered, Budget())
    fives = [v[5] for v in numbered.values]
    with Minisat22(bootstrap_with=clauses) as solver:
        for count in range(5):
            for chosen in itertools.combinations(fives, count):
                assert solver.solve(chosen) == (count <= 1)


def test_without_groups_nothing_is_added():
    assert direct_clauses(join([[1]]), DirectEncoding.of([], "value"), 0.0) == []


def test_values_that_take_too_many_clauses_are_too_large():
    _, numbered = made([(x, y, z), (y, z, w)])
    with pytest.raises(
        TooLargeError, match=r"^it takes at least \d+ clauses, more than max_clauses="
    ):
        direct_clauses(join([]), numbered, Budget(30))
