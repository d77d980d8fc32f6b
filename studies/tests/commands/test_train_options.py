"""Options of `smtlayer train` that cannot work are refused before anything is trained."""

import json

import pytest
from typer.testing import CliRunner

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_cli.app import app

OWN = """
[task]
name = "mnist-addition"
data = "sample"
[{method}.train]
epochs = 1
rows = 64
test_rows = 64
"""


def train(*words):
    return CliRunner().invoke(app, ["train", *map(str, words)])


def refused(*words):
    answer = train(*words)
    assert isinstance(answer.exception, ConfigError), answer.output
    return str(answer.exception)


@pytest.fixture
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("more", [(), ("--timing", "1")])
def test_a_folder_that_cannot_be_one_is_refused_before_data_are_looked_for(tmp_path, more):
    words = ("mnist-addition", "--data", "mnist", "--data-dir", tmp_path / "nowhere", *more)
    (tmp_path / "afile").write_text("")
    for empty in ("", " "):
        message = refused(*words, "--out", empty)
        assert message.startswith(
            "--out expects a folder, as in --out runs/mnist-addition-10. Got '"
        )
    for name in ("afile", "afile/run"):
        assert "afile is a file; --out expects a folder." in refused(*words, "--out", name)
    assert isinstance(train(*words, "--out", ".").exception, MissingDataError)
    assert [path.name for path in tmp_path.iterdir()] == ["afile"]


@pytest.mark.parametrize(("row", "options", "message"), [
    ("visual-algebra", ("--backend", "enumerate"),
     "visual-algebra-1, best: no layer can be made with the backend enumerate and the rule "
     "mix(core, marginal). Enumerate tries every assignment and takes at most max_columns=14 "
     "inputs and outputs. This theory has 20. Use --backend auto."),
    ("visual-algebra", ("--backend", "z3"), "Use --backend auto or --backward core."),
    ("visual-algebra", ("--backend", "z3", "--timing", "1"), "Use --backend auto or"),
])  # fmt: skip
def test_a_layer_that_cannot_be_made_is_reported_before_anything_is_trained(
    tmp_path, row, options, message
):
    printed = refused(row, "--data", "sample", *options, "--out", tmp_path / "run")
    assert message in printed
    assert "()" not in printed  # advice is for the command line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", [pytest.param("best", marks=pytest.mark.slow), "mine"])
def test_a_file_of_ones_own_is_trained_by_the_methods_that_it_has(tmp_path, method):
    file = tmp_path / "own.toml"
    file.write_text(OWN.format(method=method))
    answer = train(file, "--out", tmp_path / "run")
    assert answer.exit_code == 0, answer.output
    assert json.loads((tmp_path / "run" / "record.json").read_text())["method"] == method
    assert "own has the methods" in refused(file, "--method", "conventional")
