import json
import runpy
from html.parser import HTMLParser
from pathlib import Path

import pytest

from made_records import keep, record, timing
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.reports.one_rule import one_rule_table
from smtlayer_studies.reports.render import html, latex, markdown, terminal, terminal_width
from smtlayer_studies.reports.result_tables import DASH, TIMES, summary, tables
from smtlayer_studies.reports.results import (
    holds_records,
    left_out,
    read_results,
    results_json,
    results_of,
)
from smtlayer_studies.reports.results_plot import _position, draw_table

ROOT = Path(__file__).parents[3]
KEYS = [
    "experiment", "method", "seeds", "accuracy", "mean", "sd", "representation", "epoch_seconds",
    "conventional_epoch_seconds", "epoch_ratio", "epoch_ratio_sd", "timed_epochs", "data", "device",
    "differences",
]  # fmt: skip


CONFIG = {
    "task": {"name": "mnist-addition", "percent": 10},
    "pretrain": {"kind": "none", "epochs": 3},
    "train": {"epochs": 8, "optimizer": "adam", "lr": 1e-3, "shift": 2, "batch_size": 128},
    "layer": {"backward": "core", "weights": "logit"},
    "restarts": {"most": 1},
}


def made():
    """Two rows, three methods and one of a row's own."""
    records = [record(method="conventional", seed=s, accuracy=0.1) for s in range(3)]
    records += [record(method="paper", seed=s, accuracy=0.97) for s in range(3)]
    records += [record(seed=s, accuracy=a) for s, a in enumerate((0.98, 0.99, 0.985))]
    puzzle = {"experiment": "liars-puzzle", "data": "sentences"}
    records += [record(method="as-printed", seed=s, accuracy=0.8, **puzzle) for s in range(3)]
    records += [record(seed=s, accuracy=1.0, **puzzle) for s in range(2)]
    return results_of(records, [timing()])


def test_a_result_is_mean_and_sample_deviation_over_seeds():
    (found,) = results_of([record(seed=s, accuracy=a) for s, a in [(1, 0.99), (0, 0.97)]])
    assert found.seeds == (0, 1)
    assert found.accuracy == (97.0, 99.0)
    assert found.mean == pytest.approx(98.0)
    assert found.sd == pytest.approx(2**0.5)  # divided by n - 1
    assert found.representation == pytest.approx(99.0)
    assert found.epochs == (3, 5)
    assert (found.data, found.device) == ("mnist", "a GPU")


def test_one_seed_has_no_deviation_and_no_layer_no_representation():
    (found,) = results_of([record(method="conventional")])
    assert found.sd is None
    assert found.representation is None


def test_seconds_are_of_the_runs_unless_a_quiet_process_measured_them():
    records = [record(seed=0), record(seed=1, epoch_seconds=6.0), record(method="conventional")]
    conventional, best = results_of(records)
    assert (best.epoch_seconds, best.epoch_ratio) == (5.0, None)
    assert conventional.epoch_seconds == 4.0
    timings = [timing(), timing(experiment="liars-puzzle", ratio=9)]
    conventional, best = results_of(records, timings)
    assert (best.epoch_seconds, best.conventional_seconds) == (3.3, 3.0)
    assert (best.epoch_ratio, best.epoch_ratio_sd) == (1.1, 0.02)
    assert (conventional.epoch_seconds, conventional.epoch_ratio) == (4.0, None)


def test_fewer_than_five_timed_epochs_give_no_ratio():
    (found,) = results_of([record()], [timing(epochs=4)])
    assert (found.epoch_seconds, found.epoch_ratio) == (4.0, None)


def test_devices_and_data_that_differ_are_all_named():
    records = [record(seed=0), record(seed=1, machine={"device": "another"}, data="mnist+hasy")]
    (found,) = results_of(records, [timing(machine={"device": "a third"})])
    assert found.device == "a GPU, another, a third"
    assert found.data == "mnist, mnist+hasy"


