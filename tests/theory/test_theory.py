"""A theory has a formula, columns in order, and a digest that is equal for equal theories."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import cache
from operator import attrgetter

import pytest
import z3

from smtlayer import Theory, one_hot
from smtlayer.testing import THEORIES, random_theory
from smtlayer.theory.values import python_value


def xor(context=None):
    a, b, y = (z3.Bool(name, context) for name in "aby")
    return Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y])


@cache  # z3 refuses to declare a sort twice
def fruit():
    return z3.EnumSort("Fruit", ["apple", "pear", "plum"])


def truths(columns, symbol, value):
    """Which columns hold when the symbol has this value."""
    terms = [z3.simplify(z3.substitute(column, (symbol, value))) for column in columns]
    assert all(z3.is_true(term) or z3.is_false(term) for term in terms)
    return [z3.is_true(term) for term in terms]


def test_one_formula_and_a_list_of_it_are_the_same_theory():
    a, y = z3.Bools("a y")
    formula = y == z3.Not(a)
    assert Theory(formula, [a], [y]) == Theory([formula], [a], [y])
    assert Theory(formula, [a], [y]).constraints == (formula,)


def test_constraints_and_symbols_may_come_from_generators():
    symbols = z3.Bools("a b c")
    y = z3.Bool("y")
    formulas = [z3.Implies(x, y) for x in symbols]
    theory = Theory((f for f in formulas), inputs=(x for x in symbols), outputs=iter([y]))
    assert theory.constraints == tuple(formulas)
    assert theory.input_names == ("a", "b", "c")
    assert theory.output_names == ("y",)


def test_a_python_bool_is_a_constraint():
    a, y = z3.Bools("a y")
    assert Theory([y == a, True], [a], [y]).check().n_models == 2
    assert Theory([y == a, False], [a], [y]).check().satisfiable is False
    assert Theory(True, [one_hot(a, [True, False])], [one_hot(y, [True, False])]).n_inputs == 2


def test_a_python_bool_joins_formulas_of_another_context():
    theory = xor(z3.Context())
    again = Theory([*theory.constraints, True], theory.inputs, theory.outputs)
    assert again.check().n_models == 4


def test_what_z3_parsed_or_collected_is_a_sequence_of_constraints():
    a, y = z3.Bools("a y")
    goal = z3.Goal()
    goal.add(y == a)
    solver = z3.Solver()
    solver.add(y == a)
    for constraints in (goal, solver.assertions()):
        assert Theory(constraints, [a], [y]) == Theory(y == a, [a], [y])


def test_a_bit_vector_is_its_bits_most_significant_first():
    v, w = z3.BitVec("v", 3), z3.BitVec("w", 1)
    theory = Theory(w == z3.Extract(2, 2, v), inputs=[v], outputs=[w])
    assert theory.input_names == ("v[2]", "v[1]", "v[0]")
    assert theory.output_names == ("w[0]",)
    assert truths(theory.inputs, v, z3.BitVecVal(4, 3)) == [True, False, False]
    assert truths(theory.inputs, v, z3.BitVecVal(3, 3)) == [False, True, True]


def test_columns_stand_in_the_order_of_their_symbols():
    a, b, y = z3.Bools("a b y")
    v = z3.BitVec("v", 2)
    theory = Theory([y == z3.And(a, b), v == 1], inputs=[b, v, a], outputs=[y, v])
    assert theory.input_names == ("b", "v[1]", "v[0]", "a")
    assert theory.output_names == ("y", "v[1]", "v[0]")
    assert (theory.n_inputs, theory.n_outputs) == (4, 3)
    assert theory.inputs[0].eq(b)
    assert theory.inputs[3].eq(a)


ONE_HOT = {
    "int": lambda: (z3.Int("s"), [-1, 7, 0], ["s=-1", "s=7", "s=0"]),
    "bit-vector": lambda: (z3.BitVec("s", 4), [9, 2], ["s=9", "s=2"]),
    "real": lambda: (z3.Real("s"), [Fraction(1, 3), 0.1, 2], ["s=1/3", "s=1/10", "s=2"]),
    "string": lambda: (z3.String("s"), ["no", "", "é;("], ["s=no", "s=", "s=é;("]),
    "bool": lambda: (z3.Bool("s"), [False, True], ["s=False", "s=True"]),
    "names": lambda: (z3.Const("s", fruit()[0]), ["plum", "apple"], ["s=plum", "s=apple"]),
    "members": lambda: (z3.Const("s", fruit()[0]), fruit()[1][1:], ["s=pear", "s=plum"]),
    "z3 value": lambda: (z3.Int("s"), [z3.IntVal(3), z3.IntVal(1) + 1], ["s=3", "s=2"]),
}


@pytest.mark.parametrize("kind", ONE_HOT)
def test_a_one_hot_symbol_is_one_column_a_value_in_the_given_order(kind):
    symbol, values, names = ONE_HOT[kind]()
    y = z3.Bool("y")
    theory = Theory(y, inputs=[one_hot(symbol, values)], outputs=[y])
    assert theory.input_names == tuple(names)
    for i, column in enumerate(theory.inputs):
        value = next(side for side in column.children() if not side.eq(symbol))
        assert names[i] == f"s={python_value(value)}"
        assert truths(theory.inputs, symbol, value) == [j == i for j in range(len(values))]


@pytest.mark.parametrize("kind", ONE_HOT)
def test_a_one_hot_symbol_has_one_of_its_values_in_every_model(kind):
    symbol, values, _ = ONE_HOT[kind]()
    y = z3.Bool("y")
    theory = Theory(y, inputs=[one_hot(symbol, values)], outputs=[y])
    solver = z3.Solver()
    solver.add(*theory.formulas)
    exactly_one = z3.PbEq([(column, 1) for column in theory.inputs], 1)
    assert solver.check(exactly_one) == z3.sat
    assert solver.check(z3.Not(exactly_one)) == z3.unsat


def test_the_given_constraints_come_before_what_one_hot_adds():
    x, y = z3.Int("x"), z3.Bool("y")
    theory = Theory([y == (x > 1), x != 5], inputs=[one_hot(x, range(3))], outputs=[y])
    assert theory.formulas[:2] == theory.constraints
    assert len(theory.formulas) == 3


def test_a_symbol_may_be_input_and_output():
    cells = z3.BitVecs("p q", 2)
    theory = Theory(z3.Distinct(*cells), inputs=cells, outputs=cells)
    assert theory.input_names == theory.output_names == ("p[1]", "p[0]", "q[1]", "q[0]")
    report = theory.check()
    assert report.n_models == 12
    assert report.functional is True


def test_repr_names_constraints_and_symbols():
    a, b = z3.BitVecs("a b", 4)
    y = z3.Bool("y z")
    assert repr(Theory([y == (a > b), a != b], [a, b], [y])) == (
        "Theory(2 constraints, inputs=[a, b], outputs=[y z])"
    )
    assert repr(xor()) == "Theory(1 constraint, inputs=[a, b], outputs=[y])"


def mixed(context, earlier=()):
    """One theory, built after other terms that give z3's terms other identities."""
    kept = [make(context) for make in earlier]
    x, y = z3.Int("x", context), z3.Int("y", context)
    p, q = z3.Bool("p", context), z3.Bool("q", context)
    v, s = z3.BitVec("v", 4, context), z3.String("s", context)
    shared = z3.And(p, z3.Or(q, x > y), x * y > 3)
    theory = Theory(
        [
            p == (x == y),
            y + x == 7,
            shared == q,
            z3.Or(shared, s == "b"),
            z3.Distinct(x, y, 3),
            v != 2,
        ],
        inputs=[p, v, one_hot(x, [1, 7])],
        outputs=[q, one_hot(s, ["a", "b"])],
    )
    return theory, kept


