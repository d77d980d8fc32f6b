"""Training by the exact likelihood of the labels."""

import math
from importlib.util import find_spec

import pytest
import torch
import z3

from helpers import Stop
from smtlayer import SMTLayer, Theory
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import RunConfig, Trainer, load_experiment
from smtlayer_studies.runs.losses import likelihood, wanted
from smtlayer_studies.tasks.base import Batch, Model
from smtlayer_studies.tasks.long_addition.data import digits_of_sum
from smtlayer_studies.tasks.long_addition.task import LongAddition
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory
from tasks.carry_recursion import log_likelihood
from tasks.test_long_addition_task import fake_digits

LARGE = pytest.mark.skipif(
    find_spec("smtlayer.solvers.circuit") is None, reason="too many models for a list"
)
LIKELIHOOD = {"loss": "likelihood"}


def long_config(**train):
    return RunConfig.of(
        {"task": {"name": "long-addition", "length": 1}, "train": {**train, **LIKELIHOOD}},
        experiment="mine", method="best", seed=0, device="cpu",
    )  # fmt: skip


def batch_of(targets, **options):
    some = torch.zeros(len(targets), 1)
    return Batch(torch.zeros(len(targets), 2), targets, some, some, **options)


def fixed(task, logits):
    """A model whose network gives these logits."""
    network = torch.nn.Linear(2, len(logits))
    torch.nn.init.zeros_(network.weight)
    network.bias.data = torch.tensor(logits)
    return Model(network, SMTLayer(task.theory))


@pytest.mark.parametrize("length", [1, 2, *(pytest.param(n, marks=LARGE) for n in (4, 15))])
def test_the_likelihood_of_sums_is_that_of_a_recursion_over_carries(length):
    generator = torch.Generator().manual_seed(length)
    theory = long_addition_theory(length, reading="digits")
    digits = torch.randint(10, (6, 2 * length), generator=generator)
    total = digits_of_sum(*digits.split(length, dim=-1))
    names = (symbol.name for symbol in theory.output_symbols)
    outputs = theory.encode_outputs(**dict(zip(names, total.T, strict=True)))
    logits = torch.randn(6, 20 * length, generator=generator, dtype=torch.float64)
    ours, theirs = (logits.clone().requires_grad_() for _ in range(2))
    found = SMTLayer(theory).log_prob(ours, outputs)
    expected = log_likelihood(theirs.unflatten(-1, (-1, 10)), total)
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_the_loss_is_the_mean_of_the_negative_log_likelihood(task):
    loss, right = likelihood(fixed(task, [1.0, 2.0]), batch_of(torch.tensor([[1.0], [0.0]])))
    both = torch.tensor([1.0, 2.0]).sigmoid().prod()
    torch.testing.assert_close(loss, -(both.log() + (1 - both).log()) / 2)
    assert right == (0.5 if both > 0.5 else 0)
    assert math.exp(-loss.item()) < 0.5 < both


def test_outputs_that_are_not_asked_for_are_free(task):
    batch = batch_of(torch.ones(2, 1), asked=torch.tensor([[True], [False]]))
    assert wanted(batch).tolist() == [[1], [0]]
    loss, _ = likelihood(fixed(task, [0.0, 0.0]), batch)
    torch.testing.assert_close(loss, torch.tensor(math.log(4) / 2))


def test_an_example_that_no_input_allows_has_no_loss_and_no_gradient():
    a, y = z3.Bools("a y")
    theory = Theory([y == z3.Or(a, z3.Not(a))], inputs=[a], outputs=[y])
    model = Model(torch.nn.Linear(2, 1), SMTLayer(theory))
    loss, right = likelihood(model, batch_of(torch.tensor([[0.0]])))
    loss.backward()
    assert loss == right == 0
    assert not model.network.bias.grad.any()
    assert model.layer.stats.impossible == 1


def test_training_by_likelihood_learns_and_needs_no_forward_pass(task, config):
    trainer = Trainer(task, config(train=LIKELIHOOD | {"epochs": 5}))
    trainer.run()
    assert trainer.epochs[-1].loss < trainer.epochs[0].loss
    assert trainer.epochs[-1].accuracy > 0.9
    assert trainer.epochs[-1].solver["sat"] == trainer.epochs[-1].solver["blamed"] == 0


def test_a_dense_head_has_the_cross_entropy(task, config):
    one, two = (Trainer(task, config(layer=False, train=train)) for train in (LIKELIHOOD, {}))
    one.run()
    two.run()
    assert [epoch.loss for epoch in one.epochs] == [epoch.loss for epoch in two.epochs]


def test_a_backend_that_does_not_weigh_models_is_refused(task, config):
    with pytest.raises(
        ConfigError,
        match=r"^bits: train\.loss = 'likelihood' needs a backend that weighs all models\. bits "
        r"uses Z3, which does not\. Set train\.loss to 'cross-entropy'\.$",
    ):
        Trainer(task, config(train=LIKELIHOOD, layer={"backend": "z3"})).run()


def test_three_steps_of_long_addition_lower_the_loss():
    task = LongAddition(length=1, digits=fake_digits())
    config = long_config(batch_size=60, epochs=3, warmup=0.0)
    trainer = Trainer(task, config)
    model = trainer.run()
    losses = [epoch.loss for epoch in trainer.epochs]
    assert losses[0] > losses[1] > losses[2]
    rows = task.rows("test", 10_000, 0)
    batch = rows.batch(torch.arange(len(rows)))
    solved = model.eval()(batch.features)[1]
    digits = model.network(batch.features).unflatten(-1, (2, 10)).argmax(-1)
    total = digits_of_sum(digits[:, :1], digits[:, 1:])
    found = task.theory.decode(solved)
    assert [found["s0"].tolist(), found["s1"].tolist()] == total.T.tolist()


@pytest.mark.parametrize("length", [2, 4, 15])
def test_the_experiments_have_the_published_protocol(length):
    experiment = load_experiment(f"long-addition-{length}")
    best, bare = (experiment.config(method) for method in ("best", "no-shift"))
    assert best.train.loss == bare.train.loss == "likelihood"
    assert (best.train.shift, bare.train.shift) == (2, 0)
    assert (best.train.optimizer, best.train.lr, best.train.clip) == ("adam", 1e-3, 1.0)
    assert (best.train.warmup, best.train.decay, best.train.decay_shape) == (0.03, 0.5, "linear")
    assert best.task == {"name": "long-addition", "length": length}
    assert experiment.seeds == (0, 1, 2, 3, 4)


def test_a_stopped_training_by_likelihood_goes_on_to_the_same_result(tmp_path):
    task = LongAddition(length=1, digits=fake_digits())
    config = long_config(batch_size=20, epochs=2, shift=2, shift_each=True)
    expected = Trainer(task, config).run()
    with pytest.raises(KeyboardInterrupt):
        Trainer(task, config, tmp_path, Stop(4)).run()
    torch.manual_seed(99)  # a new process would have another state
    found = Trainer(task, config, tmp_path).run()
    for one, other in zip(found.parameters(), expected.parameters(), strict=True):
        assert torch.equal(one, other)
