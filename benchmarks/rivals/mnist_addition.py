"""Addition of numbers of handwritten digits: theory, data, networks and our training step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
import z3
from torch import Tensor, nn

from formulas import DigitFormula, addition
from problems import LeNet
from smtlayer import SMTLayer, Theory, one_hot
from smtlayer_studies.tasks.mnist import load_digits

MNIST = "mnist/train-images-idx3-ubyte.gz"


def addition_theory(digits: int) -> Theory:
    """Two numbers of one-hot digits and the digits of their sum, most significant first."""
    a, b = ([z3.Int(f"{name}{i}") for i in range(digits)] for name in "ab")
    total = [z3.Int(f"s{i}") for i in range(digits + 1)]
    carry = [z3.Int(f"carry{i}") for i in range(digits)]  # out of column i

    def carried_in(i: int) -> z3.ArithRef | int:
        return carry[i + 1] if i + 1 < digits else 0

    rules = [a[i] + b[i] + carried_in(i) == total[i + 1] + 10 * carry[i] for i in range(digits)]
    rules += [z3.And(one >= 0, one <= 1) for one in carry]
    rules.append(total[0] == carry[0])
    values = [range(2), *[range(10)] * digits]  # the first digit of a sum is 0 or 1
    outputs = [one_hot(s, known) for s, known in zip(total, values, strict=True)]
    return Theory(rules, inputs=[one_hot(x, range(10)) for x in (*a, *b)], outputs=outputs)


def wanted(theory: Theory, sums: Tensor) -> Tensor:
    """The signs of the outputs for sums: (B,) to (B, m)."""
    names = [symbol.name for symbol in theory.output_symbols]
    places = range(len(names) - 1, -1, -1)
    digits = {name: sums // 10**i % 10 for name, i in zip(names, places, strict=True)}
    return theory.encode_outputs(**digits)


@dataclass(frozen=True, eq=False)
class Examples:
    """Images of digits, and the answer of a formula to them."""

    images: Tensor  # (B, d, 28, 28)
    labels: Tensor  # (B, d): the digits
    formula: DigitFormula

    @cached_property
    def answers(self) -> Tensor:
        """The answer of each example: (B,)."""
        return self.formula.answer(self.labels)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: slice) -> "Examples":
        return Examples(self.images[rows], self.labels[rows], self.formula)


def mnist_pairs(digits: int, train: int, test: int) -> tuple[Examples, Examples]:
    """Training and test examples of MNIST; each image is used at most once."""
    data = load_digits("mnist")
    found = []
    for split, count in ((data.train, train), (data.test, test)):
        order = torch.randperm(len(split.images), generator=torch.Generator().manual_seed(0))
        order = order[: count * 2 * digits].reshape(count, 2 * digits)
        found.append(Examples(split.images[order] / 255, split.labels[order], addition(digits)))
    return found[0], found[1]


def lenet(activation: type[nn.Module], hidden: int) -> nn.Sequential:
    """The small network of the other libraries' examples, with the same weights in each call."""
    torch.manual_seed(0)
    return LeNet(10, activation, hidden).layers


def linear() -> nn.Sequential:
    """The least network, so that the likelihood takes most of the time."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))


def accuracy(network: nn.Module, pairs: Examples) -> float:
    """The share of right sums, each digit read as the network's most probable one."""
    with torch.no_grad():
        digits = network(pairs.images.reshape(-1, 1, 28, 28)).argmax(-1)
    read = pairs.formula.answer(digits.reshape(pairs.labels.shape))
    return float((read == pairs.answers).double().mean())


def our_loss(layer: SMTLayer, network: nn.Module) -> Callable[[Examples], Tensor]:
    """The negative log-likelihood of the sums."""

    def loss(pairs: Examples) -> Tensor:
        logits = network(pairs.images.reshape(-1, 1, 28, 28)).reshape(len(pairs), -1)
        return -layer.log_prob(logits, wanted(layer.theory, pairs.answers)).mean()

    return loss


def trainer(
    network: nn.Module, loss: Callable[[Examples], Tensor], batch: int
) -> Callable[[Examples], None]:
    """Trains on examples once, in their order, with Adam at 0.001."""
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)

    def train(pairs: Examples) -> None:
        for first in range(0, len(pairs), batch):
            optimizer.zero_grad()
            loss(pairs[first : first + batch]).backward()
            optimizer.step()

    return train
