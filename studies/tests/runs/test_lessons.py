"""A network of the task's own trains first, and teaches another."""

from importlib import import_module

import pytest
import torch
from torch import nn

from helpers import Stop
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import Trainer, run, time_epochs
from smtlayer_studies.runs.metrics import teacher_agreement
from smtlayer_studies.runs.trainer import make_stepper

LESSONS = {"pretrain": {"kind": "teacher", "epochs": 1, "batch_size": 16, "optimizer": "adam",
                        "lr": 0.02}}  # fmt: skip


class Scout(nn.Module):
    """Looks at the labels once; here it only counts."""

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
    """The task of `conftest`, with a teacher; `made` keeps the modules that were asked for."""
    task.made = {}

    def teacher():
        return task.made.setdefault("teacher", task.network())

    def scouts(network, layer):
        return task.made.setdefault("scout", Scout(network))

    def pupil(network, teacher):
        task.made["before"] = [p.clone() for p in teacher.parameters()]
        return task.made.setdefault("pupil", Imitate(network, teacher))

    task.teacher, task.scouts, task.pupil = teacher, scouts, pupil
    return task


def test_a_teacher_trains_first_then_the_network_by_it_then_with_the_layer(school, config):
    trainer = Trainer(school, config(pretrain=LESSONS["pretrain"] | {"epochs": 4}))
    model = trainer.run()
    assert [e.phase for e in trainer.epochs] == ["pretrain"] * 9 + ["train"] * 2
    assert school.made["scout"].batches == 10
    assert school.made["scout"].network is school.made["teacher"]
    with_layer = [bool(e.solver) for e in trainer.epochs]
    assert with_layer == [False] + [True] * 4 + [False] * 4 + [True] * 2
    assert trainer.epochs[8].accuracy > 0.9  # reads as the teacher does
    assert school.made["pupil"].network is model.network
    after = [p.detach() for p in school.made["teacher"].parameters()]
    assert all(map(torch.equal, school.made["before"], after))


def test_scouts_have_a_rate_and_an_epoch_of_their_own(school, config, monkeypatch):
    seen = []

    def noting(module, options, steps, device):
        seen.append((type(module).__name__, options.epochs, options.lr))
        return make_stepper(module, options, steps, device)

    monkeypatch.setattr("smtlayer_studies.runs.trainer.make_stepper", noting)
    lessons = LESSONS["pretrain"] | {"epochs": 3, "scout_lr": 0.5}
    events = []
    Trainer(school, config(pretrain=lessons), on_step=events.append).run()
    assert [e.epochs for e in events if e.done == e.total] == [1, 3, 3, 2]
    titles = ["pretrain, scouts", "pretrain, teacher", "pretrain, pupil", "train"]
    assert [e.title for e in events if e.done == e.total] == titles
    assert seen == [("Scout", 1, 0.5), ("Model", 3, 0.02), ("Imitate", 3, 0.02), ("Model", 2, 0.02)]


@pytest.mark.parametrize("steps", [5, 10, 15, 20, 25, 30, 40])
def test_stopped_lessons_go_on_to_the_same_result(school, config, tmp_path, steps):
    asked = config(**LESSONS)
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
    states = [trainer.pupil.state_dict() for trainer in (later, whole)]
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


@pytest.mark.parametrize(
    ("options", "images"), [({}, "train"), ({"validation": 0.1}, "validation")]
)
def test_a_record_of_lessons_has_the_agreement_on_images_that_training_may_use(
    school, config, monkeypatch, options, images
):
    asked, seen = [], []

    def rows(split, count, seed, epoch=0):
        asked.append(split)
        return type(school).rows(school, "train", count, seed, epoch)

    def agreement(pupil, rows, device):
        seen.append((pupil, asked[-1]))
        return 0.75

    school.rows = rows
    module = import_module("smtlayer_studies.runs.run")
    monkeypatch.setattr(module, "make_task", lambda options, data_dir: school)
    monkeypatch.setattr(module, "teacher_agreement", agreement)
    record = run(config(task=options, **LESSONS)).record
    assert record.scores["teacher_agreement"] == 0.75
    assert seen == [(school.made["pupil"], images)]


def test_lessons_are_no_part_of_what_is_timed(school, config, monkeypatch):
    monkeypatch.setattr(
        "smtlayer_studies.runs.epoch_timing.make_task", lambda options, data_dir: school
    )
    (timing,) = time_epochs([config(**LESSONS)], 1)
    assert (len(timing.seconds), len(timing.conventional_seconds)) == (1, 1)
    assert school.made["scout"].batches == 0


def test_lessons_are_for_tasks_that_have_a_teacher(task, config):
    with pytest.raises(ConfigError, match="'teacher' is for tasks that have a teacher"):
        Trainer(task, config(**LESSONS)).run()
