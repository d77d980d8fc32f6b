"""What is compared: ways to learn the problems, with their settings and the sources of these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

import torch
from torch import nn

import satnet_layer
from answers import ALL, MostProbableAnswer
from learners import (
    PROOFS,
    Examples,
    Learner,
    Setting,
    conventional,
    deepproblog,
    klay,
    ltn,
    ours,
    satnet,
    scallop,
)  # fmt: skip
from ltn_addition import authors_network
from problems import BoardReading, DigitReading, LeNet, Problem
from smtlayer_studies.runs.losses import likelihood
from smtlayer_studies.tasks.base import Model

ADDITION = frozenset(f"mnist-addition-{percent}" for percent in (10, 25, 50, 75, 100))
ENDS = frozenset({"mnist-addition-10", "mnist-addition-100"})
LONG = frozenset(f"long-addition-{length}" for length in (2, 4, 15))
ALGEBRA = frozenset({"visual-algebra-1"})
FOUR_IMAGES = ALGEBRA | {"long-addition-2"}
OTHERS = ALGEBRA | {"liars-puzzle"}
SUDOKU = frozenset({"visual-sudoku-10"})
LONGER = frozenset({"mnist-addition-10-longer"})
SATNET_VARIED = frozenset({"mnist-addition-100", "liars-puzzle"})  # other layers and trainings
DIGITS = ADDITION | LONGER | ALGEBRA


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
    reads_digits: bool = False  # digits are one-hot: sums' inputs, and answers of Sudokus
    digit_network: Callable[[], nn.Module] | None = None  # of one-hot digits; None: LeNet
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    devices: tuple[str, ...] = ("cpu", "cuda")  # on which it can be trained
    proofs: int | None = None  # models that count for an answer; None: the layer answers

    def missing(self, device: str = "cpu") -> str | None:
        """Why it cannot run here, and what to do; None if it can."""
        if device not in self.devices:
            (only,) = self.devices
            return f"it is trained on {only}, not on {device}. Use --device {only}."
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
        if self._one_hot(problem):
            return DigitReading(task)
        return BoardReading(task) if self.reads_digits and problem.name in SUDOKU else task

    def start(
        self, problem: Problem, examples: Examples, seed: int, steps: int, device: str = "cpu"
    ) -> Learner:
        """A new training, with weights by the seed."""
        torch.manual_seed(seed)
        network = self.network(problem)
        return self.make(Setting(problem, examples, network.to(device), steps, device))

    def network(self, problem: Problem) -> nn.Module:
        """A new network, with random weights."""
        if self.digit_network is not None:
            return self.digit_network()
        return LeNet(10) if self._one_hot(problem) else problem.network()

    def answering(self, model: Model, problem: Problem) -> Model | None:
        """The model with the most probable answer; None if the layer answers.

        Answers of long sums cannot be listed, so the layer answers there.
        """
        if self.proofs is None or problem.name in LONG or model.layer is None:
            return None
        return Model(model.network, MostProbableAnswer(model.layer, self.proofs))

    def _one_hot(self, problem: Problem) -> bool:
        return self.reads_digits and problem.name in DIGITS


THEORY = "an SMT formula"
WEIGHED = "an SMT formula with a list of its models or a small decision diagram"
NOTHING, LEARNS = "nothing", "nothing: it learns its rules"
ADAM = "Adam at 0.001, warm-up 5 %, decay over the last 30 %, clipping at 0.1"  # `Problem.train`
SATNET = "[Wang et al., ICML 2019](https://github.com/locuslab/SATNet/blob/master/exps/sudoku.py)"
SATNET_ALONE = (
    f"Adam, 0.002 for the clauses, as {SATNET}. Ours: 0.001 for the network (theirs 0.00001), 32 "
    "auxiliary variables, and the length: at least the epochs of the others, then until its "
    "training accuracy is 99 % or its training loss stops falling (2 % in three epochs), at most "
    "40 epochs (liar's puzzle 100)"
)
SETTLED = {
    **dict.fromkeys(ENDS, Budget(40, 128, until_settled=True)),
    "visual-algebra-1": Budget(40, 64, until_settled=True),
    "liars-puzzle": Budget(100, 32, until_settled=True),
}
LTN = {
    **dict.fromkeys(ENDS, Budget(20, 32, 30_000)),
    **dict.fromkeys(FOUR_IMAGES, Budget(30, 32, 15_000)),
}
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "ours", "ours, `anneal_core`", THEORY, f"one rule for every problem; {ADAM}",
            ours("anneal_core"), ADDITION | LONGER | OTHERS | SUDOKU,
        ),
        Method(
            "ours-digits", "ours, `anneal_core`, digits by softmax", THEORY,
            "the same as `anneal_core`", ours("anneal_core"), ENDS | LONGER | ALGEBRA,
            reads_digits=True,
        ),
        Method(
            "likelihood", "ours, exact likelihood", WEIGHED, f"`log_prob` as the loss; {ADAM}",
            ours("core", likelihood), ENDS | LONGER | OTHERS | LONG, proofs=ALL,
        ),
        Method(
            "likelihood-digits", "ours, exact likelihood, digits by softmax", WEIGHED,
            "the same as exact likelihood", ours("core", likelihood), ENDS | LONGER | ALGEBRA,
            reads_digits=True, proofs=ALL,
        ),
        Method(
            "topk", "top-k proofs, ours", WEIGHED,
            "k = 3, as in [Scallop's examples]"
            "(https://github.com/scallop-lang/scallop/blob/master/experiments/mnist/sum_2.py); the "
            "gradient of the log-probability of the label's proofs, scaled per example; "
            f"{ADAM}",
            ours(f"topk(k={PROOFS})"), ADDITION | LONGER | OTHERS | LONG, proofs=PROOFS,
        ),
        Method(
            "topk-digits", "top-k proofs, ours, digits by softmax", WEIGHED,
            "the same; digits are one-hot symbols, as in Scallop's examples",
            ours(f"topk(k={PROOFS})"), DIGITS, reads_digits=True, proofs=PROOFS,
        ),
        Method(
            "topk-answers", "top-k proofs, ours, Scallop's loss", WEIGHED,
            "k = 3, with the loss and the settings of Scallop's example: binary cross-entropy over "
            "all answers, Adam at 0.001; digits by softmax, and on MNIST+ batches of 64",
            scallop, DIGITS | OTHERS, reads_digits=True, proofs=PROOFS,
            budgets={
                **dict.fromkeys(ADDITION, Budget(5, 64, 60_000)),
                **dict.fromkeys(LONGER, Budget(15, 64, 60_000)),
            },
        ),
        Method(
            "klay-authors", "KLay, its authors' settings", "a circuit: our decision diagram",
            "[its example](https://github.com/ML-KULeuven/klay/blob/main/experiments/"
            "mnist_addition/run.py): 12 epochs of 30,000 pairs of digits or of 15,000 pairs of "
            "2-digit numbers, batches of 128, AdamW at 0.0003 with a weight decay of 0.00001; its "
            "network is ours, its circuits are not; algebra as 2-digit numbers",
            klay(authors=True), ENDS | FOUR_IMAGES, module="klay", devices=("cpu",),
            reads_digits=True, proofs=ALL,
            budgets={
                **dict.fromkeys(ENDS, Budget(12, 128, 30_000)),
                **dict.fromkeys(FOUR_IMAGES, Budget(12, 128, 15_000)),
            },
        ),
        Method(
            "klay", "KLay, our settings", "a circuit: our decision diagram",
            "`log` semiring; the rest as exact likelihood, digits by softmax",
            klay(), ENDS | OTHERS | LONG, module="klay", devices=("cpu",), reads_digits=True,
            proofs=ALL,
        ),
        Method(
            "deepproblog", "DeepProbLog, 1 epoch", "a program in ProbLog",
            "[its example](https://github.com/ML-KULeuven/deepproblog/tree/master/src/deepproblog/"
            "examples/MNIST): batches of 2, one epoch of 30,000 pairs of digits, Adam at 0.001; "
            "for algebra 15,000 examples, as it has 2-digit numbers, and our program",
            deepproblog, ENDS | ALGEBRA, module="deepproblog", devices=("cpu",),
            reads_digits=True, proofs=ALL,
            budgets={
                **dict.fromkeys(ENDS, Budget(1, 2, 30_000)),
                "visual-algebra-1": Budget(1, 2, 15_000),
            },
        ),
        Method(
            "ltn", "LTNtorch, its authors' epochs", "a formula in fuzzy logic",
            "[its example](https://github.com/tommasocarraro/LTNtorch/blob/main/examples/"
            "4-semi-supervised_pattern_recognition.ipynb): 20 epochs of 30,000 pairs of digits, "
            "batches of 32, Adam at 0.001, its operators and their schedule; for 2-digit numbers "
            "30 epochs of 15,000, as [LTN's first implementation](https://github.com/"
            "logictensornetworks/logictensornetworks/blob/master/examples/mnist/"
            "multi_digits_addition_ltn.py); algebra as 2-digit numbers, by our formula",
            ltn, ENDS | FOUR_IMAGES, module="ltn", budgets=LTN, devices=("cpu",),
            reads_digits=True,
        ),
        Method(
            "ltn-network", "LTNtorch, its authors' epochs and network", "a formula in fuzzy logic",
            "the same, with the network of its example, whose layers of 100 and 84 have batch "
            "normalisation and tanh, and its random weights",
            ltn, ENDS | ALGEBRA, module="ltn", budgets=LTN, devices=("cpu",),
            reads_digits=True, digit_network=authors_network,
        ),
        Method(
            "satnet", "SATNet, 64 clauses, until settled", LEARNS, SATNET_ALONE,
            satnet(1e-3, satnet_layer.MEDIUM), ENDS | OTHERS, module="satnet", budgets=SETTLED,
        ),
        Method(
            "satnet-corrected", "SATNet, 64 clauses, corrected gradient", LEARNS,
            "the same as with 64 clauses, but the true gradient of its inputs "
            "(`benchmarks/rivals/satnet_gradient.py`)",
            satnet(1e-3, satnet_layer.MEDIUM, corrected=True), SATNET_VARIED, module="satnet",
            budgets=SETTLED,
        ),
        Method(
            "satnet-large", "SATNet, 200 clauses, until settled", LEARNS,
            "the same as with 64 clauses, but 100 auxiliary variables",
            satnet(1e-3, satnet_layer.LARGE), SATNET_VARIED,
            module="satnet", budgets=SETTLED,
        ),
        Method(
            "satnet-pretrained", "SATNet, 64 clauses, after pre-training", LEARNS,
            f"{SATNET}: 0.002 for the clauses and 0.00001 for the network, after the paper's "
            "pre-training with a dense head: 3 + 5 epochs, liar's puzzle 15 + 5",
            satnet(satnet_layer.NETWORK_RATE, satnet_layer.MEDIUM, pretrained=True),
            SATNET_VARIED, module="satnet",
            budgets={"mnist-addition-100": Budget(8, 128), "liars-puzzle": Budget(20, 32)},
        ),
        Method(
            "satnet-sudoku", "SATNet, 600 clauses, 79 epochs", LEARNS,
            f"{SATNET}: hints and answers are the same 729 one-hot variables; 300 auxiliary "
            "variables, batches of 40, 0.002 and 0.00001; as many epochs as seven minutes of a GPU "
            "allowed. Its authors have 100 epochs, 9,000 boards, and a loss with the hints' "
            "digits, too",
            satnet(satnet_layer.NETWORK_RATE, satnet_layer.SUDOKU), SUDOKU, module="satnet",
            reads_digits=True, budgets={"visual-sudoku-10": Budget(79, 40)}, devices=("cuda",),
        ),
        Method(
            "conventional", "conventional network", NOTHING,
            f"a dense head of 512; {ADAM}", conventional, ADDITION | OTHERS | SUDOKU,
        ),
    )
}  # fmt: skip
