import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
import torch
import z3

from helpers import GivesUp
from smtlayer import SMTLayer, Theory, __version__
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import Epoch, RunRecord, Trainer, evaluate, run, time_epochs
from smtlayer_studies.runs.records import with_current_names
from smtlayer_studies.tasks.base import Batch, Model, Rows


@pytest.fixture(autouse=True)
def _bits(monkeypatch, task):
    module = import_module(
        "smtlayer_studies.runs.run"
    )  # the name `run` is a function in the package
    monkeypatch.setattr(module, "make_task", lambda options, data_dir: task)
    monkeypatch.setattr(
        "smtlayer_studies.runs.epoch_timing.make_task", lambda options, data_dir: task
    )


def test_a_run_leaves_configuration_record_and_weights(config, tmp_path):
    asked = config(seed=7)
    done = run(asked, tmp_path / "run")
    held = json.loads((tmp_path / "run" / "record.json").read_text())
    assert (held["experiment"], held["method"], held["seed"], held["split"]) == (
        "bits",
        "best",
        7,
        "test",
    )
    assert held["scores"] == done.record.scores
    assert set(held["scores"]) == {
        "accuracy", "unseen_accuracy", "seen_accuracy", "output_symbols", "representation",
        "symbols", "seen_symbols", "overruled",
    }  # fmt: skip
    assert held["config"]["train"]["epochs"] == 2
    assert held["epochs"][0]["solver"]["rows"] == 160
    assert held["epoch_seconds"] == pytest.approx(sum(e["seconds"] for e in held["epochs"]) / 2)
    assert held["versions"]["torch"] == torch.__version__
    assert held["versions"]["smtlayer"] == __version__
    assert set(held["machine"]) == {"system", "python", "device", "processor", "threads"}
    assert (tmp_path / "run" / "config.toml").read_text() == asked.to_toml()
    kept = torch.load(tmp_path / "run" / "model.pt")
    assert kept.keys() == done.model.state_dict().keys()
    assert RunRecord.read(tmp_path / "run" / "record.json") == done.record


def test_a_folder_may_be_text(config, tmp_path):
    run(config(train={"epochs": 1}), str(tmp_path / "new" / "run"))
    assert (tmp_path / "new" / "run" / "record.json").is_file()


@pytest.mark.parametrize("below", ["", "run"])
def test_a_folder_that_is_a_file_is_reported_before_training(config, tmp_path, below):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(ConfigError, match=r"notes.txt is a file. Choose another folder"):
        run(config(), path / below)
    assert path.read_text() == "mine"


def test_the_largest_seeds_begin_again_too(config, monkeypatch):
    module = import_module("smtlayer_studies.runs.run")
    monkeypatch.setattr(module, "evaluate", lambda *a: {"accuracy": 0.1})
    record = run(config(seed=2**53, train={"epochs": 1}, restarts={"most": 2})).record
    assert [r["seed"] for r in record.restarts] == [2**53, 2**53 - 1000]


def test_a_run_learns(config):
    scores = run(config(train={"epochs": 6})).record.scores
    assert scores["accuracy"] > 0.97
    assert scores["representation"] > 0.8  # where the answer is no, one false bit is enough


def test_a_file_that_is_no_record_is_an_error(tmp_path):
    path = tmp_path / "record.json"
    path.write_text('{"experiment": "x"}')
    with pytest.raises(ConfigError, match="is not the record of a run"):
        RunRecord.read(path)


def test_earlier_records_with_the_score_repaired_are_read_as_overruled():
    path = Path(__file__).parents[2] / "results" / "mnist-addition-10" / "best-seed0.json"
    held = json.loads(path.read_text())["scores"]
    assert "repaired" in held
    read = RunRecord.read(path).scores
    assert read == {name: held[name] for name in held if name != "repaired"} | {
        "overruled": held["repaired"]
    }


def test_solver_counts_of_earlier_records_are_read_by_their_present_names():
    path = Path(__file__).parents[2] / "results" / "mnist-addition-10" / "best-seed0.json"
    held = json.loads(path.read_text())["epochs"][-1]["solver"]
    read = RunRecord.read(path).epochs[-1]["solver"]
    now = [read.pop(name) for name in ("correct", "blamed", "without_gradient")]
    assert now == [held.pop(name) for name in ("settled", "asked", "silent")]
    assert read == held


