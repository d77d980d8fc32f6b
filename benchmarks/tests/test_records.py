"""Records of benchmarks name commit, date and machine, and can be made again."""

import json
import runpy
from datetime import datetime
from pathlib import Path

import pytest

from learn import settled
from learners import Progress
from made_records import record
from methods import METHODS
from problems import PROBLEMS
from shell import parsed

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.jsonl"))
RECORD = runpy.run_path(str(ROOT / "benchmarks" / "record.py"))


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_record_names_its_commit_date_and_machine_or_says_why_not(path):
    for kept in lines_of(path):
        assert {"commit", "written", "machine"} <= set(kept)
        assert datetime.fromisoformat(kept["written"]).tzinfo is not None
        assert (kept["commit"] and kept["machine"]) or "not recorded" in kept["origin"]


def test_all_kinds_of_records_can_be_made_again():
    assert {path.name for path in FILES} - {"validation.jsonl", "learning_earlier.jsonl"} == {
        file for file, _ in RECORD["FILES"].values() if file.endswith(".jsonl")
    }
    with pytest.raises(SystemExit, match=r"expects cpu, .* or validation\. Got gpu"):
        RECORD["main"](["gpu"])


def test_a_record_of_the_laboratory_is_made_again_with_the_same_options():
    for kept in lines_of(ROOT / "benchmarks" / "results" / "lab.jsonl"):
        given = parsed(*RECORD["lab_words"](kept)).params
        assert given["theory"] == kept["problem"]
        assert list(given["rules"]) == [run["rule"] for run in kept["runs"]]
        assert given["as_json"]
        options = {key: given[key] for key in ("steps", "lr", "late_lr", "noise")}
        assert options.items() <= kept["options"].items()


def validation_run(folder, split):
    config = {name: {"name": name} for name in ("task", "pretrain", "train", "layer")}
    epochs = [{"phase": "pretrain", "accuracy": 0.1}, {"phase": "train", "accuracy": 0.12345}]
    made = record(split=split, config=config, epochs=epochs)
    (folder / "record.json").write_text(json.dumps(made))
    return made


def test_a_validation_run_is_kept_with_its_options_and_origin(tmp_path):
    made = validation_run(tmp_path, "validation")
    kept = tmp_path / "validation.jsonl"
    RECORD["add_validation"]([tmp_path, tmp_path], kept)
    first, second = lines_of(kept)
    assert first == second
    assert first["train"] == {"name": "train"}
    assert first["training_accuracy"] == [0.1235]
    for name in ("experiment", "seed", "scores", "commit", "written", "machine"):
        assert first[name] == made[name]


def test_a_run_scored_on_test_rows_is_not_kept_among_validation_runs(tmp_path):
    validation_run(tmp_path, "test")
    with pytest.raises(SystemExit, match=r"scored on validation examples.*scored on test examples"):
        RECORD["add_validation"]([tmp_path], tmp_path / "validation.jsonl")


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def kept_of(kind, method, device="cpu"):
    return {"kind": kind, "method": method, "machine": {"device": device}}


def test_trainings_are_dropped_before_they_are_made_again(tmp_path):
    file, methods = tmp_path / "learning.jsonl", ("ours", "topk", "klay")
    text = lines(
        *(kept_of("accuracy", name) for name in methods for _ in range(2)),
        kept_of("accuracy", "topk", "NVIDIA H200"),
        kept_of("seconds", "topk"),
    )
    for again, left in (
        ((), ["ours", "ours", "topk", "topk", "klay", "klay", "topk", "topk"]),
        (("topk",), ["ours", "ours", "klay", "klay", "topk", "topk"]),
        (("topk", "ours"), ["klay", "klay", "topk", "topk"]),
    ):
        file.write_text(text)
        RECORD["drop"](file, again)
        assert [kept["method"] for kept in lines_of(file)] == left
    RECORD["drop"](file, ["topk"], "cuda")
    assert [kept["kind"] for kept in lines_of(file)] == ["accuracy", "accuracy", "seconds"]


def test_trainings_that_cannot_be_made_again_are_not_dropped(tmp_path, monkeypatch):
    file = tmp_path / "learning.jsonl"
    monkeypatch.setattr("methods.find_spec", lambda name: None if name == "klay" else name)
    file.write_text(lines(*(kept_of("accuracy", name) for name in ("ours", "klay"))))
    RECORD["drop"](file, ["all"])
    assert [kept["method"] for kept in lines_of(file)] == ["klay"]
    for name, device in (("klay", "cpu"), ("satnet-sudoku", "cpu"), ("klay", "cuda"), ("x", "cpu")):
        with pytest.raises(SystemExit, match=rf"can run here: conventional, .* Got {name}\. What"):
            RECORD["drop"](file, ["ours", name], device)
    assert [kept["method"] for kept in lines_of(file)] == ["klay"]


def test_new_timings_replace_those_of_the_same_device():
    cpu, gpu = (kept_of("seconds", "ours", name) for name in ("cpu", "NVIDIA H200"))
    trained = kept_of("accuracy", "ours")
    assert RECORD["untimed"](lines(trained, cpu, gpu), "cpu") == lines(trained, gpu)
    assert RECORD["untimed"](lines(trained, cpu, gpu), "cuda") == lines(trained, cpu)


def test_only_the_methods_named_are_trained_again(tmp_path, monkeypatch):
    commands, learning = [], RECORD["learning"]
    file = tmp_path / "learning.jsonl"
    file.write_text(lines(kept_of("accuracy", "topk"), kept_of("seconds", "topk")))
    monkeypatch.setitem(learning.__globals__, "RECORDS", tmp_path)
    monkeypatch.setitem(
        learning.__globals__, "output", lambda *words: commands.append(words) or "timed\n"
    )
    assert learning("topk") == "timed\n"
    (trained, timed) = commands
    assert trained[2:] == ("--device", "cpu", "--methods", "topk", "--into", file)
    assert timed[4] == "--time"
    assert learning() == "timed\n"
    assert commands[2][2:] == ("--device", "cpu", "--into", file)


def test_each_training_is_recorded_once_and_on_full_data():
    records = lines_of(ROOT / "benchmarks" / "results" / "learning.jsonl")
    trained = [r for r in records if r["kind"] == "accuracy"]
    assert len({(r["problem"], r["method"], r["seed"]) for r in trained}) == len(trained)
    assert not any("sample" in r.get("data", "") for r in trained)


def test_trainings_have_the_length_that_the_page_states():
    records = lines_of(ROOT / "benchmarks" / "results" / "learning.jsonl")
    for kept in (r for r in records if r["kind"] == "accuracy" and "training" in r):
        budget = METHODS[kept["method"]].budget(PROBLEMS[kept["problem"]])
        epochs = [Progress(**epoch) for epoch in kept["training"]]
        assert kept["batch_size"] == budget.batch_size
        if budget.until_settled and len(epochs) < budget.epochs:
            assert len(epochs) >= PROBLEMS[kept["problem"]].epochs
            assert settled(epochs)
        else:
            assert len(epochs) == budget.epochs
