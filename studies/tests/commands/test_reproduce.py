import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from made_records import keep, record, timing
from shell import smtlayer
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.commands import reproduce_steps
from smtlayer_studies.commands.choices import matching, parse_seeds
from smtlayer_studies.commands.reproduce import reproduce
from smtlayer_studies.reports.result_tables import DASH
from smtlayer_studies.runs import grid

ONLY = ("table1", "--records-only")
KEYS = [
    "experiment", "method", "seeds", "accuracy", "mean", "sd", "representation", "epoch_seconds",
    "conventional_epoch_seconds", "epoch_ratio", "epoch_ratio_sd", "timed_epochs", "data", "device",
    "differences",
]  # fmt: skip
# Stands in for `python -m smtlayer`: leaves a record of what it was printed.
FAKE = """
import json, pathlib, sys
sys.path.insert(0, {tests!r})
from made_records import record, timing
words = sys.argv[1:]
after = lambda word: words[len(words) - words[::-1].index(word)]
row, method, out = words[1], after("--method"), pathlib.Path(after("--out"))
print("printed", words)
if method == {fails!r}:
    sys.exit("no memory left")
out.mkdir(parents=True, exist_ok=True)
if "--timing" in words:
    path, made = out / (method + "-timing.json"), timing(row, method)
else:
    path, made = out / "record.json", record(row, method, int(after("--seed")), data={data!r})
path.write_text(json.dumps(made))
"""


@pytest.fixture
def folder(tmp_path):
    """Records of two rows, one of them of sample data too."""
    made = [record(method=m, seed=s) for m in ("conventional", "best") for s in range(2)]
    made += [record(experiment="visual-sudoku-10", seed=s, accuracy=0.9) for s in range(3)]
    made += [record(seed=7, data="sample"), record(seed=8, split="validation"), timing()]
    return keep(tmp_path / "made", *made)


@pytest.fixture
def trains(tmp_path, monkeypatch):
    """Replaces training by a script; returns where results and runs go."""

    def use(fails="", data="mnist"):
        script = tmp_path / "fake.py"
        tests = str(Path(__file__).parents[1])
        script.write_text(FAKE.format(tests=tests, fails=fails, data=data))
        monkeypatch.setattr(grid, "COMMAND", (sys.executable, str(script)))

    use()
    places = ("--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"))
    return use, places, tmp_path


def run(*arguments):
    return CliRunner().invoke(reproduce, arguments)


def test_json_from_records_and_nothing_else_on_stdout(folder):
    answer = run(*ONLY, "--json", "--results", str(folder))
    assert answer.exit_code == 0, answer.output
    objects = json.loads(answer.stdout)
    assert [list(one) for one in objects] == [KEYS] * 3
    assert [(one["experiment"], one["method"], one["seeds"]) for one in objects] == [
        ("mnist-addition-10", "conventional", [0, 1]),
        ("mnist-addition-10", "best", [0, 1]),  # neither sample nor validation
        ("visual-sudoku-10", "best", [0, 1, 2]),
    ]
    assert objects[1]["accuracy"] == [98.0, 98.0]
    assert objects[1]["epoch_ratio"] == 1.1
    assert "1 records, sample data" in answer.stderr


def test_records_are_found_from_any_folder_of_a_checkout(folder, tmp_path, monkeypatch):
    checkout = tmp_path / "checkout"
    deep = checkout / "benchmarks"
    (checkout / "src" / "smtlayer").mkdir(parents=True)
    (checkout / "studies").mkdir()
    (deep / "results").mkdir(parents=True)  # has no records
    (checkout / "pyproject.toml").touch()
    folder.rename(checkout / "studies" / "results")
    for place in (checkout, deep):
        monkeypatch.chdir(place)
        assert len(json.loads(run(*ONLY, "--json").stdout)) == 3
    here = keep(tmp_path / "elsewhere" / "results", record())
    monkeypatch.chdir(here.parent)
    assert len(json.loads(run(*ONLY, "--json").stdout)) == 1


