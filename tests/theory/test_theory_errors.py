"""Error messages about theories and values name what was expected and what was given."""

import copy
import re

import numpy as np
import pytest
import torch
import z3

from smtlayer import SMTLayer, SMTLayerError, Theory, TheoryError, one_hot
from smtlayer.theory import smtlib

a, b, y = z3.Bools("a b y")
x, v, s, r = z3.Int("x"), z3.BitVec("v", 4), z3.String("s"), z3.Real("r")
SCRIPT = "(declare-const a Bool)\n(declare-const |b c| Bool)\n(assert (= a |b c|))\n"


def plain():
    return Theory([y == z3.Xor(a, b), v != 3], inputs=[a, b, v, one_hot(x, [1, 2])], outputs=[y])


def assert_refused(error, text):
    """Expects an error with this text in its message."""
    return pytest.raises(error, match=re.escape(text))


def test_a_theory_error_is_a_value_error_and_one_of_ours():
    assert issubclass(TheoryError, ValueError)
    assert issubclass(TheoryError, SMTLayerError)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [y == a, v],
            "constraint 1 must be a formula, a z3 term of sort Bool. Got v of type BitVec",
        ),
        ([None], "constraint 0 must be a formula, a z3 term of sort Bool. Got None of type None"),
        ("a", "constraint 0 must be a formula, a z3 term of sort Bool. Got 'a' of type str."),
        ([[y]], "constraint 0 must be a formula, a z3 term of sort Bool. Got [y] of type list."),
        (v, "constraint 0 must be a formula, a z3 term of sort Bool. Got v of type BitVecRef."),
        (5, "constraints must be a sequence of z3 terms. Got 5 of type int."),
        (None, "constraints must be a sequence of z3 terms. Got None of type NoneType."),
    ],
)
def test_what_is_not_a_formula_is_no_constraint(constraints, message):
    with assert_refused(TypeError, f"Theory: {message}"):
        Theory(constraints, inputs=[a], outputs=[y])


NOT_SYMBOLS = (5, "a", None, z3.And(a, b), z3.BoolVal(True), v + 1, one_hot(5, [1, 2]),
               z3.Function("f", z3.IntSort(), z3.BoolSort()))  # fmt: skip


@pytest.mark.parametrize("wrong", NOT_SYMBOLS)
@pytest.mark.parametrize("role", ["input", "output"])
def test_what_is_not_a_symbol_is_no_input_or_output(wrong, role):
    symbols = {"inputs": [a], "outputs": [y], f"{role}s": [wrong]}
    with assert_refused(
        TypeError, f"Theory: each {role} must be a z3 constant such as z3.Bool('a') or"
    ):
        Theory(y == a, **symbols)


@pytest.mark.parametrize(("symbol", "sort"), [(x, "Int"), (r, "Real"), (s, "String")])
def test_a_symbol_of_a_sort_without_columns_must_be_wrapped(symbol, sort):
    message = f"input '{symbol}' has sort {sort}, which has no columns by itself. Wrap it: one_hot("
    with assert_refused(TypeError, f"Theory: {message}{symbol}, [...the values it may have...])."):
        Theory(symbol == symbol, inputs=[symbol], outputs=[y])


@pytest.mark.parametrize("symbols", [a, "a", one_hot(x, [1, 2])])
def test_one_symbol_is_not_a_sequence(symbols):
    with assert_refused(
        TypeError, f"Theory: inputs must be a sequence, such as [{symbols!r}]. Got one"
    ):
        Theory(y == a, inputs=symbols, outputs=[y])
    with assert_refused(
        TypeError, f"Theory: outputs must be a sequence, such as [{symbols!r}]. Got one"
    ):
        Theory(y == a, inputs=[a], outputs=symbols)
    with assert_refused(
        TypeError, "Theory: outputs must be a sequence of z3 terms. Got 5 of type int."
    ):
        Theory(y == a, inputs=[a], outputs=5)


