"""LTNtorch on formulas over MNIST digits, with the settings of its authors; timed on addition.

Settings are those of `examples/mnist/single_digits_addition.ipynb` in the repository
logictensornetworks/logictensornetworks (Badreddine et al., *Logic Tensor Networks*, Artificial
Intelligence 2022): 3,000 pairs, batches of 16, 20 epochs, Adam at 0.001, product for "and", p = 2
for "for all", and p = 1, 2, 4 and 6 for "exists" from epochs 0, 4, 8 and 12; the same network.
LTNtorch's own notebook, `examples/4-semi-supervised_pattern_recognition.ipynb` in
tommasocarraro/LTNtorch, has the same operators, schedule and epochs for 30,000 pairs in batches of
32, and a network with batch normalisation; `learn.py` trains by it. For two numbers of two digits,
`multi_digits_addition_ltn.py` beside the first one has 15,000 pairs, 30 epochs, batches of 32, and
the same schedule, stretched.
"""

from collections.abc import Callable, Iterator
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import init

import mnist_addition as task
from comparison import Agreement, Case, Rival
from formulas import DigitFormula
from problems import LeNet
from smtlayer import SMTLayer

EPOCHS = 20
SCHEDULE = {0: 1, 4: 2, 8: 4, 12: 6}  # p of "exists" from an epoch on


def cases(examples: int = 3000, epochs: int = EPOCHS, test: int = 5000) -> Iterator[Case]:
    train, held_out = task.mnist_pairs(1, examples, test)
    ours = task.lenet(nn.ELU, 100)
    step = task.trainer(ours, task.our_loss(SMTLayer(task.addition_theory(1)), ours), 16)
    setups = {"as in its authors' example": False, "each image read once": True}
    networks = {name: task.lenet(nn.ELU, 100) for name in setups}
    theirs = {
        name: epochs_of(networks[name], train, once=once, epochs=epochs)
        for name, once in setups.items()
    }

    def agreement() -> Agreement:
        scores = {name: task.accuracy(network, held_out) for name, network in networks.items()}
        scores["ours"] = task.accuracy(ours, held_out)
        texts = (f"{name} {score:.1%}" for name, score in scores.items())
        text = f"test accuracy after {epochs} epochs of {examples:,} pairs: {', '.join(texts)}"
        return Agreement(True, text, scores)

    yield Case(
        f"{examples:,} pairs, {epochs} epochs, batch 16", lambda i: step(train), theirs, agreement,
        "1,000 examples", examples / 1000, epochs - 1,
    )  # fmt: skip


def epochs_of(
    network: nn.Module, train: task.Examples, *, once: bool, epochs: int
) -> Callable[[int], None]:
    """Trains one epoch per call."""
    exponent = {"p": 1}
    step = task.trainer(network, ltn_loss(network, train.formula, exponent, once=once), 16)

    def epoch(i: int) -> None:
        exponent["p"] = max(p for first, p in SCHEDULE.items() if first <= i * EPOCHS / epochs)
        step(train)

    return epoch


def ltn_loss(
    network: nn.Module, formula: DigitFormula, exponent: dict[str, int], *, once: bool
) -> Callable[[task.Examples], Tensor]:
    """One minus the truth of: for all examples, the images show digits that fit the answer.

    LTNtorch calls a predicate with each image repeated for every digit; with `once`, the
    network reads each image before that.
    """
    import ltn

    def read(images: Tensor) -> Tensor:
        return network(images).softmax(-1)

    def chance(given: Tensor, digit: Tensor) -> Tensor:
        return (given if once else read(given)).gather(1, digit.long())[:, 0]

    def fits(*symbols: "ltn.LTNObject") -> Tensor:
        return formula.holds(*(symbol.value for symbol in symbols))

    shows = ltn.Predicate(func=chance)
    both = ltn.Connective(ltn.fuzzy_ops.AndProd())
    exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(), quantifier="e")
    forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(), quantifier="f")

    def loss(pairs: task.Examples) -> Tensor:
        images = [
            ltn.Variable(f"image{i}", read(image) if once else image)
            for i, image in enumerate(pairs.images[:, :, None].unbind(1))
        ]
        digits = [ltn.Variable(f"digit{i}", torch.arange(10)) for i in range(len(images))]
        answer = ltn.Variable("answer", pairs.answers)
        ltn.diag(*images, answer)
        truth = exists(
            digits,
            reduce(both, map(shows, images, digits)),
            cond_vars=[*digits, answer],
            cond_fn=fits,
            p=exponent["p"],
        )
        return 1 - forall([*images, answer], truth, p=2).value

    return loss


def authors_network() -> LeNet:
    """The digit network of LTNtorch's notebook, with random weights as there."""
    network = LeNet(10)
    network.layers = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 100), nn.BatchNorm1d(100), nn.Tanh(),
        nn.Linear(100, 84), nn.BatchNorm1d(84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip
    for layer in network.layers:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            assert layer.bias is not None
            fill = init.kaiming_uniform_ if isinstance(layer, nn.Conv2d) else init.xavier_uniform_
            fill(layer.weight)
            init.normal_(layer.bias)
    return network


RIVAL = Rival(
    name="ltn",
    title="LTNtorch",
    distribution="LTNtorch",
    module="ltn",
    problem="training on sums of two MNIST digits",
    differs="LTNtorch maximises the fuzzy truth of a formula, ours the exact likelihood. Same "
    "network, weights at the start, examples, order, Adam and epochs, with the settings of "
    "LTN's authors",
    bar=1,
    faster=True,
    cases=cases,
    data=task.MNIST,
)
