"""What is compared: our layer with several rules, and other libraries in its place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

import deepproblog_addition
import klay_addition
import ltn_addition
import mnist_addition
import satnet_layer
from mnist_addition import Pairs
from problems import DigitReading, LeNet, Problem
from smtlayer import SMTLayer
from smtlayer.loop import Stepper
from smtlayer.solvers.circuit.compilation import to_diagram
from smtlayer.theory import Theory
from smtlayer_studies.runs.losses import cross_entropy, likelihood
from smtlayer_studies.runs.optimizers import learning_rate
from smtlayer_studies.runs.run_options import TrainOptions
from smtlayer_studies.tasks.base import Batch, Model, Rows, SplitName
from smtlayer_studies.tasks.networks import DenseHead

Compute = Callable[[Model, Batch], tuple[Tensor, Tensor]]
ADDITION = frozenset(f"mnist-addition-{percent}" for percent in (10, 25, 50, 75, 100))
ENDS = frozenset({"mnist-addition-10", "mnist-addition-100"})
LONG = frozenset(f"long-addition-{length}" for length in (2, 4, 15))
OTHERS = frozenset({"visual-algebra-1", "liars-puzzle"})
SUDOKU = frozenset({"visual-sudoku-10"})
LONGER = frozenset({"mnist-addition-10-longer"})


class Examples(Protocol):
    """The part of a task that a learner needs."""

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
    network: nn.Module  # new
    steps: int


@dataclass(frozen=True)
class Budget:
    """The length of a training, where it is not that of the problem."""

    epochs: int
    batch_size: int
    rows: int | None = None
    until_settled: bool = False  # `learn.settled` ends it, between the problem's epochs and these


@dataclass(frozen=True, eq=False)
class Method:
    """A way to learn the problems."""

    name: str
    title: str
    needs: str  # what it is given
    settings: str  # and their source
    make: Callable[[Setting], Learner]
    problems: frozenset[str]
    module: str | None = None  # of the library
    reads_digits: bool = False  # digits are one-hot symbols on MNIST addition, too
    budgets: Mapping[str, Budget] = field(default_factory=dict)

    def missing(self) -> str | None:
        """Why it cannot run here, and what to do; None if it can."""
        if self.module is None or find_spec(self.module) is not None:
            return None
        file = f"benchmarks/rivals/requirements/{self.name.partition('-')[0]}.txt"
        return f"{self.module} is not installed. Install it as {file} says."

    def budget(self, problem: Problem) -> Budget:
        """The length of a training."""
        own = self.budgets.get(problem.name)
        return own or Budget(problem.epochs, problem.batch_size, problem.rows)

    def examples(self, problem: Problem, seed: int) -> Examples:
        """The examples of a problem, with the columns that this method reads."""
        task = problem.task(seed)
        return DigitReading(task) if self._one_hot(problem) else task

    def start(self, problem: Problem, examples: Examples, seed: int, steps: int) -> Learner:
        """A new training, with weights by the seed."""
        torch.manual_seed(seed)
        network = LeNet(10) if self._one_hot(problem) else problem.network()
        return self.make(Setting(problem, examples, network, steps))

    def _one_hot(self, problem: Problem) -> bool:
        return self.reads_digits and problem.name.startswith("mnist")


def ours(rule: str, compute: Compute = cross_entropy) -> Callable[[Setting], Learner]:
    """Our layer with a blame rule, or with another loss."""

    def make(at: Setting) -> Learner:
        layer = SMTLayer(at.examples.theory, backward=rule)
        return _trained(Model(at.network, layer), at.problem.train, at.steps, compute)

    return make


def conventional(at: Setting) -> Learner:
    """A dense head in the layer's place."""
    return _trained(Model(at.network, DenseHead(at.examples.theory)), at.problem.train, at.steps)


def satnet(
    network_rate: float, size: tuple[int, int], *, pretrained: bool = False
) -> Callable[[Setting], Learner]:
    """SATNet with clauses and auxiliary variables, perhaps after epochs with a dense head."""

    def make(at: Setting) -> Learner:
        share = 15 / 20 if at.problem.name == "liars-puzzle" else 3 / 8  # as in the paper
        switch = round(at.steps * share) if pretrained else 0
        model = Model(at.network, satnet_layer.SatNetHead(at.examples.theory, *size))
        optimizer = satnet_layer.satnet_optimizer(model, network_rate)
        second = Gradient(model, Stepper(model, optimizer, total=at.steps - switch))
        if not switch:
            return second
        dense = Model(at.network, DenseHead(at.examples.theory))
        return InTurn(_trained(dense, at.problem.train, switch), second, switch)

    return make


