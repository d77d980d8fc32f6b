"""Records of benchmarks name commit, date and machine, and can be made again."""

import json
import runpy
from datetime import datetime
from pathlib import Path

import pytest

from made_records import record
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
    assert {path.name for path in FILES} - {"validation.jsonl"} == {
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


def test_trainings_are_dropped_before_they_are_made_again(tmp_path):
    file = tmp_path / "learning.jsonl"
    text = "".join(
        json.dumps({"method": method, "seed": seed}) + "\n"
        for method in ("ours", "ltn", "klay")
        for seed in (0, 1)
    )
    for methods, left in (
        ((), ["ours", "ours", "ltn", "ltn", "klay", "klay"]),
        (("ltn",), ["ours", "ours", "klay", "klay"]),
        (("ltn", "ours"), ["klay", "klay"]),
        (("all",), []),
    ):
        file.write_text(text)
        RECORD["drop"](file, methods)
        assert [kept["method"] for kept in lines_of(file)] == left
    file.write_text(text)
    with pytest.raises(SystemExit, match=r"all or names among klay, ltn, ours\. Got lnt\."):
        RECORD["drop"](file, ["ltn", "lnt"])
    assert file.read_text() == text
