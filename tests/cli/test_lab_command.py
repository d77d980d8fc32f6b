import json

import pytest
import typer
from typer.testing import CliRunner

from smtlayer.errors import ConfigError, TheoryError
from smtlayer.lab.laboratory import LabOptions, LabResult, LabRun
from smtlayer_cli.lab import lab, verdict

SCRIPT = """
(declare-const a (_ BitVec 2)) (declare-const b (_ BitVec 2)) (declare-const total (_ BitVec 3))
(assert (= total (bvadd ((_ zero_extend 1) a) ((_ zero_extend 1) b))))
"""
QUICK = ("--seeds", "3", "--steps", "100")


@pytest.fixture
def call():
    app = typer.Typer()
    app.command()(lab)

    def invoke(*words):
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done

    return invoke


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "sum.smt2"
    path.write_text(SCRIPT)
    return path


def result(test, train=None, symbols=None):
    runs = tuple(LabRun(name, train or test, test, symbols or test, 1.0) for name in ("core",))
    return LabResult("made", 4, 2, 4, 4, len(test), LabOptions(), runs)


def test_a_file_is_tried_with_each_rule(call, script):
    names = ("--inputs", "a,b", "--outputs", "total")
    shown = call(script, *names, "--rules", "core", "--rules", "mix(core, marginal)", *QUICK)
    assert "sum: 16 models, 4 kinds of symbols, 16 examples in training, 16 in" in shown.stdout
    assert "A  core" in shown.stdout
    assert "B  mix(core, marginal)" in shown.stdout
    assert "of 3" in shown.stdout


def test_json_has_every_seed(call, script, tmp_path):
    picture = tmp_path / "new" / "lab.png"
    words = ("--inputs", "a,b", "--outputs", "total", "--shown", "0.5", "--rules", "core")
    printed = json.loads(call(script, *words, *QUICK, "--json", "--plot", picture).stdout)
    assert set(printed) == {"problem", "models", "kinds", "shown", "tested", "seeds", "options",
                         "runs", "best", "as_good", "left_out", "readings", "versions",
                         "machine", "commit", "written"}  # fmt: skip
    assert set(printed["runs"][0]) == {"rule", "train", "test", "symbols", "seconds", "grounded",
                                    "unnoticed", "renamed", "mean"}  # fmt: skip
    assert (printed["shown"], printed["tested"], printed["options"]["steps"]) == (8, 8, 100)
    assert len(printed["runs"][0]["test"]) == 3
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_problem_of_a_plugin_is_tried_by_name(call):
    shown = call("mnist-addition-10", "--rules", "core", "--seeds", "2", "--steps", "5")
    assert "mnist-addition-10: 100 models, 10 kinds of symbols, 10 examples" in shown.stdout


def test_wrong_arguments_are_reported(call, script):
    with pytest.raises(ConfigError, match=r"SMT-LIB 2 file, or one of mnist.*no such file"):
        call("nothing.smt2")
    with pytest.raises(ConfigError, match="add --inputs a,b --outputs y"):
        call(script, "--inputs", "a,b")
    with pytest.raises(ConfigError, match=r"--rules: Rule 'cor'.*Did you mean 'core'\?"):
        call("visual-algebra", "--rules", "cor")
    with pytest.raises(ConfigError, match=r"with a file only. Got them with the problem"):
        call("visual-algebra", "--shown", "0.5")
    with pytest.raises(ConfigError, match="--widths expects whole numbers"):
        call(script, "--inputs", "a,b", "--outputs", "total", "--widths", "2,x")
    with pytest.raises(ConfigError, match=r"no such file. Did you mean 'mnist-addition-10'\?"):
        call("mnist-addition")


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ("a,c", "total", r"^--inputs: no constant is declared as 'c'. Declared: a, b, total\.$"),
        ("a,b", "tota", r"^--outputs: no constant is declared as 'tota'. Did you mean 'total'"),
        ("a,a", "total", r"^--inputs expects each name once. Got 'a' more than once\.$"),
        ("a,b", "total,b,total", r"^--outputs expects each name once. Got 'total' more than once"),
    ],
)
def test_names_that_cannot_be_used_are_a_matter_of_their_option(
    call, script, inputs, outputs, message
):
    with pytest.raises(ConfigError, match=message):
        call(script, "--inputs", inputs, "--outputs", outputs)


@pytest.mark.parametrize(
    ("sort", "message"),
    [
        ("Int", r"at most 1,000. Got a with more, or without bounds.*\(assert \(<= 0 a 9\)\)"),
        ("Real", r"Bool, .*BitVec n.* or Int. Got 'a' of sort Real"),
    ],
)
def test_sorts_without_columns_are_reported_with_what_a_file_can_do(call, script, sort, message):
    script.write_text(f"(declare-const a {sort}) (declare-const y Bool) (assert (= y (> a 2.0)))")
    for names in (("a", "y"), ("y", "a")):
        with pytest.raises(ConfigError, match=message):
            call(script, "--inputs", names[0], "--outputs", names[1])


def test_a_file_that_cannot_be_read_is_no_matter_of_an_option(call, script):
    script.write_text("(assert (oops")
    with pytest.raises(TheoryError, match=r"^Theory\.from_smtlib"):
        call(script, "--inputs", "a,a", "--outputs", "y")


def test_examples_that_are_left_out_are_counted(call, script):
    words = (script, "--inputs", "total", "--outputs", "a,b", "--rules", "core", *QUICK)
    assert "5 of 7 inputs do not determine the outputs and are left out\n" in call(*words).stdout
    assert json.loads(call(*words, "--json").stdout)["left_out"] == 5
    others = (script, "--inputs", "a,b", "--outputs", "total", "--rules", "core", *QUICK)
    assert "left out" not in call(*others).stdout


def test_the_verdict_recommends_a_rule():
    assert verdict(result((1.0, 1.0))) == "Use core: it grounds 2 of 2 seeds."
    assert "No rule grounds a single seed" in verdict(result((0.5, 0.5)))
    assert "the best, core, grounds 1 of 3 seeds" in verdict(result((1.0, 0.5, 0.5)))
    assert "restart those" in verdict(result((1.0, 1.0, 0.5)))
    unnoticed = verdict(result((1.0, 1.0, 0.5), train=(1.0, 1.0, 1.0)))
    assert "With core, 1 of 3 seeds are correct in training" in unnoticed
    assert "restart those" not in unnoticed
    renamed = verdict(result((1.0, 1.0), symbols=(0.5, 1.0)))
    assert "In 1 of these, symbols have another meaning than intended" in renamed