@dataclass(eq=False)
class ProbLogLearner:
    """DeepProbLog's own training of the sums of two digits."""

    model: Model
    engine: Any

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""
        pairs = pairs_of(batch)
        return Progress(self.engine.train(pairs, len(pairs)))


def deepproblog(at: Setting) -> Learner:
    """DeepProbLog with its exact engine, Adam at 0.001."""
    rows = at.examples.rows("train", 500, 0)
    sample = pairs_of(rows.batch(torch.arange(len(rows))))  # for compiling the circuits of its sums
    engine = deepproblog_addition.ProbLog(_layers(at.network), sample)
    return ProbLogLearner(Model(at.network, SMTLayer(at.examples.theory)), engine)


@dataclass(eq=False)
class LtnLearner:
    """LTNtorch's truth of the formula, whose quantifier sharpens during training."""

    model: Model
    optimizer: torch.optim.Optimizer
    loss: Callable[[Pairs], Tensor]
    exponent: dict[str, int]
    steps: int
    _done: int = field(default=0, init=False)

    def step(self, batch: Batch) -> Progress:
        """Trains on a batch."""
        epoch = ltn_addition.EPOCHS * self._done / self.steps  # of its authors' 20
        schedule = ltn_addition.SCHEDULE.items()
        self.exponent["p"] = max(p for first, p in schedule if first <= epoch)
        self.optimizer.zero_grad()
        loss = self.loss(pairs_of(batch))
        loss.backward()
        self.optimizer.step()
        self._done += 1
        return Progress(loss.item())


def ltn(at: Setting) -> Learner:
    """LTNtorch with its authors' operators and schedule, Adam at 0.001."""
    exponent = {"p": 1}
    loss = ltn_addition.ltn_loss(_layers(at.network), exponent, once=True)
    optimizer = torch.optim.Adam(at.network.parameters(), 1e-3)
    model = Model(at.network, SMTLayer(at.examples.theory))
    return LtnLearner(model, optimizer, loss, exponent, at.steps)