@pytest.mark.parametrize("role", ["inputs", "outputs"])
def test_symbols_must_be_in_an_order(role):
    message = f"Theory: {role} must be in the order of their columns. Got a set. Pass a list."
    with assert_refused(TypeError, message):
        Theory(y == a, **{"inputs": [a], "outputs": [y], role: {a, y}})


@pytest.mark.parametrize("role", ["inputs", "outputs"])
def test_a_theory_needs_inputs_and_outputs(role):
    with assert_refused(
        TheoryError, f"Theory needs at least one symbol among its {role}. Got none."
    ):
        Theory(y == a, **{"inputs": [a], "outputs": [y], role: []})


@pytest.mark.parametrize("role", ["inputs", "outputs"])
def test_a_symbol_given_twice_is_refused(role):
    message = f"Theory has 'a' among its {role} more than once. Give each position its own symbol,"
    with assert_refused(TheoryError, message):
        Theory(y == a, **{"inputs": [a], "outputs": [y], role: [a, y, a]})


def test_a_name_with_two_meanings_is_refused():
    number, function = z3.Int("a"), z3.Function("a", z3.IntSort(), z3.BoolSort())
    two = "Theory: the name 'a' belongs to two different symbols, "
    with assert_refused(TheoryError, two):
        Theory([y == a, number > 0], inputs=[a], outputs=[y])
    with assert_refused(
        TheoryError, two + "a constant of sort Bool and a constant of sort Int. Rename"
    ):
        Theory([y == (number > 0)], inputs=[a], outputs=[y])
    with assert_refused(TheoryError, "a function of Int with values of sort Bool"):
        Theory([y == function(3), y == a], inputs=[y], outputs=[a])


@pytest.mark.parametrize("name", ["a|b", "a\\b", ""])
def test_a_name_that_smtlib_cannot_write_is_refused(name):
    odd = z3.Bool(name)
    with assert_refused(
        TheoryError,
        f"Theory: the name {odd.decl().name()!r} cannot be written in SMT-LIB 2. Choose",
    ):
        Theory(y == odd, inputs=[odd], outputs=[y])


def test_a_name_that_z3_gives_to_shared_terms_is_refused():
    for odd in (z3.Bool("a!1"), z3.Bool("a!27")):
        formula = z3.ForAll([odd], z3.Or(odd, y))
        for constraints, inputs in ((y == odd, [odd]), ([y == a, formula], [a])):
            with assert_refused(
                TheoryError, f"the name '{odd}' is one that z3 uses when it writes"
            ):
                Theory(constraints, inputs=inputs, outputs=[y])
    other = z3.Bool("a!x")
    assert Theory(y == other, inputs=[other], outputs=[y]).input_names == ("a!x",)


@pytest.mark.parametrize("name", ["true", "and", "_"])
def test_a_name_that_cannot_be_read_back_is_refused(name):
    odd = z3.Bool(name)
    try:
        theory = Theory(y == odd, inputs=[odd], outputs=[y])
    except TheoryError as error:
        assert "z3 cannot read this formula back" in str(error)  # noqa: PT017 (by z3's version)
        assert "Rename the symbol" in str(error)  # noqa: PT017
    else:  # some versions of z3 quote it; then copies must mean the same
        copied = copy.deepcopy(theory)
        assert name in str(copied.constraints[0])
        assert SMTLayer(copied)(torch.tensor([[1.0], [-1.0]])).tolist() == [[1.0], [-1.0]]


def test_a_formula_whose_text_loses_a_symbol_is_refused(monkeypatch):
    write = smtlib.write
    monkeypatch.setattr(smtlib, "write", lambda formulas: write([z3.Bool("other")]))
    with pytest.raises(TheoryError, match=r"Its text loses 'a'. Rename the symbol"):
        Theory(y == a, inputs=[a], outputs=[y])


def test_terms_of_two_contexts_do_not_make_a_theory():
    elsewhere = a.translate(z3.Context())
    message = "the constraints, inputs and outputs must belong to one z3 context. Got several."
    for constraints, inputs in ((y == a, [elsewhere]), ([y == a, elsewhere], [a])):
        with assert_refused(TheoryError, message):
            Theory(constraints, inputs=inputs, outputs=[y])


