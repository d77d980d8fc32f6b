"""The assertions of z3's solvers become theories."""

import itertools
import re

import pytest
import torch
import z3

from smtlayer import Enumerate, SMTLayer, Theory, TheoryError, one_hot


def names():
    return z3.Bools("a b y")


def tracked_solver():
    a, b, y = names()
    solver = z3.Solver()
    solver.assert_and_track(y == z3.Xor(a, b), "parity")
    solver.push()
    solver.assert_and_track(a, "given")
    solver.add(z3.Or(a, b))
    return solver


def test_tracked_assertions_keep_their_names():
    theory = Theory.from_z3(tracked_solver(), inputs=["a", "b"], outputs=["y"])
    assert theory.constraint_names == ("parity", "given", None)
    assert str(theory.constraints) == "(y == Xor(a, b), a, Or(a, b))"
    layer = SMTLayer(theory, inference="maxsmt").eval()
    assert layer(torch.tensor([[-1.0, -2.0]])).tolist() == [[1.0]]
    assert "given" in str(layer.explain(torch.tensor([[-1.0, -2.0]])))


def test_a_theory_is_that_of_its_formulas():
    a, b, y = names()
    rules = [y == z3.Xor(a, b), z3.Or(a, b)]
    solver, goal = z3.Solver(), z3.Goal()
    solver.add(*rules)
    goal.add(*rules)
    expected = Theory(rules, [a, b], [y])
    given = [solver, goal, solver.assertions(), rules, {"one": rules[0], "two": rules[1]}]
    for source in given:
        assert Theory.from_z3(source, [a, "b"], ["y"]) == expected
    assert Theory.from_z3(given[-1], [a, b], [y]).constraint_names == ("one", "two")
    assert Theory.from_z3(rules[0], [a, b], [y]) == Theory(rules[0], [a, b], [y])


def test_popped_assertions_are_gone():
    solver = tracked_solver()
    solver.pop()
    assert Theory.from_z3(solver, ["a"], ["y"]).constraint_names == ("parity",)


def test_implications_that_say_something_stay():
    a, b, y = names()
    solver = z3.Solver()
    solver.add(z3.Implies(a, b), z3.Implies(b, y), z3.Implies(z3.And(a, y), b))
    theory = Theory.from_z3(solver, ["a"], ["y"])  # b occurs several times, a is an input
    assert str(theory.constraints) == "(Implies(a, b), Implies(b, y), Implies(And(a, y), b))"
    assert theory.constraint_names == (None, None, None)
    alone = z3.Solver()
    alone.add(z3.Implies(a, y))
    assert str(Theory.from_z3(alone, [a], [y]).constraints) == "(Implies(a, y),)"
    assert str(Theory.from_z3(alone, [y], [y]).constraints) == "(y,)"  # as if tracked by a


def test_names_that_a_constraint_cannot_have_leave_the_assertion_as_it_is():
    a, b, y = names()
    solver = z3.Solver()
    solver.add(z3.Implies(z3.Bool("two\nlines"), y), a == b)
    theory = Theory.from_z3(solver, [a], [y])
    assert theory.constraint_names == (None, None)
    assert len(theory.constraints) == 2


def test_one_hot_symbols_and_bit_vectors_by_name():
    size, wide = z3.Int("size"), z3.BitVec("wide", 2)
    solver = z3.Solver()
    solver.add(z3.BV2Int(wide) == size)
    theory = Theory.from_z3(solver, [one_hot("size", range(3))], ["wide"])
    assert theory.input_names == ("size=0", "size=1", "size=2")
    found = Enumerate().compile(theory).solve(theory.encode(size=2)[None])
    assert theory.decode(found.outputs[0]) == {"wide": 2}
    free = z3.Bool("free")
    assert Theory.from_z3(solver, [*theory.input_symbols], [free]).unconstrained == ("free",)


def test_symbols_of_another_context_are_translated():
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    a, b, y = (z3.Bool(name, context) for name in ("a", "b", "y"))
    n = z3.Int("n", context)
    solver.add(y == z3.Xor(a, b), n > 1)
    theory = Theory.from_z3(solver, [*names()[:2]], [y, one_hot(z3.Int("n"), [1, 2])])
    rows = torch.tensor(list(itertools.product((-1, 1), repeat=2)), dtype=torch.int8)
    assert Enumerate().compile(theory).solve(rows).outputs[:, 0].tolist() == [-1, 1, 1, -1]
    assert {term.ctx for term in theory.inputs} == {context}


def test_the_solver_is_left_as_it_is():
    solver = tracked_solver()
    assert solver.check() == z3.sat
    before, model = solver.sexpr(), solver.model()
    Theory.from_z3(solver, ["a"], ["y"])
    assert solver.sexpr() == before
    assert str(solver.model()) == str(model)
    assert solver.num_scopes() == 1


OPTIMIZE = (
    "Theory.from_z3 expects a Solver, a Goal or formulas. Got an Optimize, whose objectives a "
    "theory cannot have. Pass optimize.assertions() for its hard constraints alone."
)


def test_what_cannot_be_a_theory_is_refused():
    a, _, y = names()
    optimize = z3.Optimize()
    optimize.add(y == a)
    with pytest.raises(TypeError, match=re.escape(OPTIMIZE)):
        Theory.from_z3(optimize, [a], [y])
    assert Theory.from_z3(optimize.assertions(), [a], [y]) == Theory(y == a, [a], [y])
    with pytest.raises(TheoryError, match=r"the Solver has no assertions. If you added some, it"):
        Theory.from_z3(z3.Solver(), [a], [y])
    with pytest.raises(TypeError, match=r"constraints must be a sequence of z3 terms. Got 3"):
        Theory.from_z3(3, [a], [y])
    with pytest.raises(
        TheoryError, match=r"no constant in the assertions is named 'c'. Constants: "
    ):
        Theory.from_z3([y == a], ["c"], [y])
    f = z3.Function("f", z3.BoolSort(), z3.BoolSort())
    with pytest.raises(TheoryError, match=r"is named 'f'. Constants: a."):
        Theory.from_z3([f(a)], ["f"], ["a"])
    with pytest.raises(TypeError, match="each input must be a z3 constant"):
        Theory.from_z3([y == a], [3], [y])
