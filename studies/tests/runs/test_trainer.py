import os
import signal

import pytest
import torch

from helpers import Stop
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import Trainer, TrainOptions
from smtlayer_studies.runs.losses import task_loss
from smtlayer_studies.runs.optimizers import learning_rate
from smtlayer_studies.runs.phases import Phases
from smtlayer_studies.tasks.base import Pretraining, Rows


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_a_training_reports_every_step_and_every_epoch(task, config):
    events = []
    trainer = Trainer(task, config(), on_step=events.append)
    trainer.run()
    assert [e.done for e in events] == list(range(1, 21))
    assert {e.total for e in events} == {20}
    first, last = trainer.epochs
    shown = [(events[step].loss, events[step].accuracy) for step in (9, 19)]  # the last of an epoch
    assert shown == [(epoch.loss, epoch.accuracy) for epoch in (first, last)]
    assert last.loss < first.loss
    assert last.solver["blamed"] + last.solver["correct"] == 160
    assert 0 < last.solver["solver_seconds"] < last.seconds


def test_a_conventional_network_has_no_layer_and_learns_too(task, config):
    trainer = Trainer(task, config(layer=False, train={"epochs": 5}))
    assert trainer.run().layer is None
    assert trainer.epochs[-1].accuracy > 0.9
    assert trainer.epochs[-1].solver == {}


@pytest.mark.parametrize("kind", ["dense", "autoencoder"])
def test_pre_training_comes_first_and_trains_the_same_network(task, config, kind):
    asked = config(
        pretrain={"kind": kind, "epochs": 3, "batch_size": 32, "optimizer": "adam", "lr": 0.01}
    )
    trainer = Trainer(task, asked)
    trainer.run()
    assert [e.phase for e in trainer.epochs] == ["pretrain"] * 3 + ["train"] * 2
    losses = [e.loss for e in trainer.epochs]
    assert losses[2] < losses[0]
    assert trainer.epochs[0].solver == {}


def test_the_same_seed_trains_the_same_network_and_another_another(task, config):
    one, two, other = (Trainer(task, config(seed=s)).run() for s in (0, 0, 1))
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


@pytest.mark.parametrize("steps", [1, 9, 10, 15, 25])
@pytest.mark.parametrize("rule", ["core", "sample"])
def test_a_stopped_training_goes_on_to_the_same_result(task, config, tmp_path, steps, rule):
    asked = config(
        pretrain={"kind": "dense", "epochs": 1, "batch_size": 16},
        layer={"backward": f"mix({rule}, marginal(temperature=anneal(4, 1)))"},
    )
    whole = Trainer(task, asked)
    expected = whole.run()
    stopped = Trainer(task, asked, tmp_path, Stop(steps))
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    torch.manual_seed(99)  # a new process would have another state
    later = Trainer(task, asked, tmp_path)
    assert torch.equal(weights(later.run()), weights(expected))
    kept = [(e.phase, e.loss, e.accuracy) for e in later.epochs]
    assert kept == [(e.phase, e.loss, e.accuracy) for e in whole.epochs]


def test_a_finished_training_is_not_done_again(task, config, tmp_path):
    first = Trainer(task, config(), tmp_path).run()
    events = []
    again = Trainer(task, config(), tmp_path, events.append).run()
    assert events == []
    assert torch.equal(weights(first), weights(again))


def test_a_checkpoint_with_earlier_names_and_fewer_options_is_resumed(task, config, tmp_path):
    Trainer(task, config(), tmp_path).run()
    state, events = torch.load(tmp_path / "checkpoint.pt"), []
    assert state["config"].startswith("experiment = ")
    state["config"] = state["config"].replace("experiment = ", "row = ")
    for new in (
        'decay_shape = "cosine"\n',
        "shift_each = false\n",
        "turn = 0.0\n",
        'loss = "cross-entropy"\n',
    ):
        assert new in state["config"]
        state["config"] = state["config"].replace(new, "")
    torch.save(state, tmp_path / "checkpoint.pt")
    Trainer(task, config(), tmp_path, events.append).run()
    assert events == []


def test_a_checkpoint_of_other_options_is_refused(task, config, tmp_path):
    Trainer(task, config(), tmp_path).run()
    with pytest.raises(ConfigError, match="belongs to a run with other options"):
        Trainer(task, config(train={"lr": 0.5}), tmp_path).run()