@pytest.mark.parametrize(
    ("method", "kind"), [("best", "distillation"), ("own-network", "placement-search")]
)
def test_the_pretraining_of_earlier_records_is_read_by_its_present_name(method, kind):
    path = Path(__file__).parents[2] / "results" / "visual-algebra-2" / f"{method}-seed0.json"
    assert json.loads(path.read_text())["config"]["pretrain"]["kind"] in ("teacher", "scouts")
    assert RunRecord.read(path).config["pretrain"]["kind"] == kind
    assert with_current_names({"pretrain": {"scout_lr": 0.5}})["pretrain"] == {"placement_lr": 0.5}


def test_a_record_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"no record .*record.json. Name the folder of a fin"):
        RunRecord.read(tmp_path / "record.json")


def test_trainings_that_fail_begin_again_and_the_best_by_training_rows_is_kept(
    config, task, monkeypatch
):
    judged = iter([0.3, 0.8, 0.5])
    module = import_module("smtlayer_studies.runs.run")
    monkeypatch.setattr(module, "evaluate", lambda *a: {"accuracy": next(judged, 0.42)})
    record = run(config(seed=2, restarts={"most": 3, "enough": 0.9})).record
    assert [r["seed"] for r in record.restarts] == [2, 1002, 2002]
    assert [r["training_accuracy"] for r in record.restarts] == [0.3, 0.8, 0.5]
    assert record.scores == {"accuracy": 0.42}
    kept = Trainer(task, config(seed=1002))
    kept.run()
    assert [e["loss"] for e in record.epochs] == [e.loss for e in kept.epochs]


def test_a_training_that_is_good_enough_is_the_last(config):
    record = run(config(restarts={"most": 5, "enough": 0.01})).record
    assert record.restarts == []


def test_the_split_that_the_task_names_is_scored_alone(config, task):
    asked = []

    def rows(split, count, seed, epoch=0):
        asked.append(split)
        return type(task).rows(task, "train", count, seed, epoch)

    task.rows, task.scored_split = rows, "validation"
    record = run(config()).record
    assert record.split == "validation"
    assert "test" not in asked


def test_timing_takes_turns_and_drops_the_first_epoch(config):
    (timing,) = time_epochs([config(layer=False), config()], 2)
    assert (timing.experiment, timing.method, timing.epochs) == ("bits", "best", 2)
    assert timing.ratio == pytest.approx(timing.epoch_seconds / timing.conventional_epoch_seconds)
    assert timing.epoch_seconds > 0


def test_a_method_is_timed_beside_itself_with_a_dense_head(config, monkeypatch):
    module, turns = import_module("smtlayer_studies.runs.epoch_timing"), []

    class Clock:
        """Each epoch is two seconds longer than the one before, twice that with a layer."""

        def __init__(self, task, config):
            self.name = (config.layer is not None, config.train.batch_size, config.train.shift)
            self.scale, self.epochs = 1 if config.layer is None else 2, config.train.epochs

        def each_epoch(self):
            for i in range(self.epochs):
                turns.append(self.name)
                yield Epoch("train", 0, 0, self.scale * (1 + 2 * i), {})

    monkeypatch.setattr(module, "Trainer", Clock)
    small, large, moved = (
        replace(config(train={"batch_size": size, "shift": shift}), method=name)
        for name, size, shift in (("small", 4, 0), ("large", 32, 0), ("moved", 32, 1))
    )
    twin = replace(large, method="twin")  # shares the conventional epochs of `large`
    found = time_epochs([config(layer=False), small, large, twin, moved], 2)
    assert [t.method for t in found] == ["small", "large", "twin", "moved"]
    for timing in found:
        assert timing.seconds == (6, 10)  # the first epoch, of two seconds, is dropped
        assert timing.conventional_seconds == (3, 5)
        assert (timing.ratio, timing.ratio_sd) == (2, 0)
    once = [(False, 4, 0), (True, 4, 0), (False, 32, 0), (True, 32, 0), (True, 32, 0),
            (False, 32, 1), (True, 32, 1)]  # fmt: skip
    assert turns == once * 3


def test_the_spread_of_a_ratio_is_over_pairs_of_epochs_that_ran_together(config):
    module = import_module("smtlayer_studies.runs.epoch_timing")
    timing = module._timing(config(), [2.0, 3.0], [1.0, 2.0])
    assert timing.ratio == pytest.approx(5 / 3)
    assert timing.ratio_sd == pytest.approx(0.5**0.5 / 2)  # of 2 and 1.5