@pytest.mark.parametrize(
    "changes", [{"data": "sample"}, {"data": "sample+hasy"}, {"split": "validation"}]
)
def test_runs_on_samples_or_validation_rows_never_enter(changes):
    assert left_out(record(**changes))
    (found,) = results_of([record(seed=0), record(seed=1, **changes)])
    assert found.seeds == (0,)


def test_results_have_the_papers_order_then_others():
    names = [
        ("mnist-addition-25", "conventional"), ("mnist-addition-25", "paper"),
        ("mnist-addition-25", "best"), ("mnist-addition-25", "a"), ("mnist-addition-100", "best"),
        ("liars-puzzle", "best"), ("a-row", "best"), ("mine", "best"),
    ]  # fmt: skip
    found = results_of([record(experiment=row, method=method) for row, method in sorted(names)])
    assert [(result.experiment, result.method) for result in found] == names


def test_two_records_of_one_run_are_an_error():
    with pytest.raises(ConfigError, match=r"one record per experiment, .* Got two .* seed 0"):
        results_of([record(), record(accuracy=0.5)])


@pytest.mark.parametrize("share", [98.1, float("nan"), -0.1, "0.9", None])
def test_an_accuracy_that_is_no_share_is_an_error(share):
    with pytest.raises(ConfigError, match=r"accuracy is a share from 0 to 1. Got"):
        results_of([record(accuracy=share)])


def test_json_has_exactly_the_keys_for_machines():
    objects = json.loads(results_json(made()))
    assert [list(one) for one in objects] == [KEYS] * 5
    best = objects[2]
    assert best["accuracy"] == [98.0, 99.0, 98.5]
    assert best["mean"] == pytest.approx(98.5)
    assert best["epoch_ratio"] == 1.1
    assert objects[0]["representation"] is None


def test_ours_stand_beside_the_papers():
    accuracy, times = tables(made())
    assert [column.title for column in accuracy.columns] == [
        "experiment", "method", "test accuracy, %", "symbols read, %",
        "what differs from the paper",
    ]  # fmt: skip
    assert accuracy.rows == (
        ("MNIST+ 10 %", "conventional, paper †", "10.0", DASH, DASH),
        ("", "conventional", "10.0 ± 0.0", DASH, DASH),
        ("", "SMTLayer, paper †", "98.1", DASH, DASH),
        ("", "ours, paper's recipe", "97.0 ± 0.0", "99.0", DASH),
        ("", "ours", "98.5 ± 0.5", "99.0", DASH),
        ("", "SATNet, paper †", "10.0", DASH, DASH),
        ("", "Scallop, paper †", "33.7", DASH, DASH),
        ("Liar's puzzle", "SMTLayer, paper †", "86.1", DASH, DASH),
        ("", "ours", "100.0 ± 0.0 (2)", "99.0", DASH),
        ("", "ours, theory as printed", "80.0 ± 0.0", "99.0", DASH),
        ("", "conventional, paper †", "54.2", DASH, DASH),
        ("", "SATNet, paper †", "84.6", DASH, DASH),
    )
    assert times.rows[:4] == (
        ("MNIST+ 10 %", "SMTLayer, paper †", "75.4", "7.1", f"10.6 {TIMES}", DASH),
        ("", "ours", "3.3", "3.0", f"1.10 ± 0.02 {TIMES}", "5"),
        ("", "SATNet, paper †", "31.0", "7.1", f"4.37 {TIMES}", DASH),
        ("", "Scallop, paper †", "96.3", "7.1", f"13.6 {TIMES}", DASH),
    )


