import json

import pytest
import torch

from smtlayer import SMTLayer, __version__
from smtlayer.tasks import Batch, MnistAddition, load_digits
from smtlayer.tasks.base import Model
from smtlayer.training import RunRecord, TrainOptions, evaluate, train
from smtlayer.training.trainer import _correct, _rate


@pytest.fixture(scope="module")
def task():
    return MnistAddition(load_digits("sample"), percent=10)


def test_a_short_training_lowers_the_loss_and_reports_each_epoch(task):
    steps = []
    options = TrainOptions(epochs=2, rows=480, batch_size=16, test_rows=200, warmup=0.1)
    _, history = train(
        task, SMTLayer(task.theory), options, lambda step, loss: steps.append((step, loss))
    )
    assert [step for step, _ in steps] == list(range(1, 61))
    first, last = history.epochs
    assert last.loss < first.loss
    assert last.solver["asked"] + last.solver["settled"] == 480
    assert last.solver["rows"] == 480
    assert 0 < last.solver["solver_seconds"] < last.seconds
    assert set(history.scores) == {"accuracy", "unseen_accuracy", "representation"}


def test_the_same_seed_trains_the_same_network(task):
    options = TrainOptions(epochs=1, rows=64, batch_size=16, test_rows=100)
    networks = [train(task, SMTLayer(task.theory), options)[0].network for _ in range(2)]
    for one, two in zip(*(n.parameters() for n in networks), strict=True):
        assert torch.equal(one, two)


class Reader(torch.nn.Module):
    """Knows the digits of a batch of fake images: the pixels are the logits."""

    def forward(self, features):
        return features.flatten(1)


class FakeTask:
    """Two bits, their sum; every second row wrong in the way that the pixels say."""

    def __init__(self, theory, logits, targets, seen):
        self.theory = theory
        self._parts = (logits, targets, seen)

    def draw(self, split, count, generator):
        logits, targets, seen = self._parts
        symbols = torch.tensor([[1, -1]] * len(logits), dtype=torch.int8)
        return Batch(logits, targets, symbols, seen)


def test_scores_count_rows_combinations_not_shown_and_symbols():
    import z3

    a, b, both = z3.Bools("a b both")
    from smtlayer import Theory

    theory = Theory(both == z3.And(a, b), inputs=[a, b], outputs=[both])
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    targets = torch.tensor([[0.0], [0.0], [0.0], [1.0]])
    seen = torch.tensor([True, False, True, False])  # right just where seen
    task = FakeTask(theory, logits, targets, seen)
    options = TrainOptions(test_rows=4)
    scores = evaluate(task, Model(Reader(), SMTLayer(theory)), options)
    assert scores == {"accuracy": 0.5, "unseen_accuracy": 0.0, "representation": 0.75}


def test_a_row_without_a_model_is_never_right():
    outputs = torch.tensor([[0.0, 0.0], [-1.0, -1.0]])
    batch = Batch(outputs, torch.zeros(2, 2), outputs, outputs)
    assert _correct(outputs, batch).tolist() == [False, True]


def test_the_rate_rises_stays_and_falls_to_zero():
    options = TrainOptions(epochs=2, rows=100, batch_size=10, warmup=0.25, decay=0.5)
    rates = [_rate(step, options) for step in range(20)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[5:11] == pytest.approx([1.0] * 6)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] < 0.03


def test_a_record_holds_what_was_asked_and_what_came_out(task, tmp_path):
    options = TrainOptions(epochs=1, rows=32, batch_size=16, test_rows=50, seed=7)
    layer = SMTLayer(task.theory)
    _, history = train(task, layer, options)
    record = RunRecord.of(
        task=task.name, data=task.data, task_options={"percent": 10}, options=options,
        layer=str(layer), histories={"smtlayer": history},
    )  # fmt: skip
    held = json.loads(record.write(tmp_path / "run").read_text())
    assert held["data"] == "sample"
    assert held["train_options"]["seed"] == 7
    assert held["methods"]["smtlayer"]["scores"] == history.scores
    assert held["methods"]["smtlayer"]["epochs"][0]["solver"]["rows"] == 32
    assert held["versions"]["torch"] == torch.__version__
    assert held["versions"]["smtlayer"] == __version__
    assert set(held["machine"]) == {"system", "python", "device", "threads"}
