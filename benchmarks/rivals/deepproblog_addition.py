"""DeepProbLog with its exact engine on formulas over MNIST digits; timed on addition."""

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

import mnist_addition as task
from comparison import Agreement, Case, Rival
from formulas import DIGITS
from smtlayer import SMTLayer


def cases() -> Iterator[Case]:
    lenet = partial(task.lenet, nn.ReLU, 120)
    yield make_case(1, "linear network", task.linear, batch=32, chunk=192, repeats=9)
    yield make_case(1, "its example's network", lenet, batch=32, chunk=192, repeats=9)
    yield make_case(1, "its example's network", lenet, batch=2, chunk=192, repeats=9)
    yield make_case(2, "its example's network", lenet, batch=32, chunk=32, repeats=6)


def make_case(
    digits: int, name: str, network: Callable[[], nn.Module], batch: int, chunk: int, repeats: int
) -> Case:
    """Both sides train on the same examples, a chunk per call.

    With two digits all calls use the same chunk, so that the time to compile the circuits of its
    sums is not part of the timed calls; there is no accuracy then.
    """
    fresh = digits == 1
    train, held_out = task.mnist_pairs(digits, chunk * (repeats + 1 if fresh else 1), 2000)
    layer = SMTLayer(task.addition_theory(digits))
    ours, theirs = network(), network()
    loss = task.our_loss(layer, ours)
    problog = ProbLog(theirs, train)
    start = loss(train[:batch]).item(), problog.loss(train[:batch])

    def examples(i: int) -> task.Examples:
        return train[i * chunk : (i + 1) * chunk] if fresh else train

    def agreement() -> Agreement:
        text = (
            f"loss of the first batch before training: ours {start[0]:.4f}, theirs "
            f"{start[1]:.4f}; not timed: {problog.compile_s:.2g} s for compiling their circuits"
        )
        scores = {}
        if fresh:
            scores = {
                "ours": task.accuracy(ours, held_out),
                "theirs": task.accuracy(theirs, held_out),
            }
            text += (
                f"; test accuracy after {len(train):,} examples: ours {scores['ours']:.1%}, "
                f"theirs {scores['theirs']:.1%}"
            )
        return Agreement(abs(start[0] - start[1]) < 1e-4, text, scores)

    step = task.trainer(ours, loss, batch)
    setups = {"exact engine, circuits cached": lambda i: problog.train(examples(i), batch)}
    size = f"{digits} digit{'s' * (digits > 1)}, {name}, batch {batch}"
    return Case(
        size, lambda i: step(examples(i)), setups, agreement,
        "1,000 examples", chunk / 1000, repeats,
    )  # fmt: skip


class ProbLog:
    """DeepProbLog's model of a formula, with its own loss; compiles circuits of some examples."""

    def __init__(self, network: nn.Module, pairs: task.Examples) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its approximate engine, for SWI-Prolog
            from deepproblog.engines import ExactEngine
            from deepproblog.model import Model
            from deepproblog.network import Network
            from deepproblog.train import TrainObject
        reader = Network(nn.Sequential(network, nn.Softmax(1)), "digits", batching=True)
        reader.optimizer = torch.optim.Adam(network.parameters(), 1e-3)
        self.model = Model(DIGITS + pairs.formula.program, [reader], load=False)
        with contextlib.redirect_stdout(io.StringIO()):
            self.model.set_engine(ExactEngine(self.model), cache=True)
        self.images: dict[Any, Tensor] = {}
        self.model.add_tensor_source("images", self.images)
        self.training = TrainObject(self.model)
        start = time.perf_counter()
        for query in queries(pairs, {}):
            self.model.solver.cache.get(query)
        self.compile_s = time.perf_counter() - start

    def loss(self, pairs: task.Examples) -> float:
        """The mean cross-entropy of the answers; adds its gradient to the parameters."""
        self.images.clear()
        asked = queries(pairs, self.images)
        return self.training.get_loss(asked, self.model.solver.semiring.cross_entropy)

    def train(self, pairs: task.Examples, batch: int) -> float:
        """Trains on examples once, in their order; the loss of the last batch."""
        self.model.train()
        for first in range(0, len(pairs), batch):
            self.model.optimizer.zero_grad()
            loss = self.loss(pairs[first : first + batch])
            self.model.optimizer.step()
        return loss


def queries(pairs: task.Examples, images: dict[Any, Tensor]) -> list[Any]:
    """One query per example; its images are added to `images`."""
    from deepproblog.query import Query
    from problog.logic import Constant, Term, list2term

    formula, found = pairs.formula, []
    for row, answer in zip(pairs.images, pairs.answers.tolist(), strict=True):
        names = [Term(f"image{i}") for i in range(len(row))]
        terms = {}
        for name, image in zip(names, row, strict=True):
            key = Constant(len(images))
            terms[name] = Term("tensor", Term("images", key))
            images[(key,)] = image[None]
        length = len(names) // formula.lists
        lists = [list2term(names[i : i + length]) for i in range(0, len(names), length)]
        found.append(Query(Term(formula.predicate, *lists, Constant(answer)), terms))
    return found


RIVAL = Rival(
    name="deepproblog",
    title="DeepProbLog",
    distribution="deepproblog",
    module="deepproblog",
    problem="training on sums of MNIST numbers by exact likelihood",
    differs="Same likelihood, network, weights at the start, examples, order and Adam. DeepProbLog "
    "takes any ProbLog program, compiles a circuit for each sum when it first occurs, and "
    "evaluates circuits one by one in Python",
    bar=100,
    faster=True,
    cases=cases,
    data=task.MNIST,
)
