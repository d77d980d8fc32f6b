"""`smtlayer lab` with examples from a file, with integers, and what it says of readings."""

import json

import pytest
import typer
from typer.testing import CliRunner

from smtlayer.errors import ConfigError, TheoryError
from smtlayer_cli.lab import lab
from smtlayer_cli.lab_file import read_problem

SUMS = """
(declare-const a Int) (declare-const b Int) (declare-const total Int)
(assert (<= 0 a 4)) (assert (<= 0 b 4)) (assert (= total (+ a b)))
"""
ROWS = "a,b\n0,0\n0,1\n2,3\n2,4\n"
NAMES = ("--inputs", "a,b", "--outputs", "total")
QUICK = ("--rules", "core", "--seeds", "1", "--steps", "1")


@pytest.fixture
def call(tmp_path):
    """Calls the command in a folder with `sums.smt2` and `rows.csv`."""
    app = typer.Typer()
    app.command()(lab)
    (tmp_path / "sums.smt2").write_text(SUMS)
    (tmp_path / "rows.csv").write_text(ROWS)

    def invoke(*words):
        places = [str(tmp_path / word) if word.endswith(("2", "csv")) else word for word in words]
        done = CliRunner().invoke(app, places, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    return invoke


def problem(path, text, *, inputs="a,b", outputs="total", separate=False, rows=None):
    path.write_text(text)
    return read_problem(str(path), inputs=inputs, outputs=outputs, widths=None,
                        separate=separate, shown=1.0, rows=rows)  # fmt: skip


def test_the_last_lines_are_the_readings_that_fit_the_rows_of_a_file(call):
    shown = call("sums.smt2", *NAMES, "--rows", "rows.csv", *QUICK)
    assert "sums: 25 models, 5 kinds of symbols, 4 examples in training, 25 in the test" in shown
    assert shown.endswith(
        "3 readings of the symbols fit the 4 examples that training shows; 2 of them answer some "
        "of the 25 tested examples wrongly. 1 correct in 100.0 % of the test: the true reading 1 "
        "correct in 32.0 % of the test: 2 -> 4, 3 -> 1, 4 -> 2 1 correct in 32.0 % of the test: "
        "2 -> 3, 3 -> 2, 4 -> 3 Training accuracy does not reveal which is "
        "learned. Add a constraint, label some symbols, or show a = 0, b = 2, which leaves only "
        "correct ones."
    )


def test_json_has_the_readings(call):
    found = json.loads(call("sums.smt2", *NAMES, "--rows", "rows.csv", *QUICK, "--json"))
    assert found["readings"] == {
        "count": 3, "complete": True, "true_fits": True, "wrong": 2,
        "rows_to_show": [{"a": 0, "b": 2}], "never_shown": {},
        "classes": [
            {"count": 1, "accuracy": 1.0, "changes": ""},
            {"count": 1, "accuracy": 0.32, "changes": "2 -> 4, 3 -> 1, 4 -> 2"},
            {"count": 1, "accuracy": 0.32, "changes": "2 -> 3, 3 -> 2, 4 -> 3"},
        ],
    }  # fmt: skip


def test_problems_by_name_end_with_their_readings(call):
    shown = call("liars-puzzle", *QUICK)
    assert shown.endswith(
        "64 readings of the symbols fit the 12 examples that training shows; all answer the 72 "
        "tested examples correctly, so renamed symbols do no harm."
    )


def test_integers_have_the_values_that_the_theory_leaves_them(tmp_path):
    path = tmp_path / "sums.smt2"
    found = problem(path, SUMS)
    assert [symbol.values for symbol in found.theory.symbols] == [
        (0, 1, 2, 3, 4), (0, 1, 2, 3, 4), tuple(range(9))]  # fmt: skip
    narrow = SUMS.replace("<= 0 b 4", "< (- 4) b 1")
    shared = problem(path, narrow).theory.input_symbols
    assert [s.values for s in shared] == [tuple(range(-3, 5))] * 2
    own = problem(path, narrow, separate=True)
    assert [s.values for s in own.theory.input_symbols] == [tuple(range(5)), tuple(range(-3, 1))]
    assert (own.readers, len(own.shown)) == ((0, 1), 20)


def test_an_integer_with_one_value_gets_a_second_column(tmp_path):
    found = problem(tmp_path / "sums.smt2", SUMS.replace("<= 0 b 4", "= b 3"), separate=True)
    assert found.theory.input_symbols[1].values == (3, 4)
    assert len(found.shown) == 5


def test_rows_are_the_training_examples_and_the_test_has_their_kinds(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n1,2\n2,2\n")
    found = problem(tmp_path / "sums.smt2", SUMS, rows=tmp_path / "rows.csv")
    assert len(found.shown) == 3  # as often as the file has them
    assert found.theory.decode(found.shown.outputs)["total"].tolist() == [3, 3, 4]
    assert sorted(found.theory.decode(found.tested.outputs)["total"].tolist()) == [2, 3, 3, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rows", "rows.csv", "--shown", "0.5"), "^--rows: The lab expects rows or shown, not"),
        (("--rows", "none.csv"), r"^--rows: Rows cannot be read from '.*none.csv': .*No such file"),
    ],
)
def test_rows_that_cannot_be_used_are_a_matter_of_their_option(call, words, message):
    with pytest.raises(ConfigError, match=message):
        call("sums.smt2", *NAMES, *words)


def test_rows_are_for_files_only(call):
    with pytest.raises(ConfigError, match="--shown and --rows with a file only"):
        call("liars-puzzle", "--rows", "rows.csv")


def test_integers_of_a_theory_without_a_model_are_no_error_of_their_own(tmp_path):
    with pytest.raises(TheoryError, match="The lab needs a theory with models"):
        problem(tmp_path / "sums.smt2", SUMS + "(assert (> a 5))")
