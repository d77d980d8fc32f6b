"""`smtlayer evaluate`: scores of trained runs, again."""

import json
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from shell import smtlayer
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_cli.app import app
from smtlayer_studies.runs import RunConfig, run

SMALL = {"epochs": 1, "rows": 64, "batch_size": 16, "test_rows": 60}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run with the layer, one without, and one that sets validation rows apart."""
    folder = tmp_path_factory.mktemp("runs")
    task = {"name": "mnist-addition", "data": "sample"}
    best = RunConfig.of(
        {"task": task, "train": SMALL},
        experiment="mnist-addition-10",
        method="best",
        seed=0,
        device="cpu",
    )
    run(best, folder / "two" / "best")
    run(replace(best, method="conventional", layer=None), folder / "two" / "conventional")
    run(replace(best, task={**task, "validation": 0.1}), folder / "apart")
    return folder


def evaluate(*words, code=0):
    answer = CliRunner().invoke(app, ["evaluate", *map(str, words)])
    assert answer.exit_code == code, answer.output
    return answer


def printed(*words, code=0):
    return [json.loads(line) for line in evaluate(*words, "--json", code=code).stdout.splitlines()]


def test_a_run_is_scored_as_its_record_says(runs):
    (best,) = printed(runs / "two" / "best")
    record = json.loads((runs / "two" / "best" / "record.json").read_text())
    assert best["scores"] == best["record"] == record["scores"]
    assert set(best["differences"].values()) == {0.0}
    assert best["changed"] == {}
    assert (best["experiment"], best["method"], best["data"]) == (
        "mnist-addition-10",
        "best",
        "sample",
    )
    assert (best["examples"], best["options"]["split"]) == (60, "test")
    assert best["seconds"] > 0


def test_a_folder_of_runs_is_all_of_them_and_nothing_is_written(runs):
    before = sorted(path for path in runs.rglob("*"))
    assert [one["method"] for one in printed(runs / "two")] == ["conventional", "best"]
    assert [one["method"] for one in printed(runs / "two" / "best", runs / "apart")] == ["best"] * 2
    assert sorted(path for path in runs.rglob("*")) == before


def test_another_rule_backend_and_number_of_examples_are_used_and_reported(runs):
    options = ("--inference", "smt", "--backend", "sat", "--weights", "softmax", "--rows", "20")
    (best,) = printed(runs / "two" / "best", *options)
    assert best["examples"] == 20
    assert best["changed"] == {
        "test_rows": 60, "inference": "maxsmt", "backend": "auto", "weights": "logit",
    }  # fmt: skip
    # Rows that contradict the theory cannot be right under this rule.
    (repaired,) = printed(runs / "two" / "best", "--backend", "sat", "--rows", "20")
    assert best["scores"]["accuracy"] <= repaired["scores"]["accuracy"]
    assert best["scores"]["representation"] == repaired["scores"]["representation"]


def test_rows_that_the_solver_gave_up_on_are_reported_with_a_remedy(runs, monkeypatch):
    import smtlayer_studies.runs as training

    true = training.evaluate
    monkeypatch.setattr(training, "evaluate", lambda *args: true(*args) | {"unanswered": 0.25})
    message = " ".join(evaluate(runs / "two" / "best").stdout.split())
    assert "The solver gave up on 25.0 % of the examples" in message
    assert "--timeout-ms 10000" in message


def test_backends_agree(runs):
    scores = [
        printed(runs / "two" / "best", "--backend", backend, "--rows", "30")[0]["scores"][
            "overruled"
        ]
        for backend in ("table", "circuit", "sat", "z3", "enumerate")
    ]
    assert len(set(scores)) == 1


def test_validation_and_test_rows_of_a_run_that_has_both(runs):
    (validation,) = printed(runs / "apart")
    assert validation["options"]["split"] == "validation"
    (test,) = printed(runs / "apart", "--split", "test")
    assert test["changed"] == {"split": "validation"}
    assert "unseen_accuracy" in test["scores"]  # test rows show all pairs of digits
    assert "unseen_accuracy" not in validation["scores"]
    (of_two,) = printed(runs / "two" / "best", "--split", "test")
    assert of_two["changed"] == {}


def test_validation_rows_that_were_not_set_apart_are_an_error(runs):
    answer = evaluate(runs / "two" / "best", "--split", "validation", code=1)
    assert isinstance(answer.exception, ConfigError)
    assert "set task.validation" in str(answer.exception)


def test_people_see_scores_beside_the_record(runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = evaluate(runs / "two", "--inference", "smt").stdout
    lines = shown.splitlines()
    assert all(len(line) <= 80 for line in lines if str(runs) not in line)
    assert [line.split() for line in lines if line.startswith("  score")] == [
        ["score", "record", "now", "difference"]
    ] * 2
    assert sum(line.startswith("  accuracy ") for line in lines) == 2
    message = " ".join(shown.split())
    assert "60 test examples of sample, in" in message
    assert "Differs from the record in: inference smt (was maxsmt)." in message
    assert "A conventional network: it has no layer whose options could change." in message


def test_a_score_that_moved_too_far_is_exit_code_four(runs, tmp_path):
    evaluate(runs / "two", "--tolerance", "0")
    moved = tmp_path / "moved"
    shutil.copytree(runs / "two" / "best", moved)
    record = json.loads((moved / "record.json").read_text())
    record["scores"]["accuracy"] += 0.01
    (moved / "record.json").write_text(json.dumps(record))
    evaluate(moved, "--tolerance", "0.02")
    (found,) = printed(moved, "--tolerance", "0.005", code=4)
    assert found["differences"]["accuracy"] == pytest.approx(-0.01)


def test_a_run_without_a_record_is_scored_all_the_same_but_not_compared(runs, tmp_path):
    shutil.copytree(runs / "two" / "best", tmp_path / "bare")
    (tmp_path / "bare" / "record.json").unlink()
    (bare,) = printed(tmp_path / "bare")
    assert bare["record"] == bare["differences"] == {}
    assert 0 <= bare["scores"]["accuracy"] <= 1
    done = smtlayer("evaluate", tmp_path / "bare", "--tolerance", "1")
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        "bare has no record, which --tolerance compares with. Leave out --tolerance" in done.stderr
    )


@pytest.mark.parametrize("scores", [{}, {"accuracy": float("nan")}])
def test_a_record_that_nothing_can_be_compared_with_is_exit_code_four(runs, tmp_path, scores):
    shutil.copytree(runs / "two" / "best", tmp_path / "odd")
    record = json.loads((tmp_path / "odd" / "record.json").read_text())
    (tmp_path / "odd" / "record.json").write_text(json.dumps(record | {"scores": scores}))
    assert evaluate(tmp_path / "odd").exit_code == 0
    assert evaluate(tmp_path / "odd", "--tolerance", "1", code=4).exit_code == 4


def test_unfinished_runs_are_left_out_among_others_and_an_error_alone(runs, tmp_path):
    shutil.copytree(runs / "two", tmp_path / "two")
    (tmp_path / "two" / "conventional" / "model.pt").unlink()
    answer = evaluate(tmp_path / "two", "--json")
    assert len(answer.stdout.splitlines()) == 1
    assert "Left out" in answer.stderr
    evaluate(tmp_path / "two", "--tolerance", "0", code=4)  # it was to be compared too
    answer = evaluate(tmp_path / "two" / "conventional", code=1)
    assert isinstance(answer.exception, MissingDataError)
    assert "is not finished" in str(answer.exception)


@pytest.mark.parametrize("file", ["model.pt", "record.json", "config.toml"])
def test_a_damaged_run_is_left_out_among_others_and_an_error_alone(runs, tmp_path, file):
    shutil.copytree(runs / "two", tmp_path / "two")
    for method, alone in (("conventional", False), ("best", True)):
        (tmp_path / "two" / method / file).write_text("row = ")
        answer = evaluate(tmp_path / "two", "--json", code=int(alone))
        assert len(answer.stdout.splitlines()) == (0 if alone else 1)
        assert alone or f"Left out {tmp_path / 'two' / method}: " in answer.stderr
    assert isinstance(answer.exception, ConfigError)
    answer = evaluate(tmp_path / "two" / "best", code=1)
    assert file in str(answer.exception)


def test_a_device_that_is_not_there_is_refused_before_anything_is_read(tmp_path):
    answer = evaluate(tmp_path, "--device", "nonsense", code=1)
    assert isinstance(answer.exception, ConfigError)
    assert "The device 'nonsense' cannot be used" in str(answer.exception)


def test_the_whole_command_prints_json_only(runs):
    done = smtlayer("evaluate", runs / "two" / "best", "--tolerance", "0", "--json")
    assert done.returncode == 0
    assert done.stderr in ("", f"scoring {runs / 'two' / 'best'} ...\n")  # if it lasts
    assert json.loads(done.stdout)["differences"]["accuracy"] == 0.0