def test_the_summary_has_six_columns_and_a_line_per_experiment():
    records = [record(seed=s, config=CONFIG) for s in range(3)]
    records += [record(method="one-rule", seed=s, accuracy=0.99) for s in range(2)]
    records += [record(method="conventional-same-budget", seed=s, accuracy=0.1) for s in range(3)]
    table = summary(results_of([*records, record(experiment="mine", method="own")]))
    assert len(table.columns) == 6
    assert table.rows == (
        ("MNIST+ 10 %", "10.0 ± 0.0", "98.1", "98.0 ± 0.0", "99.0 ± 0.0 (2)",
         "digits ≤ 9; shifts ≤ 2 px; Adam(0.001); 8 epochs; cores by confidence; log-odds"),
        ("mine", DASH, DASH, DASH, DASH, DASH),
    )  # fmt: skip


def test_the_table_of_one_rule_has_mean_and_extremes_over_the_seeds():
    records = [record(method="one-rule", seed=s, accuracy=0.98 + s / 100) for s in range(3)]
    records += [record(), record(experiment="mine", method="one-rule")]
    liars = record(experiment="liars-puzzle", method="one-rule-split-6", accuracy=1.0)
    assert one_rule_table(results_of([*records, liars])).rows == (
        ("MNIST+ 10 %", "3", "99.0", "98.0", "100.0", "5", "98.1"),
        ("Liar's puzzle, split 6", "1", "100.0", "100.0", "100.0", "5", DASH),
    )


def test_notes_say_what_is_quoted_and_how_many_seeds():
    accuracy, times = tables(made())
    notes = " ".join(accuracy.notes)
    assert "of 3 seeds, or of the number in brackets" in notes
    assert "† Quoted from the paper, Table 1" in notes
    assert "Data: mnist (MNIST+ 10 %); sentences (Liar's puzzle)." in notes
    assert "Ours: a GPU; the paper's †: NVIDIA RTX 3080." in " ".join(times.notes)


def test_markdown():
    lines = markdown(tables(made())).splitlines()
    assert lines[0].startswith("| experiment | method | test accuracy, % |")
    assert lines[1] == "| --- | --- | ---: | ---: | --- |"
    assert lines[6] == f"|  | ours | 98.5 ± 0.5 | 99.0 | {DASH} |"
    assert {line.count("|") for line in lines if line.startswith("|")} == {6, 7}
    assert r"a\|b" in markdown(tables(results_of([record(experiment="a|b")])))
    assert markdown([summary(made())]).count("\n") == 3  # no notes


def test_nothing_is_bold():
    shapes = (markdown(tables(made())), latex(tables(made())), html(tables(made())))
    assert not any(mark in text for text in shapes for mark in ("**", "textbf", "<b>", "<strong"))


def test_latex_is_whole_and_escaped():
    text = latex(
        tables(results_of([record(accuracy=0.985), record(experiment="R&D_{x}~", data="a#b$c")]))
    )
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") == 2
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 2
    assert r"MNIST+ 10 \% & SMTLayer, paper $^\dagger$ & 98.1 & -- & --" in text
    assert r"R\&D\_\{x\}\textasciitilde{} &" in text
    assert r"a\#b\$c" in text
    assert r"\emph{digits $\leq$ 9}" in text
    assert not any(sign in text for sign in ("±", "†", "≤", DASH, TIMES))
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert all(line.replace(r"\&", "").count("&") == 4 for line in body)


class Structure(HTMLParser):
    """Tags that are opened and closed, and the cells of rows."""

    def __init__(self):
        super().__init__()
        self.open, self.rows = [], []

    def handle_starttag(self, tag, attributes):
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += int(dict(attributes).get("colspan", 1))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_whole_escaped_and_needs_nothing_else():
    text = html(tables([*made(), *results_of([record(experiment="<R&D>")])]), "A & B")
    page = Structure()
    page.feed(text)
    assert page.open == []
    assert set(page.rows) == {5, 6}
    assert "<td>98.5 ± 0.5</td>" in text
    assert "<em>digits ≤ 9</em>" in text
    assert "&lt;R&amp;D&gt;" in text
    assert "<title>A &amp; B</title>" in text
    assert "src=" not in text
    assert "href=" not in text


def shown(table, width):
    from rich.console import Console

    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(terminal(table, width))
    return captured.get()


