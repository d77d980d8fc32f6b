"""Trainings by likelihood stand beside trainings by blame rules, from records of both."""

import runpy
from pathlib import Path

import pytest

from made_records import keep, record
from smtlayer_studies.reports.result_tables import likelihood_table
from smtlayer_studies.reports.results import results_of
from smtlayer_studies.runs import load_experiment

ROOT = Path(__file__).parents[3]


def run(experiment, method, accuracy):
    """A record of a method, with the options of its experiment."""
    config = load_experiment(experiment).config(method).as_dict()
    return record(experiment, method, 0, accuracy, config=config)


BOTH = [run("long-addition-2", "best", 0.98), run("long-addition-2", "core", 0.5)]


def test_a_line_names_likelihood_or_blame_with_its_settings():
    table = likelihood_table(results_of([*BOTH, run("long-addition-2", "maxsmt", 0.4)]))
    train = load_experiment("long-addition-2").config("best").train
    settings = f"shifts ≤ 2 px; Adam(0.001); {train.epochs} epochs; batches of {train.batch_size}"
    assert table.rows == (
        ("2-digit numbers", "likelihood", "98.0", "99.0", f"exact likelihood; {settings}"),
        ("", "blame rule", "50.0", "99.0", f"cores by confidence; {settings}"),
        ("", "blame rule", "40.0", "99.0", f"maxsmt; {settings}"),
    )


def test_a_paper_experiment_trained_by_likelihood_is_compared_with_ours():
    names = {"best": 0.98, "likelihood": 0.9}
    records = [run("mnist-addition-10", name, accuracy) for name, accuracy in names.items()]
    table = likelihood_table(results_of(records))
    assert [row[1:3] for row in table.rows] == [("blame rule", "98.0"), ("likelihood", "90.0")]
    assert "exact likelihood" in table.rows[1][-1]
    assert "cores" not in table.rows[1][-1]


@pytest.mark.parametrize("method", ["best", "core"])
def test_an_experiment_with_one_of_the_two_is_left_out(method):
    table = likelihood_table(results_of([run("long-addition-4", method, 0.9), *BOTH]))
    assert {row[0] for row in table.rows} == {"2-digit numbers", ""}
    assert not likelihood_table(results_of([run("long-addition-4", method, 0.9)])).rows


def test_other_methods_are_left_out():
    others = [run("long-addition-2", "no-shift", 0.9),
              run("long-addition-2", "conventional-same-budget", 0.1)]  # fmt: skip
    assert len(likelihood_table(results_of([*BOTH, *others])).rows) == 2


def test_the_page_has_a_section_once_there_are_records(tmp_path):
    pages = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    page = ROOT / "docs" / "how-to" / "likelihood-or-blame.md"
    assert page in pages["PAGES"]
    assert pages["filled"](page.read_text()) == page.read_text()
    text = pages["likelihood"](keep(tmp_path, *BOTH))
    assert text.startswith("## Measurements\n\n")
    assert "\n\n| experiment | trained by |" in text
    assert pages["likelihood"](keep(tmp_path / "half", BOTH[0])) == ""