def test_a_broken_checkpoint_says_so(task, config, tmp_path):
    (tmp_path / "checkpoint.pt").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match=r"checkpoint.pt cannot be read.*Delete it"):
        Trainer(task, config(), tmp_path).run()


def test_a_second_ctrl_c_does_not_wait(task, config, tmp_path):
    def twice(event):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    trainer = Trainer(task, config(), tmp_path, twice)
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert not (tmp_path / "checkpoint.pt").exists()


def test_the_rate_rises_stays_and_falls_to_zero():
    options = TrainOptions(warmup=0.25, decay=0.5)
    rates = [learning_rate(step / 20, 1 / 20, options) for step in range(20)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[5:11] == pytest.approx([1.0] * 6)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] < 0.03


def test_the_papers_schedule_is_a_warm_up_and_a_cosine():
    options = TrainOptions(warmup=0.2, decay=0.8)
    rates = [learning_rate(step / 10, 1 / 10, options) for step in range(10)]
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[6] == pytest.approx(0.5)  # half of the way down


def test_the_loss_leaves_out_what_is_not_asked():
    from smtlayer_studies.tasks.base import Batch

    outputs = torch.tensor([[1.0, -1.0]], requires_grad=True)
    some = torch.zeros(1, 1)
    batch = Batch(some, torch.ones(1, 2), some, some, asked=torch.tensor([[True, False]]))
    task_loss(outputs, batch).backward()
    assert outputs.grad[0, 0] != 0
    assert outputs.grad[0, 1] == 0


def test_pretraining_needs_a_task_that_offers_it(task, config):
    with pytest.raises(ConfigError, match="'placement-search' needs a layer and a task that offe"):
        Trainer(task, config(pretrain={"kind": "placement-search"})).run()
    task.pretraining = Pretraining()
    with pytest.raises(ConfigError, match=r"bits has no auto-encoder with these options\. Set pre"):
        Trainer(task, config(pretrain={"kind": "autoencoder"})).run()


def test_a_network_starts_from_weights_that_the_task_loads(task, config):
    def zero(network):
        for parameter in network.parameters():
            torch.nn.init.zeros_(parameter)

    task.pretraining = Pretraining(initialize=zero)
    network = Phases(task, config()).new_network()
    assert not any(parameter.any() for parameter in network.parameters())


def test_images_of_a_batch_are_moved_together_in_training_alone(task, config):
    seen = []

    class Looking(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.read = torch.nn.Linear(1, 2)

        def forward(self, features):
            seen.append(features.flatten(1).argmax(-1))  # where the one bright pixel is
            return self.read(features.flatten(1)[:, :1] * 0)

    def rows(split, count, seed, epoch=0):
        images = torch.zeros(count, 3, 3)
        images[:, 1, 1] = 1.0
        made = type(task).rows(task, split, count, seed, epoch)
        return Rows(images, made.targets, made.symbols, made.seen)

    task.network, task.rows = Looking, rows
    Trainer(task, config(train={"shift": 1, "epochs": 8})).run()
    places = torch.stack(seen)  # (steps, batch)
    assert (places == places[:, :1]).all()
    assert set(places[:, 0].tolist()) == {(row + down) * 3 + (column + right)
                                          for row, column in [(1, 1)] for down in (-1, 0, 1)
                                          for right in (-1, 0, 1)}  # fmt: skip


def test_what_is_no_image_cannot_be_moved(task, config):
    made = type(task).rows(task, "train", 160, 0)
    task.rows = lambda *a, **k: Rows(made.symbols.long(), made.targets, made.symbols, made.seen)
    with pytest.raises(ConfigError, match=r"train\.shift moves images, and bits"):
        Trainer(task, config(train={"shift": 1})).run()


def test_pre_training_draws_rows_of_its_own(task, config):
    asked = []

    def rows(split, count, seed, epoch=0):
        asked.append(epoch)
        return type(task).rows(task, split, count, seed, epoch)

    task.rows = rows
    Trainer(task, config(pretrain={"kind": "dense", "epochs": 2, "batch_size": 16})).run()
    assert {-1, -2, 0, 1} == set(asked)


def test_the_rate_can_fall_in_a_straight_line():
    options = TrainOptions(warmup=0.25, decay=0.5, decay_shape="linear")
    rates = [learning_rate(step / 20, 1 / 20, options) for step in range(20)]
    assert rates[4:11] == pytest.approx([1.0] * 7)
    assert rates[10:] == pytest.approx([1 - step / 10 for step in range(10)])
