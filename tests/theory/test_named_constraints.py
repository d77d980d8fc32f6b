"""Constraints have names: given, kept, written and read."""

import copy
import pickle

import pytest
import z3

from smtlayer import SMTLayer, Theory, TheoryError, UnsatisfiableTheoryError, one_hot

a, b, y = z3.Bools("a b y")
RULES = {"either": y == z3.Or(a, b), "not both": z3.Not(z3.And(a, b))}


def named(rules=RULES) -> Theory:
    return Theory(rules, inputs=[a, b], outputs=[y])


def test_names_are_kept_in_the_order_of_the_constraints():
    theory = named()
    assert theory.constraint_names == ("either", "not both")
    assert [c.eq(rule) for c, rule in zip(theory.constraints, RULES.values(), strict=True)] == [
        True,
        True,
    ]


def test_constraints_without_names_have_none():
    assert named(list(RULES.values())).constraint_names == (None, None)
    assert Theory(y == a, [a], [y]).constraint_names == (None,)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_names_survive_copies(again):
    assert again(named()).constraint_names == ("either", "not both")
    assert again(named(list(RULES.values()))).constraint_names == (None, None)


def test_names_are_no_part_of_equality():
    plain = named(list(RULES.values()))
    assert named() == plain
    assert named().digest == plain.digest
    assert hash(named()) == hash(plain)


@pytest.mark.parametrize("name", ["", "  ", "a|b", "a\\b", "two\nlines", "\x1b[31m"])
def test_a_name_that_cannot_be_written_is_refused(name):
    with pytest.raises(TheoryError, match=r"cannot name constraint 1\. Choose a name on one line"):
        named({"either": RULES["either"], name: RULES["not both"]})


def test_a_name_must_be_a_string():
    with pytest.raises(TypeError, match="the name of constraint 0 must be a string"):
        named({3: RULES["either"]})


def test_a_named_constraint_must_be_a_formula():
    with pytest.raises(TypeError, match="constraint 1 must be a formula"):
        named({"either": RULES["either"], "other": 3})


# Some are symbols of the theory, words of SMT-LIB 2, or begin as names do that avoid those.
ODD = ["a", "y", "and", "true", "assert", "let", "Bool", "constraint a", "constraint constraint x",
       "row 3: digits differ", "a < b & c", "ü €", "k!0", ":named", "!", '"', ";", "constraint",
       "constraint row", "'", "0", "("]  # fmt: skip


def test_every_name_comes_back_from_smtlib():
    rules = {name: z3.Or(y == z3.Or(a, b), *[a] * (i % 2)) for i, name in enumerate(ODD)}
    theory = named(rules)
    back = Theory.from_smtlib(theory.to_smtlib(), ["a", "b"], ["y"])
    assert back.constraint_names == tuple(ODD)
    assert back == theory


@pytest.mark.parametrize("name", ODD)
def test_each_name_comes_back_from_smtlib(name):
    text = named({name: RULES["either"]}).to_smtlib()
    assert Theory.from_smtlib(text, ["a", "b"], ["y"]).constraint_names == (name,)


def test_names_are_written_plainly_where_nothing_else_has_them():
    text = named().to_smtlib()
    assert ":named |either|" in text
    assert ":named |not both|" in text
    assert ":named" not in named(list(RULES.values())).to_smtlib()


def test_what_one_hot_adds_is_written_without_a_name():
    n = z3.Int("n")
    theory = Theory({"positive": n > 0}, [one_hot(n, [1, 2])], [one_hot(n, [1, 2])])
    assert theory.to_smtlib().count(":named") == 1
    back = Theory.from_smtlib(theory.to_smtlib(), [one_hot("n", [1, 2])], [one_hot("n", [1, 2])])
    assert back.constraint_names[0] == "positive"
    assert set(back.constraint_names[1:]) == {None}


def test_names_of_a_script_are_read():
    theory = Theory.from_smtlib(
        """
        (set-option :produce-unsat-cores true)
        (declare-const a Bool) (declare-const b Bool) (declare-const y Bool)
        (define-fun both () Bool (! (and a b) :named inner))
        (assert (! (= y (or (! a :named part) b)) ; :named comment
                :named |first rule|))
        (assert (or a b y))
        (assert (! (=> part y) :named second))
        (assert (not (! false :named lie)))
        """,
        ["a", "b"],
        ["y"],
    )
    assert theory.constraint_names == ("first rule", None, "second", None)
    assert len(theory.constraints) == 4


def test_a_name_of_several_lines_is_read_as_one():
    text = "(declare-const a Bool)(assert (! a :named |two\n  lines|))(assert (! (or a) :named ||))"
    assert Theory.from_smtlib(text, ["a"], ["a"]).constraint_names == ("two lines", None)


def test_a_theory_without_models_says_which_named_constraints_conflict():
    rules = {"yes": a, "either": y == z3.Or(a, b), "no": z3.Not(a)}
    with pytest.raises(
        UnsatisfiableTheoryError,
        match="Constraints 0 'yes' and 2 'no' already contradict each other",
    ):
        SMTLayer(named(rules))
    report = named(rules).check()
    assert [(part.index, part.name) for part in report.conflict] == [(0, "yes"), (2, "no")]
    assert "constraint 0 'yes': a" in str(report)
    with pytest.raises(UnsatisfiableTheoryError, match="Constraint 0 'never' already contradicts"):
        SMTLayer(named({"never": z3.And(a, z3.Not(a), b == y)}))