@pytest.mark.parametrize(
    ("symbol", "values", "message"),
    [
        (x, [1], "one_hot: symbol 'x' needs at least two values. Got 1. Fix a symbol to one"),
        (x, [], "one_hot: symbol 'x' needs at least two values. Got 0."),
        (x, [1, 2, z3.IntVal(1)], "one_hot: symbol 'x' has the value 1 more than once. Give each"),
        (s, ["a", "b", "b"], "one_hot: symbol 's' has the value 'b' more than once."),
        (x, [1, 2.5], "one_hot: 2.5 is not a value of 'x', whose sort is Int. Give values of that"),
        (x, ["one", "two"], "one_hot: 'one' is not a value of 'x', whose sort is Int."),
        (x, [None, 1], "one_hot: None is not a value of 'x', whose sort is Int."),
        (x, [1, z3.Int("n")], "one_hot: n is not a value of 'x', whose sort is Int."),
        (x, [1, x + 1], "one_hot: x + 1 is not a value of 'x', whose sort is Int."),
        (v, [1, 16], "one_hot: 16 is not a value of 'v', whose sort is BitVec(4)."),
        (v, [1, -1], "one_hot: -1 is not a value of 'v', whose sort is BitVec(4)."),
        (s, ["a", 1], "one_hot: 1 is not a value of 's', whose sort is String."),
        (s, ["a", chr(0x10FFFF)], "one_hot: '\\U0010ffff' is not a value of 's', whose sort is"),
        (r, [1, float("nan")], "one_hot: nan is not a value of 'r', whose sort is Real."),
    ],
)
def test_one_hot_values_must_be_at_least_two_different_ones_of_the_sort(symbol, values, message):
    with assert_refused(TheoryError, message):
        Theory(symbol == symbol, inputs=[one_hot(symbol, values)], outputs=[y])


def test_a_member_that_an_enumeration_does_not_have_is_refused():
    sort, _ = z3.EnumSort("Metal", ["iron", "gold"])
    metal = z3.Const("metal", sort)
    with assert_refused(
        TheoryError, "one_hot: 'lead' is not a value of 'metal', whose sort is Metal."
    ):
        Theory(y, inputs=[one_hot(metal, ["iron", "lead"])], outputs=[y])


def test_one_hot_values_must_be_a_sequence():
    with assert_refused(
        TypeError, "one_hot expects the values of x as a sequence, such as range(10). Got 3"
    ):
        one_hot(x, 3)


@pytest.mark.parametrize("value", [-1, 16, 2.5, "7", "four", None, np.nan, np.inf, 1e30, 2**80])
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [3, value]])
def test_encode_refuses_what_the_bits_cannot_hold(value, wrap):
    array = np.array(wrap(value), dtype=object)
    message = "Theory.encode: symbol 'v' has 4 bits and takes whole numbers from 0 to 15. Got "
    with assert_refused(TheoryError, f"{message}{value!r}."):
        plain().encode(v=array)


@pytest.mark.parametrize("value", [2, 0.5, "yes", None, np.nan])
def test_encode_refuses_what_is_neither_true_nor_false(value):
    with assert_refused(
        TheoryError, f"encode: symbol 'a' is a Bool and takes True or False. Got {value!r}."
    ):
        plain().encode(a=np.array([True, value], dtype=object))


def test_encode_refuses_a_value_outside_the_one_hot_ones():
    for value, shown in ((3, "3"), ([1, 7], "7"), ("1", "'1'"), (z3.IntVal(4), "4")):
        with assert_refused(TheoryError, f"encode: symbol 'x' takes one of (1, 2). Got {shown}."):
            plain().encode(x=value)


def test_encode_refuses_a_name_it_does_not_know():
    with assert_refused(
        TheoryError, "Theory.encode: 'y' is not among the inputs, which are a, b, v, x."
    ):
        plain().encode(y=True)
    with assert_refused(TheoryError, "Theory.encode: 'a' is not among the outputs, which are y."):
        plain().encode_outputs(a=True)


