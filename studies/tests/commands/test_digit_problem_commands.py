"""The commands on a problem with a fact: the deadline of a roster."""

import json

import pytest

from commands.test_long_addition_commands import command
from reports.page_checks import checked

SMALL = (
    "task.data=sample", "train.epochs=1", "train.rows=16", "train.batch_size=8",
    "train.test_rows=20",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    command("train", "roster", "--out", place, *(w for s in SMALL for w in ("--set", s)))
    return place


def test_the_one_rule_and_a_conventional_network_are_trained_by_default(folder):
    records = {
        path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/record.json")
    }
    assert set(records) == {"conventional", "one-rule"}
    assert records["one-rule"]["config"]["layer"]["backward"] == "anneal_core"
    assert "representation" in records["one-rule"]["scores"]


def test_it_is_evaluated_again_with_its_facts(folder):
    lines = command("evaluate", folder / "one-rule", "--json").splitlines()
    (found,) = map(json.loads, lines)
    assert set(found["differences"].values()) == {0.0}


def test_an_example_shows_its_fact_and_explains_with_it(folder):
    text = command("inspect", folder / "one-rule", "--row", 3)
    assert text.startswith("Roster, one-rule, test example 3: ")
    assert "deadline = " in text
    assert "deadline:" not in text  # the solver overrules other inputs


def test_a_page_shows_it(folder):
    command("report", folder / "one-rule", "--out", folder / "page.html")
    assert "deadline = " in checked((folder / "page.html").read_text()).text