def test_timing_without_a_layer_is_refused(config):
    with pytest.raises(ConfigError, match="needs a method with a layer"):
        time_epochs([config(layer=False)], 1)


def test_a_timing_is_written_with_its_machine(config, tmp_path):
    (timing,) = time_epochs([config()], 1)
    held = json.loads(timing.write(tmp_path, "cpu").read_text())
    assert held["ratio"] == timing.ratio
    assert held["machine"]["device"] == "cpu"


class Reader(torch.nn.Module):
    """The features are the logits."""

    def forward(self, features):
        return features


def test_scores_count_rows_combinations_not_shown_and_symbols():
    a, b, both = z3.Bools("a b both")
    theory = Theory([both == z3.And(a, b), z3.Or(a, b)], inputs=[a, b], outputs=[both])
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0], [-2.0, -1.0], [1.0, -1.0]])
    targets = torch.tensor([[0.0], [0.0], [0.0], [1.0]])
    seen = torch.tensor([True, False, True, False])
    symbols = torch.tensor([[1, -1]] * 4, dtype=torch.int8)
    rows = Rows(logits, targets, symbols, seen)
    scores = evaluate(Model(Reader(), SMTLayer(theory)), rows, theory, "cpu")
    assert scores == {
        "accuracy": 0.5, "unseen_accuracy": 0.0, "seen_accuracy": 1.0, "output_symbols": 0.5,
        "representation": 6 / 8, "symbols": 6 / 8, "seen_symbols": 3 / 4, "overruled": 0.25,
    }  # fmt: skip


def test_rows_that_the_solver_gave_up_on_are_neither_right_nor_overruled():
    a, b, both = z3.Bools("a b both")
    theory = Theory(both == z3.And(a, b), inputs=[a, b], outputs=[both])
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0], [-2.0, -1.0], [1.0, 1.0]])
    symbols = torch.ones(4, 2, dtype=torch.int8)
    rows = Rows(logits, (logits > 0).all(-1, keepdim=True).float(), symbols, torch.ones(4).bool())
    layer = SMTLayer(theory, backend=GivesUp((1, 1)))
    scores = evaluate(Model(Reader(), layer), rows, theory, "cpu")
    assert (scores["accuracy"], scores["overruled"], scores["unanswered"]) == (0.5, 0.0, 0.5)


def test_inputs_that_are_not_known_and_outputs_not_asked_count_for_nothing():
    a, b = z3.Bools("a b")
    theory = Theory(a == b, inputs=[a, b], outputs=[a, b])
    logits = torch.tensor([[1.0, -9.0]])
    symbols = torch.tensor([[1, 0]], dtype=torch.int8)
    known, asked = torch.tensor([[True, False]]), torch.tensor([[False, True]])
    rows = Rows(logits, torch.ones(1, 2), symbols, torch.tensor([True]), known, asked)
    scores = evaluate(Model(Reader(), SMTLayer(theory)), rows, theory, "cpu")
    assert scores["representation"] == 1.0
    misread = Rows(-logits, torch.ones(1, 2), symbols, torch.tensor([True]), known, asked)
    assert (
        evaluate(Model(Reader(), SMTLayer(theory)), misread, theory, "cpu")["representation"] == 0
    )
    assert scores["overruled"] == 0.0
    assert scores["output_symbols"] == 1.0
    assert "unseen_accuracy" not in scores


def test_a_row_without_a_model_is_never_right():
    outputs = torch.tensor([[0.0, 0.0], [-1.0, -1.0]])
    batch = Batch(outputs, torch.zeros(2, 2), outputs, outputs)
    assert batch.correct(outputs, all_outputs=True).tolist() == [False, True]


def test_a_conventional_network_is_held_to_what_was_asked_alone():
    outputs = torch.tensor([[1.0, 1.0]])
    targets, asked = torch.tensor([[1.0, 0.0]]), torch.tensor([[True, False]])
    batch = Batch(outputs, targets, outputs, outputs, asked=asked)
    assert batch.correct(outputs, all_outputs=False).tolist() == [True]
    assert batch.correct(outputs, all_outputs=True).tolist() == [False]