def test_encode_refuses_shapes_that_do_not_go_together():
    with assert_refused(TheoryError, "shapes broadcast together. Got (2,) for 'a', (3,) for 'b'."):
        plain().encode(a=[0, 1], b=[0, 1, 1])
    with assert_refused(
        TheoryError, "expects one value for 'v', or an array of them with rows of the same"
    ):
        plain().encode(v=[[1, 2], [3]])


@pytest.mark.parametrize("shape", [(), (2,), (3, 2), (0,)])
def test_decode_refuses_another_number_of_columns(shape):
    with assert_refused(
        ValueError, f"Theory.decode expects outputs of shape (..., 1). Got {shape}."
    ):
        plain().decode(torch.zeros(shape))
    with assert_refused(
        ValueError, f"Theory.decode expects inputs of shape (..., 8). Got {shape}."
    ):
        plain().decode_inputs(torch.zeros(shape))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SCRIPT + "\n(assert (and a q))", "at line 5, column 15: unknown constant q."),
        (SCRIPT + "(check-sat)\n(assert q)(exit)", "at line 5, column 8: unknown constant q."),
        (SCRIPT + "(assert a", "at line 4, column 9: invalid assert command, ')' expected."),
        (SCRIPT + "(assert a))", "at line 4, column 10: invalid command, '(' expected."),
        (SCRIPT + "stray", "at line 4, column 0: invalid command, '(' expected."),
    ],
)
def test_a_syntax_error_is_reported_with_its_line(text, message):
    with assert_refused(TheoryError, f"Theory.from_smtlib: SMT-LIB text cannot be read {message}"):
        Theory.from_smtlib(text, inputs=["a"], outputs=["b c"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("b_c", "Did you mean 'b c'?"),
        ("zebra", "Declared: a, b c, n."),
        ("f", "Declared: a, b c, n."),  # a function is no constant
        ("alias", "Declared: a, b c, n."),  # nor is a definition
        ("a| |a", "Declared: a, b c, n."),
        ("", "Declared: a, b c, n."),
    ],
)
def test_a_name_that_is_not_declared_is_reported_with_a_hint(name, hint):
    text = SCRIPT + "(declare-fun f (Int) Bool)(declare-fun n () Int)(define-fun alias () Bool a)"
    for inputs, outputs in (([name], ["a"]), (["a"], [name]), ([one_hot(name, [1, 2])], ["a"])):
        with assert_refused(
            TheoryError, f"from_smtlib: no constant is declared as {name!r}. {hint}"
        ):
            Theory.from_smtlib(text, inputs=inputs, outputs=outputs)
    with assert_refused(TheoryError, "no constant is declared as 'a'. Declared: none."):
        Theory.from_smtlib("(assert true)", inputs=["a"], outputs=["a"])


def test_a_script_that_asserts_nothing_is_refused():
    with assert_refused(TheoryError, "the script asserts nothing. Add an (assert ...) command."):
        Theory.from_smtlib("(declare-const a Bool)", inputs=["a"], outputs=["a"])


def test_from_smtlib_takes_names_not_symbols():
    with assert_refused(
        TypeError, "from_smtlib takes the names of declared constants. Got a of type"
    ):
        Theory.from_smtlib(SCRIPT, inputs=[a], outputs=["b c"])


def test_a_missing_file_is_named(tmp_path):
    for missing in (tmp_path / "nothing (1).smt2", "assert a"):
        message = f"there is no file {str(missing)!r}, and it is not SMT-LIB text either."
        with assert_refused(TheoryError, f"Theory.from_smtlib: {message}"):
            Theory.from_smtlib(missing, inputs=["a"], outputs=["a"])
    with assert_refused(TheoryError, "there is no file 'no script no script"):
        Theory.from_smtlib("no script " * 1000, inputs=["a"], outputs=["a"])


def test_a_file_that_is_not_text_is_named(tmp_path):
    path = tmp_path / "binary.smt2"
    path.write_bytes(b"\xff\xfe(assert true)")
    with assert_refused(
        TheoryError, f"the file {str(path)!r} is not UTF-8 text. Save it as UTF-8."
    ):
        Theory.from_smtlib(path, inputs=["a"], outputs=["a"])
