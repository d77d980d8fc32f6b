"""Minimal conflicts: of a theory by itself, with inputs, with wanted outputs."""

import random
import time

import pytest
import z3

from smtlayer import Status, Theory, one_hot
from smtlayer.solvers.search.constraint_core import ConstraintCore, ConstraintCores
from smtlayer.solvers.search.oracle import Answer
from smtlayer.testing.theories import THEORIES

a, b, c, y = z3.Bools("a b c y")


def consistent(formulas) -> bool:
    solver = z3.Solver()
    solver.add(*formulas)
    return solver.check() == z3.sat


def check_clash(theory: Theory, clash: ConstraintCore, inputs, outputs) -> None:
    """The set contradicts the inputs, and nothing in it can be left out."""
    facts = [x if s > 0 else z3.Not(x) for x, s in zip(theory.inputs, inputs, strict=True) if s]
    members = [theory.formulas[i] for i in clash.formulas]
    members += [
        theory.outputs[i] if outputs[i] > 0 else z3.Not(theory.outputs[i]) for i in clash.outputs
    ]
    assert not consistent([*facts, *members])
    for i in range(len(members)):
        assert consistent([*facts, *members[:i], *members[i + 1 :]])


def random_clauses(seed: int) -> Theory:
    draw = random.Random(seed)
    symbols = [z3.Bool(f"x{i}") for i in range(8)]
    clauses = [
        z3.Or([draw.choice([s, z3.Not(s)]) for s in draw.sample(symbols, 3)]) for _ in range(26)
    ]
    return Theory(clauses, symbols[:4], symbols[4:])


@pytest.mark.parametrize("by_bits", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_conflicts_with_inputs_and_outputs_are_minimal(seed, by_bits):
    theory = random_clauses(seed)
    conflicts = ConstraintCores(theory, by_bits=by_bits)
    draw = random.Random(seed)
    found = 0
    for _ in range(12):
        inputs, outputs = ([draw.choice([-1, 0, 1]) for _ in range(4)] for _ in range(2))
        clash = conflicts.find(inputs, outputs)
        facts = [x if s > 0 else z3.Not(x) for x, s in zip(theory.inputs, inputs, strict=True) if s]
        facts += [
            x if s > 0 else z3.Not(x) for x, s in zip(theory.outputs, outputs, strict=True) if s
        ]
        assert (clash.status is Status.SAT) == consistent([*theory.formulas, *facts])
        if clash.status is Status.UNSAT:
            found += 1
            assert clash.minimal
            check_clash(theory, clash, inputs, outputs)
    assert found


@pytest.mark.parametrize("name", THEORIES)
def test_theories_of_every_kind_are_asked(name):
    theory = THEORIES[name]()
    conflicts = ConstraintCores(theory)
    assert conflicts.find().status is Status.SAT
    for signs in ([1] * theory.n_outputs, [-1] * theory.n_outputs):
        for inputs in ([1] * theory.n_inputs, [-1] * theory.n_inputs):
            clash = conflicts.find(inputs, signs)
            if clash.status is Status.UNSAT:
                check_clash(theory, clash, inputs, signs)


def test_wanted_outputs_that_exclude_the_inputs_need_no_constraint():
    clash = ConstraintCores(Theory([z3.Or(a, b), y == c], [a, b, c], [a, y])).find(
        [-1, 1, 1], [1, 0]
    )
    assert clash == ConstraintCore(Status.UNSAT, (), (0,), True)


def test_inputs_that_exclude_each_other_need_nothing_else():
    n = z3.Int("n")
    clash = ConstraintCores(Theory(n > 0, [one_hot(n, [1, 2])], [one_hot(n, [1, 2])])).find([1, 1])
    assert clash == ConstraintCore(Status.UNSAT, (), (), True)


def test_what_one_hot_adds_stays_before_other_constraints():
    n = z3.Int("n")
    theory = Theory([n < 9, n > 0, n < 3], [one_hot(n, [1, 2])], [one_hot(n, [1, 2])])
    clash = ConstraintCores(theory).find([-1, -1])
    assert clash.formulas in ((3,), (4,))


def test_constraints_that_contradict_themselves_are_found_one_at_a_time():
    theory = Theory([y == a, False, z3.And(b, z3.Not(b))], [a, b], [y])
    for by_bits in (True, False):
        clash = ConstraintCores(theory, by_bits=by_bits).find()
        assert clash.formulas in ((1,), (2,))
        assert clash.minimal


def test_a_users_symbols_may_have_the_names_of_selectors():
    selectors, columns = z3.Bools("selector_0 selector_1"), z3.Bools("column_0 column_1")
    theory = Theory(
        [z3.Xor(*columns), z3.Not(selectors[0]), selectors[1] == columns[0]],
        [columns[1], columns[0]],
        selectors,
    )
    for by_bits in (True, False):
        conflicts = ConstraintCores(theory, by_bits=by_bits)
        assert conflicts.find([1, -1], [-1, -1]).status is Status.SAT
        assert conflicts.find([1, 1], [-1, 1]).formulas == (0,)
        assert conflicts.find([1, 0], [1, 0]).formulas == (1,)


class _Forgetful:
    """An oracle that answers the first questions, then gives up, once or for good."""

    def __init__(self, answers):
        self.answers = answers
        self.deadline = 0.0
        self.asked = []

    def check(self, literals):
        self.asked.append(list(literals))
        return self.answers(len(self.asked), literals)


def test_what_could_not_be_asked_in_time_stays_and_is_not_called_minimal(monkeypatch):
    conflicts = ConstraintCores(Theory([y == a, y != a, z3.Or(a, b)], [a, b], [y]))
    oracle = _Forgetful(
        lambda n, xs: Answer(Status.UNSAT, core=xs) if n == 1 else Answer(Status.UNKNOWN)
    )
    monkeypatch.setattr(conflicts, "_oracle", oracle)
    clash = conflicts.find(timeout_s=0.3)
    assert clash.status is Status.UNSAT
    assert clash.formulas == (0, 1, 2)
    assert clash.minimal is False


def test_what_stayed_open_is_asked_again_while_there_is_time(monkeypatch):
    conflicts = ConstraintCores(Theory([y == a, y != a, z3.Or(a, b)], [a, b], [y]))
    real, given_up = conflicts._oracle, []

    def answers(n, literals):
        real.deadline = time.monotonic() + 10
        if n == 2:
            given_up.append(True)
            return Answer(Status.UNKNOWN)
        return Answer(Status.UNSAT, core=literals) if n == 1 else real.check(literals)

    monkeypatch.setattr(conflicts, "_oracle", _Forgetful(answers))
    clash = conflicts.find(timeout_s=10)
    assert given_up
    assert (clash.formulas, clash.minimal) == ((0, 1), True)


@pytest.mark.parametrize("by_bits", [True, False])
def test_without_time_the_answer_is_unknown(by_bits):
    x, factor = z3.BitVecs("x factor", 40)
    prime = 2**40 - 87  # has no factors, and to know it takes longer
    product = z3.ZeroExt(40, x) * z3.ZeroExt(40, factor) == prime
    theory = Theory([product, z3.ULT(1, x), z3.ULT(x, factor)], [x], [factor])
    conflicts = ConstraintCores(theory, by_bits=by_bits)
    assert conflicts.find(timeout_s=0.2).status is Status.UNKNOWN
