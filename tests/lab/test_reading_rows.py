"""Rows as users write them: values of every kind of symbol, CSV files, and what is refused."""

import re

import numpy as np
import pytest
import z3

from smtlayer import Theory, one_hot
from smtlayer.errors import ArgumentError, ArgumentTypeError, ConfigError, TheoryError
from smtlayer.lab import problem_of, readings
from smtlayer.solvers.readings.answers import Answers
from smtlayer.solvers.readings.rows import read_rows
from smtlayer_studies.tasks.lab_problems import task_problem


def mixed():
    """A word, a Bool and bits as inputs; a number that they determine."""
    word, heavy, bits, size = z3.String("word"), z3.Bool("heavy"), z3.BitVec("bits", 2), z3.Int("n")
    rule = size == z3.If(word == "no", 1, 2) + z3.If(heavy, 1, 0)
    inputs = [one_hot(word, ["no", "yes"]), heavy, bits]
    return Theory([rule, z3.Implies(heavy, bits == 1)], inputs, [one_hot(size, [1, 2, 3])])


def signs(rows, theory=None):
    theory = theory or mixed()
    inputs, outputs = read_rows(theory, rows, Answers(theory))
    return inputs.tolist(), outputs.tolist()


def test_values_of_every_kind_become_signs_and_missing_labels_follow():
    rows = [
        {"word": "no", "heavy": True, "bits": 1},
        {"word": "yes", "heavy": 0, "bits": 2, "n": 2},
    ]
    assert signs(rows) == ([[1, -1, 1, -1, 1], [-1, 1, -1, 1, -1]], [[-1, 1, -1], [-1, 1, -1]])
    other = [{"word": "no", "heavy": np.bool_(True), "bits": np.int64(1)}]
    assert signs(other) == signs(rows[:1])


@pytest.mark.parametrize("truth", ["1", "true", "True"])
def test_a_file_has_the_same_values_as_text(tmp_path, truth):
    path = tmp_path / "rows.csv"
    path.write_text(f"\ufeffheavy, word,bits,n\n{truth},no,1,\n\n0,yes, 2,2\n", encoding="utf-8")
    expected = [{"word": "no", "heavy": True, "bits": 1}, {"word": "yes", "heavy": 0, "bits": 2}]
    assert signs(path) == signs(str(path)) == signs(expected)


def test_a_symbol_that_is_input_and_output_has_one_value():
    a, b = z3.Bools("a b")
    theory = Theory(z3.Or(a, b), inputs=[a, b], outputs=[a])
    assert signs([{"a": True, "b": False}], theory) == ([[1, -1]], [[1]])
    assert readings(theory, [{"a": True, "b": True}]).count == 1


GOOD = {"word": "no", "heavy": False, "bits": 0}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "Expected at least one row, such as dict(a=0, b=1). Got none."),
        ([GOOD, {**GOOD, "bit": 1}], "Row 2 (word = no, heavy = False, bits = 0, bit = 1): 'bit' "
                                     "is not an input or output of the theory. Did you mean 'bit"),
        ([{**GOOD, "x": 1}], "an input or output of the theory. They are word, heavy, bits, n."),
        ([{"word": "no", "heavy": True}], "there is no value for the input 'bits'."),
        ([{**GOOD, "bits": 4}], "symbol 'bits' has 2 bits and takes whole numbers from 0 to 3."),
        ([{**GOOD, "bits": "x"}], "symbol 'bits' has 2 bits and takes whole numbers from 0 to 3."),
        ([{**GOOD, "heavy": "maybe"}], "symbol 'heavy' is a Bool and takes True or False."),
        ([{**GOOD, "word": "perhaps"}], "symbol 'word' takes one of ('no', 'yes'). Got 'perhaps'."),
        ([{**GOOD, "n": 7}], "symbol 'n' takes one of (1, 2, 3). Got 7."),
        ([{**GOOD, "n": 3}], "Row 1 (word = no, heavy = False, bits = 0, n = 3) contradicts the "
                             "theory, by which n = 1."),
        ([{**GOOD, "bits": [0, 1]}], "expected one value per symbol. Give each row its own dict."),
        ([{**GOOD, "heavy": True}], "contradicts the theory: no model has these values."),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_used_are_named(rows, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        signs(rows)


@pytest.mark.parametrize("rows", [GOOD, [3], 3, None])
def test_rows_of_another_type_are_errors(rows):
    with pytest.raises(TypeError, match=r"list of dicts of values|expects a Theory and the rows"):
        readings(mixed(), rows)


def test_labels_that_the_theory_leaves_open_must_be_given():
    a, y = z3.Bools("a y")
    theory = Theory(z3.Implies(a, y), inputs=[a], outputs=[y])
    with pytest.raises(ArgumentError, match=r"Row 1 \(a = False\) has several labels.*Add the out"):
        signs([{"a": False}], theory)
    assert signs([{"a": False, "y": True}], theory) == ([[-1]], [[1]])


def test_whole_numbers_may_have_a_decimal_point_in_a_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("word,heavy,bits,n\nno,0,0,1.0\n , ,\n")
    assert signs(path) == signs([GOOD])


def test_a_theory_without_a_model_is_not_blamed_on_a_row():
    with pytest.raises(TheoryError, match="The theory has no model at all"):
        signs([{"a": True}], Theory([z3.Bool("a"), False], [z3.Bool("a")], [z3.Bool("y")]))


def test_files_that_cannot_be_read_are_errors(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("word,heavy,bits\nno,0,0\nno,0\n")
    with pytest.raises(ArgumentError, match=r"row 2 has 2 values for the 3 names of the first"):
        signs(path)
    path.write_text("word,word,bits\nno,0,0\n")
    with pytest.raises(ArgumentError, match=r"the first line has a name twice: word, word, bits"):
        signs(path)
    path.write_text("word;heavy\nno;0\n")
    with pytest.raises(ArgumentError, match=r"^Row 1 of .*rows.csv .*first line, separated by"):
        signs(path)
    path.write_text("")
    with pytest.raises(ArgumentError, match="at least one row"):
        signs(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArgumentError, match="Rows cannot be read from"):
        signs(path)


def test_arguments_that_do_not_fit_together_are_errors():
    problem = task_problem("mnist-addition-10")
    with pytest.raises(ArgumentError, match=r"with a theory only. Got them with a LabProblem"):
        readings(problem, separate=True)
    with pytest.raises(ArgumentError, match=r"limit of at least 1. Got 0"):
        readings(problem, limit=0)
    with pytest.raises(ArgumentTypeError, match="expects a Theory and the rows"):
        readings(mixed())
    with pytest.raises(ConfigError, match="add up to the theory's 5 input columns"):
        readings(mixed(), [GOOD], widths=(2, 2))
    for widths in ([], 5):
        with pytest.raises(ConfigError, match=r"input columns. Got (\[\]|5)\."):
            readings(mixed(), [GOOD], widths=widths)
    with pytest.raises(ConfigError, match=r"rows or shown, not both. Got shown=0.5"):
        problem_of(mixed(), rows=[GOOD], shown=0.5)


def test_one_hot_symbols_with_other_values_have_their_own_reader():
    a, b, y = z3.Int("a"), z3.Int("b"), z3.Bool("y")
    low, high = one_hot(a, [0, 1]), one_hot(b, [1, 2])
    assert problem_of(Theory(y == (a < b), [low, high], [y])).readers == (0, 1)
    assert problem_of(Theory(y == (a < b), [low, one_hot(b, [0, 1])], [y])).readers == (0, 0)
