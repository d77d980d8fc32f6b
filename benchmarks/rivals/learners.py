"""Trainings of our layer with several rules, and of other libraries in its place."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

import deepproblog_addition
import klay_addition
import ltn_addition
import satnet_layer
from answers import scallop_loss
from formulas import DigitFormula, addition, algebra
from mnist_addition import Examples as DigitExamples
from problems import LeNet, Problem
from smtlayer import SMTLayer
from smtlayer.loop import Stepper
from smtlayer.theory import Theory
from smtlayer_studies.runs.losses import cross_entropy, wanted
from smtlayer_studies.runs.optimizers import learning_rate
from smtlayer_studies.tasks.base import Batch, Model, Rows, SplitName
from smtlayer_studies.tasks.networks import DenseHead

Compute = Callable[[Model, Batch], tuple[Tensor, Tensor]]
PROOFS = 3  # of each answer, as in Scallop's examples


class Examples(Protocol):
    """The part of a task that a learner needs."""

    @property
    def data_source(self) -> str:
        """The data, as the records name them."""

    @property
    def theory(self) -> Theory:
        """The theory; its columns are those of the network."""

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """Examples of a split."""


class Progress(NamedTuple):
    """What a step of training reports."""

    loss: float
    accuracy: float | None = None  # of the batch, before the step; None where it is not computed


class Learner(Protocol):
    """A training: it gets one batch after the other."""

    @property
    def model(self) -> Model:
        """What is scored."""

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""


@dataclass(frozen=True, eq=False)
class Gradient:
    """Descends the gradient of a loss."""

    model: Model
    stepper: Stepper
    compute: Compute = cross_entropy

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""
        loss, right = self.compute(self.model, batch)
        self.stepper(loss)
        return Progress(loss.item(), right.item())


@dataclass(eq=False)
class InTurn:
    """A first training, and after some steps a second one."""

    first: Learner
    second: Learner
    switch: int
    _done: int = field(default=0, init=False)

    @property
    def model(self) -> Model:
        """That of the second training."""
        return self.second.model

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""
        self._done += 1
        return (self.first if self._done <= self.switch else self.second).step(batch)


@dataclass(frozen=True, eq=False)
class Setting:
    """What a training starts with."""

    problem: Problem
    examples: Examples
    network: nn.Module  # new, on the device
    steps: int
    device: str = "cpu"


def ours(rule: str, compute: Compute = cross_entropy) -> Callable[[Setting], Learner]:
    """Our layer with a blame rule, or with another loss."""

    def make(at: Setting) -> Learner:
        layer = SMTLayer(at.examples.theory, backward=rule)
        return _trained(at, layer, at.steps, compute)

    return make


def scallop(at: Setting) -> Learner:
    """Our top-k proofs with the loss of Scallop's examples, Adam at 0.001."""
    layer = SMTLayer(at.examples.theory)
    adam = torch.optim.Adam(at.network.parameters(), 1e-3)
    return _at_constant_rate(at, layer, adam, scallop_loss(layer, PROOFS))


def conventional(at: Setting) -> Learner:
    """A dense head in the layer's place."""
    return _trained(at, DenseHead(at.examples.theory), at.steps)


def satnet(
    network_rate: float,
    size: tuple[int, int],
    *,
    pretrained: bool = False,
    corrected: bool = False,
) -> Callable[[Setting], Learner]:
    """SATNet with clauses and auxiliary variables, perhaps after epochs with a dense head."""

    def make(at: Setting) -> Learner:
        share = 15 / 20 if at.problem.name == "liars-puzzle" else 3 / 8  # as in the paper
        switch = round(at.steps * share) if pretrained else 0
        head = satnet_layer.SatNetHead(at.examples.theory, *size, corrected=corrected)
        model = Model(at.network, head).to(at.device)
        optimizer = satnet_layer.satnet_optimizer(model, network_rate)
        second = Gradient(model, Stepper(model, optimizer, total=at.steps - switch))
        if not switch:
            return second
        dense = DenseHead(at.examples.theory)
        return InTurn(_trained(at, dense, switch), second, switch)

    return make


@dataclass(eq=False)
class ProbLogLearner:
    """DeepProbLog's own training."""

    model: Model
    engine: Any
    formula: DigitFormula

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""
        shown = digits_of(batch, self.formula)
        return Progress(self.engine.train(shown, len(shown)))


