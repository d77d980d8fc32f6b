import json
import os
import shutil
import signal

import pytest
from typer.testing import CliRunner

from shell import smtlayer
from smtlayer import SMTLayer, __version__
from smtlayer.errors import ConfigError
from smtlayer_cli.app import app

run = CliRunner().invoke


def test_help_names_every_command():
    answer = run(app, ["--help"])
    assert answer.exit_code == 0
    for command in ("train", "bench", "cache", "data"):
        assert command in answer.output


def test_version():
    assert run(app, ["--version"]).output == f"smtlayer {__version__}\n"


SMALL = [
    "--data",
    "sample",
    "--set",
    "train.rows=64",
    "--set",
    "train.test_rows=64",
    "--epochs",
    "1",
]


def test_train_names_its_options():
    answer = run(app, ["train", "--help"], terminal_width=100)
    assert answer.exit_code == 0
    for option in ("--epochs", "--seed", "--backend", "--forward", "--backward", "--workers",
                   "--device", "--data-dir", "--set", "--method"):  # fmt: skip
        assert option in answer.output


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, run(app, ["train", "mnist-addition", *SMALL, "--out", str(folder)])


def test_a_small_training_shows_both_networks_and_writes_all_of_a_run(trained):
    folder, answer = trained
    assert answer.exit_code == 0, answer.output
    for text in ("best", "conventional", "not shown", "a sample of 5,000 MNIST images"):
        assert text in " ".join(answer.output.split())  # lines are broken to the terminal's width
    for method in ("best", "conventional"):
        record = json.loads((folder / method / "record.json").read_text())
        assert (record["experiment"], record["method"]) == ("mnist-addition-10", method)
        assert record["data"] == "sample"
        assert ("representation" in record["scores"]) == (method == "best")
        assert {"config.toml", "model.pt", "checkpoint.pt", "curves.png"} <= {
            path.name for path in (folder / method).iterdir()
        }
    for command in (f"inspect {folder / 'best'} --failed", f"demo {folder / 'best'}",
                    f"report {folder / 'conventional'} {folder / 'best'}"):  # fmt: skip
        assert f"  smtlayer {command}\n" in answer.output
    picture = (folder / "best" / "examples.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_examples_that_the_solver_gave_up_on_are_reported_with_a_remedy(trained, tmp_path):
    folder = shutil.copytree(trained[0], tmp_path / "run")
    path = folder / "best" / "record.json"
    record = json.loads(path.read_text())
    record["scores"]["unanswered"] = 0.25
    path.write_text(json.dumps(record))
    answer = run(app, ["train", "mnist-addition", *SMALL, "--out", str(folder)])
    message = " ".join(answer.output.split())
    assert "best: the solver gave up on 25.0 % of the examples" in message
    assert "--set layer.timeout_ms=10000" in message


def test_a_finished_run_is_shown_again_and_not_done_again(trained):
    folder, _ = trained
    before = (folder / "best" / "record.json").read_text()
    answer = run(app, ["train", "mnist-addition", *SMALL, "--out", str(folder)])
    assert "finished earlier" in answer.output
    assert (folder / "best" / "record.json").read_text() == before


def test_a_folder_of_another_run_is_refused_again_and_again(trained):
    folder, _ = trained
    before = (folder / "conventional" / "config.toml").read_text()
    for _ in range(2):
        asked = ["train", "mnist-addition", *SMALL, "--seed", "5", "--out", str(folder)]
        done = run(app, asked)
        assert isinstance(done.exception, ConfigError)
        assert "belongs to a run with other options" in str(done.exception)
    assert (folder / "conventional" / "config.toml").read_text() == before


def test_the_same_seed_gives_the_same_losses_for_both_networks(trained, tmp_path):
    folder, _ = trained
    run(app, ["train", "mnist-addition", *SMALL, "--out", str(tmp_path)])
    for method in ("best", "conventional"):
        one, two = (json.loads((place / method / "record.json").read_text())
                    for place in (folder, tmp_path))  # fmt: skip
        assert one["epochs"][0]["loss"] == two["epochs"][0]["loss"]
        assert one["scores"] == two["scores"]


def test_options_reach_the_layer_and_the_record(tmp_path):
    answer = run(app, [
        "train", "mnist-addition", *SMALL, "--method", "best", "--out", str(tmp_path),
        "--seed", "3",
        "--backend", "sat", "--forward", "maxsmt", "--backward", "maxsmt",
    ])  # fmt: skip
    assert answer.exit_code == 0, answer.output
    config = json.loads((tmp_path / "record.json").read_text())["config"]
    layer = config["layer"]
    assert config["seed"] == 3
    assert (layer["backend"], layer["forward"], layer["backward"]) == ("sat", "maxsmt", "maxsmt")


def test_timing_writes_the_ratio_and_trains_nothing(tmp_path):
    answer = run(app, ["train", "mnist-addition", *SMALL, "--timing", "1", "--out", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    timing = json.loads((tmp_path / "best-timing.json").read_text())
    assert timing["ratio"] > 0
    assert "with a dense head in place of the layer" in " ".join(answer.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["best-timing.json"]


def test_ctrl_c_keeps_what_was_done_and_reports_how_to_continue(tmp_path, monkeypatch):
    forward, calls = SMTLayer.forward, []

    def stopped(layer, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return forward(layer, *arguments)

    monkeypatch.setattr(SMTLayer, "forward", stopped)
    done = smtlayer("train", "mnist-addition", *SMALL, "--method", "best", "--out", tmp_path)
    assert done.returncode == 130
    assert "The same command continues the run" in done.stdout.replace("\n", " ")
    assert (tmp_path / "checkpoint.pt").exists()


def test_missing_data_are_one_line_and_exit_code_three(tmp_path):
    done = smtlayer("train", "mnist-addition", "--data", "mnist", "--data-dir", tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("smtlayer: data: mnist-train-images is needed")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--device", "foo"], 2, "smtlayer: mnist-addition-10: The device 'foo' cannot be used"),
        (
            ["--set", "train.lr=-1"],
            2,
            "smtlayer: mnist-addition-10: train.lr should be greater than 0. Got -1",
        ),
        (
            ["--data-dir", "/no/such/place"],
            3,
            "smtlayer: data: mnist-train-images is needed, and /no/such/place/mnist",
        ),
    ],
)
def test_options_that_cannot_work_are_one_line(options, code, message):
    data = [] if "--data-dir" in options else ["--data", "sample"]
    done = smtlayer("train", "mnist-addition", *data, *options)
    assert done.returncode == code
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_bench_prints_ratios_for_people_and_machines():
    asked = ["bench", "--repeats", "1", "--device", "cpu"]
    lines = run(app, [*asked, "layer", "step", "--json"]).stdout.splitlines()
    ratios = [json.loads(line) for line in lines if line.startswith("{")]
    assert [ratio["name"] for ratio in ratios] == ["layer against z3", "training step"]
    assert all("met" in ratio for ratio in ratios)
    for ratio in ratios:
        assert ratio["machine"]["device"] == "cpu"
        assert ratio["machine"]["processor"]
        assert {"versions", "commit", "written"} <= set(ratio)
    assert "x faster" in run(app, [*asked, "layer"]).stdout


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
