"""Results beyond the paper stand in a table of their own, beside what other papers report."""

import re
import runpy
from pathlib import Path

import pytest

from made_records import keep, record
from smtlayer_studies.reports.published import PUBLISHED
from smtlayer_studies.reports.result_tables import DASH, published_table, summary, tables
from smtlayer_studies.reports.results import results_of

ROOT = Path(__file__).parents[3]
CONFIG = {
    "task": {"name": "long-addition", "length": 15},
    "train": {"epochs": 60, "optimizer": "adam", "lr": 1e-3, "shift": 2, "batch_size": 32,
              "loss": "likelihood"},
    "layer": {"backward": "core"},
}  # fmt: skip
BARE = CONFIG | {"train": CONFIG["train"] | {"shift": 0}}
DENSE = CONFIG | {"layer": None}


def long(length, accuracy, method="best", config=CONFIG, seeds=2):
    return [
        record(f"long-addition-{length}", method, seed, accuracy, config=config)
        for seed in range(seeds)
    ]


def records():
    return [
        *long(15, 0.875), *long(15, 0.8, "no-shift", BARE), *long(2, 0.98),
        *long(15, 0.0, "conventional-same-budget", DENSE, seeds=1),
    ]  # fmt: skip


def test_every_line_has_its_settings_or_its_source():
    (table,) = tables(results_of(records()))
    assert table == published_table(results_of(records()))
    lines = [tuple(row) for row in table.rows if row[1].startswith(("ours", "conv", "Deep"))]
    likelihood = "exact likelihood; shifts ≤ 2 px; Adam(0.001); 60 epochs; batches of 32"
    assert ("", "ours", "87.5 ± 0.0", "99.0", likelihood) in lines
    assert (
        "", "ours, no shifts", "80.0 ± 0.0", "99.0", likelihood.replace("shifts ≤ 2 px; ", ""),
    ) in lines  # fmt: skip
    assert any(row[1:3] == ("conventional, same budget", "0.0 (1)") and "likelihood" not in row[-1]
               for row in lines)  # fmt: skip
    assert ("", "DeepProofLog †", "80.8", DASH, "Jiao et al., AAAI 2026") in lines
    assert [row[0] for row in table.rows if row[0]] == ["2-digit numbers", "15-digit numbers"]
    assert "mean ± sample standard deviation of 2 seeds, or of the number in" in table.notes[0]


def test_the_papers_tables_and_their_summary_do_not_have_them():
    results = results_of([record(), *records()])
    accuracy, times, others = tables(results)
    assert {row[0] for row in accuracy.rows} == {"MNIST+ 10 %", ""}
    assert not times.rows or times.rows[0][0] == "MNIST+ 10 %"
    assert others.name == "published"
    assert len(tables(results_of([record()]))) == 2
    page = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    assert [row[0] for row in summary(page["without_published"](results)).rows] == ["MNIST+ 10 %"]


def test_the_page_has_the_table_of_its_records(tmp_path):
    page = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    keep(tmp_path, record(), *records())
    text = page["published"](tmp_path)
    assert "| 2-digit numbers | A-NeSI † | 96.0 |" in text
    assert "15-digit" not in page["table1"](tmp_path)
    assert "15-digit" not in page["results_summary"](tmp_path)
    assert page["beyond_the_paper"](tmp_path) == (
        "2-digit numbers 98.0 % (best published: 96.4 %), "
        "15-digit numbers 87.5 % (best published: 80.8 %)"
    )
    bare = keep(tmp_path / "bare", record())
    assert page["published"](bare) == "No records yet."
    assert page["beyond_the_paper"](bare) == "no records yet"


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_published_methods_are_in_ascending_order_and_name_venue_and_year(experiment):
    methods = PUBLISHED[experiment].methods
    assert [one.accuracy for one in methods] == sorted(one.accuracy for one in methods)
    assert all(re.fullmatch(r".+, (AAAI|NeurIPS) 20\d\d", one.source) for one in methods)