UNRELATED = {
    "none": [],
    "other symbols": [lambda c, i=i: z3.Int(f"other{i}", c) + i for i in range(50)],
    "the same symbols in another order": [
        lambda c: z3.String("s", c),
        lambda c: z3.Bool("q", c) == z3.Bool("p", c),
        lambda c: z3.Int("y", c) == z3.Int("x", c),
        lambda c: z3.Int("y", c) + z3.Int("x", c) == 7,
        lambda c: z3.IntVal(3, c),
    ],
}


@pytest.mark.parametrize("earlier", UNRELATED)
def test_theories_built_alike_are_equal_whatever_was_built_before(earlier):
    plain, _ = mixed(z3.Context())
    other, _kept = mixed(z3.Context(), UNRELATED[earlier])
    assert other.digest == plain.digest
    assert other == plain
    assert hash(other) == hash(plain)
    assert len({other, plain}) == 1


def test_different_theories_differ():
    a, b, y = z3.Bools("a b y")
    x = z3.Int("x")
    rule = [y == z3.Xor(a, b), y == (x > 1)]
    hot = one_hot(x, [1, 2])
    theories = [
        Theory(rule, [a, b], [y]),
        Theory(rule, [b, a], [y]),
        Theory(rule, [y], [a, b]),
        Theory(rule, [a], [b, y]),
        Theory(rule, [a, b], [y, a]),
        Theory(rule, [a, b, y], [a]),
        Theory(rule[::-1], [a, b], [y]),
        Theory([*rule, a], [a, b], [y]),
        Theory(rule, [a, b], [hot]),
        Theory(rule, [hot], [a, b]),
        Theory(rule, [a, b], [one_hot(x, [2, 1])]),
        Theory(rule, [a, b], [one_hot(x, [1, 3])]),
        Theory(rule, [a, b], [one_hot(y, [True, False])]),
        Theory([*rule, x == 1, x == 2], [a, b], [y]),
    ]
    assert len({theory.digest for theory in theories}) == len(theories)
    assert theories[0] != theories[2]
    assert theories[0] != "a theory"


CASES = {**THEORIES, **{f"random{seed}": lambda s=seed: random_theory(s) for seed in range(5)}}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("name", CASES)
def test_a_copy_is_the_same_theory_in_a_new_context(name, copied):
    theory = CASES[name]()
    twin = copied(theory)
    assert twin == theory
    assert twin.digest == theory.digest
    assert twin.input_names == theory.input_names
    assert twin.output_names == theory.output_names
    assert len(twin.constraints) == len(theory.constraints)
    assert twin.to_smtlib() == theory.to_smtlib()
    assert twin.inputs[0].ctx != theory.inputs[0].ctx
    again = Theory(twin.constraints, twin.input_symbols, twin.output_symbols)
    assert again == theory  # the digest is that of the copy's own formulas too


def test_a_copy_keeps_repeated_and_constant_constraints_apart():
    a, y = z3.Bools("a y")
    theory = Theory([y == a, True, y == a, z3.And(a, y)], [a], [y])
    assert list(map(str, copy.deepcopy(theory).constraints)) == list(map(str, theory.constraints))


def test_a_theory_sent_to_a_spawned_process_has_the_same_digest_there():
    theories = [THEORIES["strings"](), THEORIES["colours"](), random_theory(3)]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        assert list(pool.map(attrgetter("digest"), theories)) == [t.digest for t in theories]
