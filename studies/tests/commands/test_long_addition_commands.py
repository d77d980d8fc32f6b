"""The commands on a run of long addition, which is trained by likelihood."""

import json

import pytest
from typer.testing import CliRunner

from reports.page_checks import checked
from smtlayer_cli.app import app

SMALL = (
    "task.data=sample", "task.length=1", "train.epochs=1", "train.rows=64", "train.test_rows=40",
)  # fmt: skip


def command(*words):
    answer = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "100"})
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    settings = [word for setting in SMALL for word in ("--set", setting)]
    command("train", "long-addition", "--method", "best", "--out", place, *settings)
    return place


def test_a_run_is_trained_and_drawn(folder):
    record = json.loads((folder / "record.json").read_text())
    assert record["config"]["train"]["loss"] == "likelihood"
    assert {"accuracy", "output_symbols", "representation"} <= set(record["scores"])
    assert record["scores"]["overruled"] == 0  # a reading always has one digit per image
    assert (folder / "examples.png").read_bytes().startswith(b"\x89PNG")


def test_it_is_evaluated_again(folder):
    (found,) = [json.loads(line) for line in command("evaluate", folder, "--json").splitlines()]
    assert set(found["differences"].values()) == {0.0}


def test_an_example_is_inspected(folder):
    text = command("inspect", folder, "--row", 3)
    assert text.startswith("2-digit numbers, best, test example 3: ")
    assert "answer  sum = " in text


def test_a_page_shows_it(folder):
    command("report", folder, "--out", folder / "page.html")
    page = checked((folder / "page.html").read_text())
    assert "2-digit numbers, best" in page.text
    assert "sum = " in page.text