def klay(at: Setting) -> Learner:
    """The exact likelihood of sums, computed by KLay on our decision diagram."""
    theory = mnist_addition.addition_theory(len(at.examples.theory.input_symbols) // 2)
    likelihood = klay_addition.log_likelihood(klay_addition.to_klay(to_diagram(theory)))

    def compute(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
        outputs = mnist_addition.wanted(theory, pairs_of(batch).sums)
        found = likelihood(model.network(batch.features), outputs)
        return -found.mean(), (found.detach().exp() > 0.5).float().mean()

    model = Model(at.network, SMTLayer(at.examples.theory))
    return _trained(model, at.problem.train, at.steps, compute)


def _layers(network: nn.Module) -> nn.Module:
    """The network of a single image."""
    assert isinstance(network, LeNet)
    return network.layers


def pairs_of(batch: Batch) -> Pairs:
    """The images of a batch of sums; its digits are used for their sum only."""
    digits = batch.symbols.reshape(len(batch.symbols), -1, 10).argmax(-1)
    return Pairs(batch.features, digits)


def _trained(
    model: Model, options: TrainOptions, steps: int, compute: Compute = cross_entropy
) -> Gradient:
    """A training with the options of a problem."""
    optimizer = torch.optim.Adam(model.parameters(), options.lr)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate(step / steps, 1 / steps, options)
    )
    stepper = Stepper(model, optimizer, total=steps, clip=options.clip, schedule=rate)
    return Gradient(model, stepper, compute)


THEORY = "the theory"
SATNET = "[Wang et al., ICML 2019](https://github.com/locuslab/SATNet/blob/master/exps/sudoku.py)"
SATNET_ALONE = (
    f"{SATNET}: Adam, 0.002 for the clauses; 0.001 for the network, as for the others; at least "
    "the epochs of the others, then until its training accuracy is 99 % or its training loss stops "
    "falling (2 % in three epochs), at most 40 epochs (liar's puzzle 100)"
)
SETTLED = {
    **dict.fromkeys(ENDS, Budget(40, 128, until_settled=True)),
    "visual-algebra-1": Budget(40, 64, until_settled=True),
    "liars-puzzle": Budget(100, 32, until_settled=True),
}
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "conventional", "conventional network", "examples only",
            "a dense head of 512", conventional, ADDITION | OTHERS | SUDOKU,
        ),
        Method(
            "ours", "ours, `anneal_core`", THEORY, "one rule for every problem",
            ours("anneal_core"), ADDITION | LONGER | OTHERS | SUDOKU,
        ),
        Method(
            "likelihood", "ours, exact likelihood", THEORY, "`log_prob` as the loss",
            ours("core", likelihood), ENDS | LONGER | OTHERS | LONG,
        ),
        Method(
            "topk", "top-k proofs, ours", THEORY,
            "k = 3, as in [Scallop's examples]"
            "(https://github.com/scallop-lang/scallop/blob/master/experiments/mnist/sum_2.py); the "
            "loss is the negative log-probability of the label's proofs, theirs the binary "
            "cross-entropy over all answers",
            ours("topk(k=3)"), ADDITION | LONGER | OTHERS | LONG,
        ),
        Method(
            "topk-digits", "top-k proofs, ours, digits by softmax", THEORY,
            "the same; digits are one-hot symbols, as in Scallop's examples",
            ours("topk(k=3)"), ADDITION | LONGER, reads_digits=True,
        ),
        Method(
            "ours-digits", "ours, `anneal_core`, digits by softmax", THEORY,
            "the same as `anneal_core`", ours("anneal_core"), ENDS | LONGER, reads_digits=True,
        ),
        Method(
            "likelihood-digits", "ours, exact likelihood, digits by softmax", THEORY,
            "the same as exact likelihood", ours("core", likelihood), ENDS | LONGER,
            reads_digits=True,
        ),
        Method(
            "satnet", "SATNet, 64 clauses, until settled", "examples only", SATNET_ALONE,
            satnet(1e-3, satnet_layer.MEDIUM), ENDS | OTHERS, module="satnet", budgets=SETTLED,
        ),
        Method(
            "satnet-pretrained", "SATNet, 64 clauses, after pre-training", "examples only",
            f"{SATNET}: 0.002 for the clauses and 0.00001 for the network, after the paper's "
            "pre-training with a dense head: 3 + 5 epochs, liar's puzzle 15 + 5",
            satnet(satnet_layer.NETWORK_RATE, satnet_layer.MEDIUM, pretrained=True),
            frozenset({"mnist-addition-100", "liars-puzzle"}), module="satnet",
            budgets={"mnist-addition-100": Budget(8, 128), "liars-puzzle": Budget(20, 32)},
        ),
        Method(
            "satnet-sudoku", "SATNet, 600 clauses, 8 epochs", "examples only",
            f"{SATNET}: 300 auxiliary variables, batches of 40, 0.002 and 0.00001; 8 epochs "
            "take an hour (its authors train for 100, on 9,000 boards and a GPU)",
            satnet(satnet_layer.NETWORK_RATE, satnet_layer.SUDOKU), SUDOKU, module="satnet",
            budgets={"visual-sudoku-10": Budget(8, 40)},
        ),
        Method(
            "deepproblog", "DeepProbLog, 1 epoch", "a logic program",
            "[its example](https://github.com/ML-KULeuven/deepproblog/tree/master/src/deepproblog/"
            "examples/MNIST): batches of 2, one epoch of 30,000 pairs of digits, Adam at 0.001",
            deepproblog, ENDS, module="deepproblog", reads_digits=True,
            budgets=dict.fromkeys(ENDS, Budget(1, 2, 30_000)),
        ),
        Method(
            "klay", "KLay", "our decision diagram", "`log` semiring; the rest as exact likelihood",
            klay, ENDS, module="klay", reads_digits=True,
        ),
        Method(
            "ltn", "LTNtorch", "a fuzzy formula",
            "[its authors' example](https://github.com/logictensornetworks/logictensornetworks/"
            "blob/master/examples/mnist/single_digits_addition.ipynb): batches of 16, Adam at "
            "0.001, its operators and their schedule",
            ltn, ENDS, module="ltn", reads_digits=True,
            budgets=dict.fromkeys(ENDS, Budget(5, 16, 60_000)),
        ),
    )
}  # fmt: skip
