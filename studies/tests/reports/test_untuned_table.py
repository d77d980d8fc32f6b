"""Problems without tuned settings have their own tables, from records."""

import runpy
from pathlib import Path

import pytest

from made_records import keep, record
from smtlayer_studies.reports.published import UNTUNED
from smtlayer_studies.reports.result_tables import DASH, without_published
from smtlayer_studies.reports.results import results_of
from smtlayer_studies.reports.untuned import shortcut_table, untuned_table
from smtlayer_studies.runs import load_experiment

ROOT = Path(__file__).parents[3]
SEEN = {"seen_accuracy": 0.99, "seen_symbols": 0.43, "unseen_accuracy": 0.05}


def half(method, *accuracies, **scores):
    """Records of MNIST-Half, one per seed."""
    return [
        record("mnist-half", method, seed, accuracy,
               scores={"accuracy": accuracy, "symbols": 0.4} | SEEN | scores)
        for seed, accuracy in enumerate(accuracies)
    ]  # fmt: skip


def dense(experiment, accuracy):
    return record(experiment, "conventional", 0, accuracy, scores={"accuracy": accuracy})


def test_titles_are_those_of_the_experiments():
    assert {name: load_experiment(name).title for name in UNTUNED} == dict(UNTUNED)


def test_a_problem_is_one_line_with_a_cell_for_each_method():
    records = [
        record("roster", "one-rule", 0, 0.9), record("roster", "one-rule", 1, 0.8),
        record("roster", "core", 0, 0.5), dense("roster", 0.6),
        record("long-addition-2", "one-rule", 0, 0.1), record("long-addition-2", "core", 0, 0.007),
        record("long-addition-2", "best", 0, 0.98), record("invoice", "core", 0, 0.3),
    ]  # fmt: skip
    table = untuned_table(results_of(records))
    assert [column.title for column in table.columns[1:]] == [
        "one rule", "portfolio", "longer", "longer cooling", "core", "conventional",
    ]  # fmt: skip
    assert table.rows == (
        (
            "Roster",
            "85.0 ± 7.1 / 99.0 (2)",
            DASH,
            DASH,
            DASH,
            "50.0 / 99.0 (1)",
            f"60.0 / {DASH} (1)",
        ),
        ("2-digit numbers", "10.0 / 99.0 (1)", DASH, DASH, DASH, "0.7 / 99.0 (1)", DASH),
    )


def test_untuned_problems_are_not_compared_with_the_paper():
    results = results_of([record("roster", "one-rule", 0, 0.9), record()])
    assert [result.experiment for result in without_published(results)] == ["mnist-addition-10"]


def test_mnist_half_shows_scores_on_shown_and_other_sums_and_counts_right_readings():
    records = [*half("one-rule", 0.98, 0.32, 0.33), *half("one-rule-row", 0.99, seen_accuracy=1.0)]
    table = shortcut_table(results_of(records))
    assert table.rows == (
        ("ours, one rule", "99.0 ± 0.0", "43.0 ± 0.0", "5.0 ± 0.0", "40.0 ± 0.0", "1 of 3"),
        ("ours, one rule, one more sum", "100.0", "43.0", "5.0", "40.0", "1 of 1"),
    )


def test_a_conventional_network_reads_no_digits():
    conventional = record("mnist-half", "conventional", 0, 0.3, scores={"accuracy": 0.3, **SEEN})
    del conventional["scores"]["seen_symbols"]
    assert shortcut_table(results_of([conventional])).rows == (
        ("conventional", "99.0", DASH, "5.0", DASH, "0 of 1"),
    )


@pytest.mark.parametrize("name", ["untuned", "mnist-half"])
def test_the_page_has_the_table_once_there_are_records(tmp_path, name):
    pages = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    page = (ROOT / "docs" / "explain" / "results.md").read_text()
    assert f"<!-- {name} -->" in page
    make = pages["RESULTS"][name]
    assert make(keep(tmp_path / "none", record())) == ""
    assert "| MNIST-Half |" in pages["untuned"](keep(tmp_path, *half("one-rule", 0.3)))
    assert "| ours, one rule |" in pages["mnist_half"](tmp_path)