def test_the_terminal_shows_one_line_per_method_and_wraps_only_the_last_column():
    accuracy, _ = tables(
        [*made(), *results_of([record(experiment="mnist-addition-25", config=CONFIG)])]
    )
    for width in (terminal_width(accuracy), 100):
        lines = shown(accuracy, width).splitlines()
        assert all(len(line) <= width for line in lines)
        line = next(line for line in lines if "98.5 ± 0.5" in line)
        assert " ".join(line.split()) == f"ours 98.5 ± 0.5 99.0 {DASH}"
        text = " ".join(" ".join(lines).split())
        assert "digits ≤ 9; shifts" in text
        assert "*" not in text


def test_a_folder_is_read_and_other_files_in_it_are_not(tmp_path):
    keep(tmp_path, record(), record(seed=1), timing())
    (tmp_path / "mnist-addition-10" / "seed-0.json").write_text("of an older version")
    (tmp_path / "mnist-addition-10" / "notes.txt").write_text("hello")
    found = read_results(tmp_path)
    assert (len(found.records), len(found.timings)) == (2, 1)
    assert holds_records(tmp_path)
    assert not holds_records(tmp_path / "nowhere")


def test_a_folder_without_records_says_so(tmp_path):
    keep(tmp_path, timing())
    with pytest.raises(MissingDataError, match=r"needs records .* There are none: train with"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"experiment": ', r"best-seed0.json is not a record: Expecting value.* run it again"),
        ('{"experiment": "mnist-addition-10"}', r"it has no method, seed, data, .* Remove it"),
        ("[]", r"it has no experiment, method"),
        (json.dumps(record(seed=7)), r"should hold .*best, 0 by its name. It holds .*best, 7"),
        (json.dumps(record(epoch_seconds=float("nan"))), r"a time in it is not a number"),
    ],
)
def test_a_file_that_is_not_the_record_it_is_named_after(tmp_path, text, message):
    keep(tmp_path, record())
    (tmp_path / "mnist-addition-10" / "best-seed0.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_results(tmp_path)


def test_a_timing_in_the_wrong_place_is_an_error(tmp_path):
    keep(tmp_path, record(), timing())
    path = tmp_path / "mnist-addition-10" / "best-timing.json"
    path.rename(path.with_name("paper-timing.json"))
    with pytest.raises(ConfigError, match="should hold mnist-addition-10, paper by its name"):
        read_results(tmp_path)


def test_the_plot_is_a_picture_of_all_rows(tmp_path):
    results = [*made(), *results_of([record(experiment="mine", method="own", accuracy=1.0)])]
    small = draw_table(results[:1], tmp_path / "new" / "small.png").read_bytes()
    large = draw_table(results, tmp_path / "large.png").read_bytes()
    assert small.startswith(b"\x89PNG")
    height = [int.from_bytes(picture[20:24], "big") for picture in (small, large)]
    assert height[1] > height[0]


def test_the_scale_of_the_plot_rises_and_ends():
    spots = [_position(accuracy) for accuracy in (0, 50, 98, 99, 99.9, 99.96, 100)]
    assert spots[0] == 0
    assert spots == sorted(spots)
    assert spots[-1] == spots[-2]  # no error at all is drawn as the least


def test_the_pages_state_what_the_records_say(tmp_path):
    marks = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    for path in (ROOT / "README.md", ROOT / "docs" / "explain" / "results.md"):
        assert path in marks["PAGES"]
        page = path.read_text()
        assert marks["filled"](page) == page, "run: python benchmarks/tables.py --write"
    assert "<!-- table1 -->\n" in page


def test_a_page_is_filled_from_records(tmp_path):
    marks = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    keep(tmp_path, record(), record(seed=1), record(seed=2, data="sample"))
    text = marks["table1"](tmp_path)
    assert text.startswith("| experiment | method |")
    assert "98.0 ± 0.0" in text
    assert marks["table1"](tmp_path / "nowhere") == "No records yet."
