import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from smtlayer import __version__
from smtlayer.cli import app

run = CliRunner().invoke


def test_help_names_every_command():
    answer = run(app, ["--help"])
    assert answer.exit_code == 0
    for command in ("train", "bench", "cache"):
        assert command in answer.output


def test_version():
    assert run(app, ["--version"]).output == f"smtlayer {__version__}\n"


def test_train_lists_its_tasks():
    answer = run(app, ["train", "--help"])
    assert answer.exit_code == 0
    assert "mnist-addition" in answer.output


def test_a_small_training_shows_both_networks_and_writes_record_and_picture(tmp_path):
    answer = run(app, [
        "train", "mnist-addition", "--data", "sample", "--rows", "64", "--batch-size", "16",
        "--epochs", "1", "--out", str(tmp_path / "run"),
    ])  # fmt: skip
    assert answer.exit_code == 0, answer.output
    for text in ("SMTLayer", "conventional", "combinations", "a sample of 5,000 MNIST images"):
        assert text in answer.output
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert record["task"] == "mnist-addition"
    assert set(record["methods"]) == {"smtlayer", "conventional"}
    assert "representation" not in record["methods"]["conventional"]["scores"]
    picture = (tmp_path / "run" / "examples.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_the_same_seed_gives_the_same_scores_for_both_networks(tmp_path):
    scores = []
    for name in ("one", "two"):
        run(app, [
            "train", "mnist-addition", "--data", "sample", "--rows", "32", "--batch-size", "16",
            "--epochs", "1", "--seed", "3", "--out", str(tmp_path / name),
        ])  # fmt: skip
        methods = json.loads((tmp_path / name / "record.json").read_text())["methods"]
        scores.append({name: method["epochs"][0]["loss"] for name, method in methods.items()})
    assert scores[0] == scores[1]


def command_line(*arguments, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-m", "smtlayer", *arguments], capture_output=True, text=True, check=False,
        timeout=120, env=os.environ | environment,
    )  # fmt: skip


def test_an_error_of_the_library_is_one_line_and_exit_code_one(tmp_path):
    done = command_line("train", "mnist-addition", "--data", "mnist", "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("smtlayer: MNIST is needed")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "foo"], "smtlayer: The device 'foo' cannot be used"),
        (["--lr", "-1"], "smtlayer: lr must be above 0. Got -1.0."),
        (["--data-dir", "/no/such/place"], "smtlayer: MNIST is needed, and /no/such/place/mnist"),
    ],
)
def test_options_that_cannot_work_are_one_line(options, message):
    data = [] if "--data-dir" in options else ["--data", "sample"]
    done = command_line("train", "mnist-addition", *data, *options)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_missing_package_names_the_extra(tmp_path):
    (tmp_path / "typer.py").write_text("raise ImportError('no typer here', name='typer')")
    done = command_line("--help", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == (
        "The command line needs the typer package. Install it with: pip install smtlayer[tasks]\n"
    )


def test_bench_prints_ratios_for_people_and_machines():
    asked = ["bench", "layer", "step", "--repeats", "1", "--device", "cpu"]
    lines = run(app, [*asked, "--json"]).stdout.splitlines()
    ratios = [json.loads(line) for line in lines if line.startswith("{")]
    assert [ratio["name"] for ratio in ratios] == ["layer against z3", "training step"]
    assert all("met" in ratio for ratio in ratios)
    assert "x faster" in run(app, asked).stdout


@pytest.mark.slow
def test_bench_shows_starts():
    shown = run(app, ["bench", "startup"]).stdout
    assert "visual Sudoku" in shown
    assert "from the cache" in shown


def test_bench_refuses_what_it_does_not_know():
    done = run(app, ["bench", "everything"])
    assert done.exit_code == 2
    assert "everything" in done.output


@pytest.mark.slow
def test_bench_shows_how_questions_scale(tmp_path):
    picture = tmp_path / "scaling.png"
    shown = run(app, ["bench", "scaling", "--plot", str(picture)])
    assert "Sudoku, 16 x 16" in shown.stdout
    assert picture.exists()