def test_nothing_found_is_an_error_that_says_where_it_looked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce_steps, "_SOURCE", tmp_path / "nowhere")
    answer = run(*ONLY, "--json")
    assert answer.exit_code == 1
    assert answer.stdout == ""
    assert isinstance(answer.exception, MissingDataError)
    assert f"There are none in {tmp_path / 'results'}: name their folder" in str(answer.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rows", "visual-algebra-1"], "experiments, methods and seeds chosen"),
        (["--seeds", "9"], "experiments, methods and seeds chosen"),
        (["--rows", "visual-sudoko-10"], "Did you mean 'visual-sudoku-10'?"),
        (["--methods", "bset"], "--methods expects names or patterns. None matches 'bset'."),
        (["--seeds", "1-"], "--seeds expects numbers or ranges"),
    ],
)
def test_choices_that_fit_nothing_are_errors(folder, options, message):
    answer = run(*ONLY, "--results", str(folder), *options)
    assert answer.exit_code == 1
    assert message in str(answer.exception)
    assert answer.stdout == ""


def test_a_folder_of_sample_records_only_is_an_error(tmp_path):
    answer = run(*ONLY, "--results", str(keep(tmp_path, record(data="sample"))))
    assert answer.exit_code == 1
    assert "scored on real test data. There are none" in str(answer.exception)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--rows", "mnist-*"], [("conventional", [0, 1]), ("best", [0, 1])]),
        (["--rows", "liars-puzzle,visual-*"], [("best", [0, 1, 2])]),
        (["--methods", "best", "--seeds", "1-2"], [("best", [1]), ("best", [1, 2])]),
        (["--methods", "conv*"], [("conventional", [0, 1])]),
    ],
)
def test_rows_methods_and_seeds_are_chosen(folder, options, expected):
    objects = json.loads(run(*ONLY, "--json", "--results", str(folder), *options).stdout)
    assert [(one["method"], one["seeds"]) for one in objects] == expected


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("terminal", "Test accuracy"),
        ("markdown", "| experiment | method |"),
        ("latex", "% needs \\usepackage{booktabs}"),
        ("html", "<!doctype html>"),
        ("json", "[\n  {"),
    ],
)
def test_formats(folder, tmp_path, form, start):
    asked = (*ONLY, "--results", str(folder), "--format", form)
    answer = run(*asked)
    assert answer.stdout.startswith(start)
    path = tmp_path / "new" / "table"
    written = run(*asked, "--out", str(path))
    assert written.stdout == ""
    assert path.read_text() == answer.stdout


@pytest.mark.parametrize(
    ("name", "start"), [("t.tex", "% needs"), ("t.html", "<!doctype"), ("t.txt", "Test accuracy")]
)
def test_the_end_of_a_file_name_says_the_format(folder, tmp_path, name, start):
    run(*ONLY, "--results", str(folder), "--out", str(tmp_path / name))
    assert (tmp_path / name).read_text().startswith(start)


def test_no_line_of_a_table_in_a_pipe_is_broken(folder):
    answer = run(*ONLY, "--results", str(folder))
    lines = [" ".join(line.split()) for line in answer.stdout.splitlines()]
    assert f"MNIST+ 10 % conventional, paper † 10.0 {DASH} {DASH}" in lines
    assert f"ours 98.0 ± 0.0 99.0 {DASH}" in lines


def test_the_plot_is_drawn(folder, tmp_path):
    answer = run(*ONLY, "--json", "--results", str(folder), "--plot", str(tmp_path / "t.png"))
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    json.loads(answer.stdout)


SMALL = ("--rows", "mnist-addition-1*,liars-puzzle", "--methods", "conventional,best")


def test_what_is_missing_is_trained_and_its_record_kept(trains):
    _, places, tmp_path = trains
    asked = ("table1", *SMALL, "--seeds", "0,1", "--jobs", "2", "--json", *places)
    answer = run(*asked)
    assert answer.exit_code == 0, answer.output
    assert [(one["experiment"], one["seeds"]) for one in json.loads(answer.stdout)] == [
        (row, [0, 1]) for row in ("mnist-addition-10", "mnist-addition-100", "liars-puzzle")
        for _ in range(2)
    ]  # fmt: skip
    kept = sorted(path.name for path in (tmp_path / "results" / "liars-puzzle").iterdir())
    assert kept == [f"{m}-seed{s}.json" for m in ("best", "conventional") for s in (0, 1)]
    log = tmp_path / "runs" / "liars-puzzle" / "best-seed0" / "log.txt"
    assert "'--device', 'cpu'" in log.read_text()
    again = run(*asked)
    assert "12 of 12 runs have a record" in again.stderr
    assert again.stdout == answer.stdout
    assert log.read_text().count("printed") == 1


