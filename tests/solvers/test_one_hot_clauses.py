"""One-hot symbols that are only compared with values need no bits, whatever their sort."""

import pytest
import z3
from listers import by_clauses, by_z3

from smtlayer import Auto, Circuit, NotFiniteError, Theory, one_hot
from smtlayer.solvers.clauses.one_hot import find_comparisons
from smtlayer.solvers.clauses.translation import to_cnf

s, t = z3.Strings("s t")
x, value0 = z3.Real("x"), z3.Bool("value0!0")
number, other = z3.Ints("number other")
bits = z3.BitVec("bits", 3)
S, T = one_hot(s, ["red", "green", "blue"]), one_hot(t, ["red", "green"])

FINITE = {
    "strings": lambda: Theory(z3.Implies(s == "red", t == "green"), [S], [T]),
    "a disequation": lambda: Theory(z3.Or(s != "red", t != "red"), [S], [T]),
    "an equation at the top": lambda: Theory([s == "blue", t != "red"], [S], [T]),
    "the value on the left": lambda: Theory(z3.StringVal("red") == s, [S], [T]),
    "values that are not listed": lambda: Theory(z3.Or(s == "grey", t != "grey"), [S], [T]),
    "only values that are not listed": lambda: Theory(s == "grey", [S], [T]),
    "no constraint": lambda: Theory(True, [S], [S, T]),
    "two lists of values": lambda: Theory(s != "blue", [S], [one_hot(s, ["blue", "green", "x"])]),
    "a real number": lambda: Theory((x == 0.5) == (s == "red"), [S], [one_hot(x, [0.5, 1, 2])]),
    "a Boolean as one-hot": lambda: Theory(
        (value0 == True) == (s == "red"), [S], [one_hot(value0, [False, True])]),  # noqa: E712
    "a Boolean of a taken name": lambda: Theory(value0 != (s == "red"), [S], [value0]),
    "an asserted one-hot Boolean": lambda: Theory(value0, [S], [one_hot(value0, [False, True])]),
    "with bits": lambda: Theory(z3.Implies(s == "red", z3.UGT(bits, 4)), [S], [bits]),
    "with bits, other forms": lambda: Theory(
        z3.If(z3.And(s != "red", z3.StringVal("blue") != s, s != "grey"), bits + 1, bits) == 3,
        [S], [bits]),
    "with bits, not listed": lambda: Theory(z3.If(s == "grey", bits + 1, bits) == 3, [S], [bits]),
    "with bits, negative": lambda: Theory(
        z3.Implies(number == -1, bits == 1), [one_hot(number, [-1, 0, 2])], [bits]),
    "with bits, negative and not listed": lambda: Theory(
        z3.If(z3.Or(number == -3, number != -1), bits + 1, bits) == 3,
        [one_hot(number, [-1, 0])], [bits]),
    "with bits, fractions": lambda: Theory(
        [z3.Implies(x == z3.Q(1, 2), bits == 1), z3.Or(x != z3.Q(-3, 4), bits == 6)],
        [one_hot(x, [z3.Q(1, 2), z3.Q(-3, 4), 1])], [bits]),
    "with integers": lambda: Theory(
        [number + other == 4, (s == "red") == (number == 1)],
        [S, one_hot(number, range(4))], [one_hot(other, range(4))]),
    "more values than pairs": lambda: Theory(number > 2, [one_hot(number, range(30))], [T]),
    "many values": lambda: Theory(
        z3.Or(s == "v7", s == "v22"), [one_hot(s, [f"v{k}" for k in range(30)])], [T]),
}  # fmt: skip


@pytest.mark.parametrize("name", FINITE)
def test_the_clauses_have_the_models_of_the_theory(name):
    theory = FINITE[name]()
    assert by_clauses(to_cnf(theory)) == by_z3(theory)


@pytest.mark.parametrize("name", FINITE)
def test_no_such_theory_needs_z3(name):
    choice = Auto(max_models=1, max_work=1).choose(FINITE[name]())
    assert isinstance(choice.backend, Circuit) or name == "only values that are not listed"


def test_symbols_with_other_uses_keep_their_bits():
    sums = Theory(number + other == 3, [one_hot(number, range(4))], [one_hot(other, range(4))])
    assert find_comparisons(sums).columns == [None, None]
    flag = Theory(z3.Or(value0, s == "red"), [S], [one_hot(value0, [False, True])])
    assert [names is None for names in find_comparisons(flag).columns] == [False, True]


@pytest.mark.parametrize("formula", [s == t, z3.Length(s) == 3, z3.PrefixOf(s, t)], ids=str)
def test_other_formulas_over_strings_are_not_finite(formula):
    with pytest.raises(NotFiniteError, match="does not come down to bits"):
        to_cnf(Theory(formula, [S], [T]))