def deepproblog(at: Setting) -> Learner:
    """DeepProbLog with its exact engine, Adam at 0.001."""
    rows, formula = at.examples.rows("train", 500, 0), formula_of(at.problem)
    sample = digits_of(rows.batch(torch.arange(500)), formula)  # whose circuits are compiled
    engine = deepproblog_addition.ProbLog(_layers(at.network), sample)
    return ProbLogLearner(Model(at.network, SMTLayer(at.examples.theory)), engine, formula)


@dataclass(eq=False)
class LtnLearner:
    """LTNtorch's truth of the formula, whose quantifier sharpens during training."""

    model: Model
    optimizer: torch.optim.Optimizer
    loss: Callable[[DigitExamples], Tensor]
    formula: DigitFormula
    exponent: dict[str, int]
    steps: int
    _done: int = field(default=0, init=False)

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""
        epoch = ltn_addition.EPOCHS * self._done / self.steps  # as a share of 20
        schedule = ltn_addition.SCHEDULE.items()
        self.exponent["p"] = max(p for first, p in schedule if first <= epoch)
        self.optimizer.zero_grad()
        loss = self.loss(digits_of(batch, self.formula))
        loss.backward()
        self.optimizer.step()
        self._done += 1
        return Progress(loss.item())


def ltn(at: Setting) -> Learner:
    """LTNtorch with its authors' operators and schedule, Adam at 0.001."""
    exponent, formula = {"p": 1}, formula_of(at.problem)
    loss = ltn_addition.ltn_loss(_layers(at.network), formula, exponent, once=True)
    optimizer = torch.optim.Adam(at.network.parameters(), 1e-3)
    model = Model(at.network, SMTLayer(at.examples.theory))
    return LtnLearner(model, optimizer, loss, formula, exponent, at.steps)


def klay(*, authors: bool = False) -> Callable[[Setting], Learner]:
    """The exact likelihood, computed by KLay on our decision diagram.

    With `authors`, the optimiser is that of KLay's example: AdamW at 0.0003.
    """

    def make(at: Setting) -> Learner:
        theory = at.examples.theory
        likelihood = klay_addition.log_likelihood(klay_addition.to_klay(theory), theory)

        def compute(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
            found = likelihood(model.network(batch.features), wanted(batch))
            return -found.mean(), (found.detach().exp() > 0.5).float().mean()

        if not authors:
            return _trained(at, SMTLayer(theory), at.steps, compute)
        adam = torch.optim.AdamW(at.network.parameters(), 3e-4, weight_decay=1e-5)
        return _at_constant_rate(at, SMTLayer(theory), adam, compute)

    return make


def _layers(network: nn.Module) -> nn.Module:
    """The network of a single image."""
    assert isinstance(network, LeNet)
    return network.layers


def formula_of(problem: Problem) -> DigitFormula:
    """The formula of a problem of digits."""
    if problem.name == "visual-algebra-1":
        return algebra()
    return addition(problem.options.get("length", 1))


def digits_of(batch: Batch, formula: DigitFormula) -> DigitExamples:
    """The images of a batch; their digits are used for the answer only."""
    digits = batch.symbols.reshape(len(batch.symbols), -1, 10).argmax(-1)
    return DigitExamples(batch.features, digits, formula)


def _trained(
    at: Setting, head: nn.Module, steps: int, compute: Compute = cross_entropy
) -> Gradient:
    """A training of the network with a head, with the options of the problem."""
    options, model = at.problem.train, Model(at.network, head).to(at.device)
    optimizer = torch.optim.Adam(model.parameters(), options.lr)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate(step / steps, 1 / steps, options)
    )
    stepper = Stepper(model, optimizer, total=steps, clip=options.clip, schedule=rate)
    return Gradient(model, stepper, compute)


def _at_constant_rate(
    at: Setting, layer: SMTLayer, optimizer: torch.optim.Optimizer, compute: Compute
) -> Gradient:
    """A training of the network with an optimiser of its own, without clipping."""
    model = Model(at.network, layer).to(at.device)
    return Gradient(model, Stepper(model, optimizer, total=at.steps), compute)
