"""Distillation: a teacher is placed and trained first, then the network learns from it."""

from importlib import import_module

import pytest
import torch
from torch import nn

from helpers import Stop
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import Trainer, run, time_epochs
from smtlayer_studies.runs.metrics import teacher_agreement
from smtlayer_studies.runs.optimizers import make_stepper
from smtlayer_studies.tasks.base import Pretraining

DISTILLED = {"pretrain": {"kind": "distillation", "epochs": 1, "batch_size": 16,
                          "optimizer": "adam", "lr": 0.02}}  # fmt: skip


class Search(nn.Module):
    """Counts its batches."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.register_buffer("batches", torch.zeros(()))

    def forward(self, batch):
        self.batches += 1
        loss = self.network(batch.features).pow(2).mean()
        return loss, torch.zeros_like(loss)


class Imitate(nn.Module):
    def __init__(self, network, teacher):
        super().__init__()
        self.network, self.teacher = network, teacher.requires_grad_(False)

    def forward(self, batch):
        wanted = (self.teacher(batch.features) > 0).float()
        logits = self.network(batch.features)
        right = ((logits > 0) == (wanted > 0)).all(-1).float().mean()
        return nn.functional.binary_cross_entropy_with_logits(logits, wanted), right


@pytest.fixture
def school(task):
    """The task of `conftest` with a teacher; `made` keeps the modules that the trainer makes."""
    task.made = {}

    def teacher():
        return task.made.setdefault("teacher", task.network())

    def placement_search(network, layer):
        return task.made.setdefault("search", Search(network))

    def distillation(network, teacher):
        task.made["before"] = [p.clone() for p in teacher.parameters()]
        return task.made.setdefault("student", Imitate(network, teacher))

    task.pretraining = Pretraining(
        placement_search=placement_search, teacher=teacher, distillation=distillation
    )
    return task


def test_a_teacher_trains_first_then_the_network_by_it_then_with_the_layer(school, config):
    trainer = Trainer(school, config(pretrain=DISTILLED["pretrain"] | {"epochs": 4}))
    model = trainer.run()
    assert [e.phase for e in trainer.epochs] == ["pretrain"] * 9 + ["train"] * 2
    assert school.made["search"].batches == 10
    assert school.made["search"].network is school.made["teacher"]
    with_layer = [bool(e.solver) for e in trainer.epochs]
    assert with_layer == [False] + [True] * 4 + [False] * 4 + [True] * 2
    assert trainer.epochs[8].accuracy > 0.9  # reads as the teacher does
    assert school.made["student"].network is model.network
    after = [p.detach() for p in school.made["teacher"].parameters()]
    assert all(map(torch.equal, school.made["before"], after))


def test_the_placement_search_has_one_epoch_and_its_learning_rate(school, config, monkeypatch):
    seen = []

    def noting(module, options, steps, device):
        seen.append((type(module).__name__, options.epochs, options.lr))
        return make_stepper(module, options, steps, device)

    monkeypatch.setattr("smtlayer_studies.runs.trainer.make_stepper", noting)
    options = DISTILLED["pretrain"] | {"epochs": 3, "placement_lr": 0.5}
    events = []
    Trainer(school, config(pretrain=options), on_step=events.append).run()
    assert [e.epochs for e in events if e.done == e.total] == [1, 3, 3, 2]
    titles = [
        "pretrain, placement search", "pretrain, teacher", "pretrain, student", "train",
    ]  # fmt: skip
    assert [e.title for e in events if e.done == e.total] == titles
    assert seen == [
        ("Search", 1, 0.5),
        ("Model", 3, 0.02),
        ("Imitate", 3, 0.02),
        ("Model", 2, 0.02),
    ]


@pytest.mark.parametrize("steps", [5, 10, 15, 20, 25, 30, 40])
def test_a_stopped_distillation_goes_on_to_the_same_result(school, config, tmp_path, steps):
    asked = config(**DISTILLED)
    whole = Trainer(school, asked)
    expected = whole.run()
    school.made.clear()
    with pytest.raises(KeyboardInterrupt):
        Trainer(school, asked, tmp_path, Stop(steps)).run()
    school.made.clear()
    torch.manual_seed(99)
    later = Trainer(school, asked, tmp_path)
    found = later.run()
    assert all(map(torch.equal, found.parameters(), expected.parameters()))
    assert [(e.phase, e.loss) for e in later.epochs] == [(e.phase, e.loss) for e in whole.epochs]
    states = [trainer.distillation.state_dict() for trainer in (later, whole)]
    assert all(map(torch.equal, *(state.values() for state in states)))  # the teacher as well


def test_agreement_is_the_share_of_images_that_are_read_as_the_teacher_reads_them(school):
    rows = school.rows("train", 700, 0)  # more than are scored at a time
    teacher, twin = school.network(), school.network()
    twin.load_state_dict(teacher.state_dict())
    assert teacher_agreement(Imitate(twin, teacher), rows, "cpu") == 1
    other = Imitate(school.network(), teacher)
    expected = ((other.network(rows.items.float()) > 0) == (teacher(rows.items.float()) > 0)).all(
        -1
    )
    assert 0 < expected.float().mean() < 1
    found = teacher_agreement(other, rows, "cpu")
    assert found == pytest.approx(expected.double().mean().item())


@pytest.mark.parametrize(("split", "images"), [("test", "train"), ("validation", "validation")])
def test_a_record_of_distillation_has_the_agreement_on_images_that_training_may_use(
    school, config, monkeypatch, split, images
):
    asked, seen = [], []

    def rows(split, count, seed, epoch=0):
        asked.append(split)
        return type(school).rows(school, "train", count, seed, epoch)

    def agreement(distillation, rows, device):
        seen.append((distillation, asked[-1]))
        return 0.75

    school.rows, school.scored_split = rows, split
    module = import_module("smtlayer_studies.runs.run")
    monkeypatch.setattr(module, "make_task", lambda options, data_dir: school)
    monkeypatch.setattr(module, "teacher_agreement", agreement)
    record = run(config(**DISTILLED)).record
    assert record.scores["teacher_agreement"] == 0.75
    assert seen == [(school.made["student"], images)]


def test_distillation_is_not_timed(school, config, monkeypatch):
    monkeypatch.setattr(
        "smtlayer_studies.runs.epoch_timing.make_task", lambda options, data_dir: school
    )
    (timing,) = time_epochs([config(**DISTILLED)], 1)
    assert (len(timing.seconds), len(timing.conventional_seconds)) == (1, 1)
    assert school.made == {}


def test_distillation_needs_a_task_that_offers_it(task, config):
    with pytest.raises(
        ConfigError, match="kind = 'distillation' needs a layer and a task that offers"
    ):
        Trainer(task, config(**DISTILLED)).run()