def test_records_that_were_not_copied_yet_are_not_trained_again(trains):
    _, places, tmp_path = trains
    asked = ("table1", "--rows", "liars-puzzle", "--methods", "best", "--seeds", "0", *places)
    run(*asked)
    (tmp_path / "results" / "liars-puzzle" / "best-seed0.json").unlink()
    assert run(*asked).exit_code == 0
    assert (tmp_path / "results" / "liars-puzzle" / "best-seed0.json").exists()
    log = tmp_path / "runs" / "liars-puzzle" / "best-seed0" / "log.txt"
    assert log.read_text().count("printed") == 1


def test_a_failure_is_reported_with_its_log_and_the_others_are_shown(trains):
    use, places, _ = trains
    use(fails="conventional")
    answer = run("table1", *SMALL, "--seeds", "0", "--json", *places)
    assert answer.exit_code == 1
    assert [one["method"] for one in json.loads(answer.stdout)] == ["best"] * 3
    assert "liars-puzzle/conventional-seed0 failed: exit code 1. Log: " in answer.stderr
    assert "no memory left" in answer.stderr


def test_records_of_sample_data_are_not_kept(trains):
    use, places, tmp_path = trains
    use(data="sample")
    answer = run("table1", "--rows", "liars-puzzle", "--seeds", "0", *places)
    assert answer.exit_code == 1
    assert "liars-puzzle/best-seed0 is not put into" in answer.stderr
    assert not (tmp_path / "results").exists()


def test_timings_are_measured_on_request_and_kept(trains):
    _, places, tmp_path = trains
    asked = ("table1", "--rows", "liars-puzzle", "--methods", "conventional,best", "--seeds", "0")
    found = json.loads(run(*asked, "--timing", "--json", *places).stdout)
    assert [(one["epoch_seconds"], one["epoch_ratio"]) for one in found] == [
        (4.0, None),
        (3.3, 1.1),
    ]
    names = {path.name for path in (tmp_path / "results" / "liars-puzzle").iterdir()}
    assert names == {"conventional-seed0.json", "best-seed0.json", "best-timing.json"}


def test_a_smoke_run_takes_a_few_steps_and_touches_no_results(trains, monkeypatch):
    use, places, tmp_path = trains
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(tmp_path)
    answer = run("table1", "--smoke", *SMALL, *places)
    assert answer.exit_code == 0, answer.output
    assert answer.stdout == "6 of 6 runs work.\n"
    assert list(temporary.iterdir()) == []
    use(fails="best")
    answer = run("table1", "--smoke", *SMALL, *places)
    assert answer.exit_code == 1
    assert answer.stdout == "3 of 6 runs work.\n"
    (log, *_) = temporary.glob("*/liars-puzzle/best-seed0/log.txt")
    assert "'--set', 'train.epochs=1', '--set', 'train.rows=64'" in log.read_text()
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "runs").exists()


def test_a_device_that_cannot_be_used_stops_before_anything_runs(trains):
    _, places, tmp_path = trains
    answer = run("table1", "--device", "foo", *places)
    assert isinstance(answer.exception, ConfigError)
    assert "The device 'foo' cannot be used" in str(answer.exception)
    assert not (tmp_path / "runs").exists()


def test_being_told_to_end_is_taken_as_ctrl_c():
    def ended():
        with reproduce_steps._ended_by_sigterm():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(600)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        ended()
    assert signal.getsignal(signal.SIGTERM) is before


def test_choices():
    assert matching("--rows", [], ["a", "b"]) == ("a", "b")
    assert matching("--rows", ["b", "a"], ["a", "b", "c"]) == ("a", "b")
    assert parse_seeds("3,1-2,1") == (3, 1, 2)
    for text in ("", "a", "-1", "1-a", ","):
        with pytest.raises(ConfigError, match="--seeds expects"):
            parse_seeds(text)


def test_the_whole_command_prints_json_only(folder):
    done = smtlayer("reproduce", *ONLY, "--json", "--results", folder)
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) == 3
