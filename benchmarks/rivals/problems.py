"""The problems on which learners are compared: the tasks of the studies, with small networks.

The networks are a fraction of the paper's: LeNet with 44,000 weights for digits, and an LSTM of 64
instead of 512 for sentences. So every learner can be trained on a CPU, and its own cost shows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor, nn

from smtlayer import Theory, one_hot
from smtlayer_studies.runs.metrics import TEST_SEED
from smtlayer_studies.runs.run_options import TrainOptions
from smtlayer_studies.tasks.base import Rows, SplitName, Task
from smtlayer_studies.tasks.liars.network import SentenceReader
from smtlayer_studies.tasks.options import make_task
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

DIGIT = 28 * 28


class LeNet(nn.Module):
    """The digit network of DeepProbLog's examples, shared by all images of an example.

    LTN's authors have the same with `ELU` and 100 hidden units.

    Shape:
        - images: $(B, d, 28, 28)$; output: $(B, d * columns)$ logits.
    """

    def __init__(
        self, columns: int, activation: type[nn.Module] = nn.ReLU, hidden: int = 120
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 5), activation(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), activation(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(256, hidden), activation(),
            nn.Linear(hidden, 84), activation(), nn.Linear(84, columns),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each image, side by side."""
        read: Tensor = self.layers(images.reshape(-1, 1, 28, 28))
        return read.reshape(len(images), -1)


def hint_reader() -> nn.Module:
    """A LeNet on the hints of a Sudoku, with nine outputs per cell."""
    reader = HintReader(9)
    reader.reader = LeNet(9)  # type: ignore[assignment]
    return reader


@dataclass(frozen=True, eq=False)
class Problem:
    """A task of the studies, the network for it, and the length of the training."""

    name: str
    title: str
    options: Mapping[str, Any]  # of the task
    network: Callable[[], nn.Module]
    epochs: int
    batch_size: int
    rows: int = 60_000  # per epoch; tasks with fixed examples have their own
    test_rows: int = 10_000
    timed: int = 10  # batches of each timing

    def task(self, seed: int) -> Task:
        """The task; that of the liar's puzzle has a split for each seed."""
        options = dict(self.options)
        if options.get("split") == "seed":
            options["split"] = seed
        return make_task(options)

    @property
    def train(self) -> TrainOptions:
        """The options of *one rule* in the studies, without shifts of images."""
        return TrainOptions(
            epochs=self.epochs, rows=self.rows, batch_size=self.batch_size, optimizer="adam",
            lr=1e-3, warmup=0.05, decay=0.3, clip=0.1, test_rows=self.test_rows,
        )  # fmt: skip

    def test(self, task: Task) -> Rows:
        """The test examples."""
        return task.rows("test", self.test_rows, TEST_SEED)


class DigitReading:
    """A task whose digits are one-hot symbols, read by softmax over ten outputs."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @property
    def data_source(self) -> str:
        """The data of the task."""
        return self._task.data_source

    @cached_property
    def theory(self) -> Theory:
        """The theory of the task, with ten columns per digit."""
        return with_digits(self._task.theory)

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """The same examples, with one-hot symbols."""
        rows = self._task.rows(split, count, seed, epoch)
        digits = self._task.theory.decode_inputs(rows.symbols).items()
        values = {name: torch.as_tensor(digit) for name, digit in digits}
        return replace(rows, symbols=self.theory.encode(**values))


class BoardReading:
    """Visual Sudoku whose answers are the same one-hot symbols as its hints."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @property
    def data_source(self) -> str:
        """The data of the task."""
        return self._task.data_source

    @cached_property
    def theory(self) -> Theory:
        """The rules of Sudoku; hints and answers have the same columns."""
        return board_theory()

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """The same examples, with one-hot answers."""
        rows = self._task.rows(split, count, seed, epoch)
        assert rows.known is not None  # the cells with a hint
        numbers = self._task.theory.decode((rows.targets > 0.5) * 2 - 1)
        values = {name: torch.as_tensor(cell) for name, cell in numbers.items()}
        targets = (self.theory.encode_outputs(**values) > 0).float()
        return replace(rows, targets=targets, asked=~rows.known)


def with_digits(theory: Theory) -> Theory:
    """A theory whose inputs are digits, with ten columns for each in place of its bits."""
    digits = [one_hot(symbol.term, range(10)) for symbol in theory.input_symbols]
    return Theory(theory.constraints, digits, theory.output_symbols)


@cache
def board_theory() -> Theory:
    """The rules of Sudoku, with nine columns per cell for its hint and its answer alike."""
    rules = sudoku_theory(reading="digits")
    cells = [one_hot(symbol.term, symbol.values) for symbol in rules.input_symbols]
    return Theory(rules.constraints, cells, cells)


def _addition(percent: int) -> Problem:
    options = {"name": "mnist-addition", "percent": percent, "data": "mnist"}
    title = f"MNIST+ {percent} %"
    return Problem(f"mnist-addition-{percent}", title, options, lambda: LeNet(4), 5, 128)


def _longer(problem: Problem, epochs: int) -> Problem:
    title = f"{problem.title}, {epochs} epochs"
    return replace(problem, name=f"{problem.name}-longer", title=title, epochs=epochs)


def _long(length: int, epochs: int) -> Problem:
    options = {"name": "long-addition", "length": length, "data": "mnist"}
    title = f"{length}-digit addition"
    return Problem(
        f"long-addition-{length}", title, options, lambda: LeNet(10), epochs, 32, test_rows=2_500
    )


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        *(_addition(percent) for percent in (10, 25, 50, 75, 100)),
        _longer(_addition(10), 15),
        Problem(
            "visual-algebra-1", "Visual algebra #1",
            {"name": "visual-algebra", "configuration": 1, "data": "mnist"},
            lambda: LeNet(4), 5, 64,
        ),
        Problem(
            "liars-puzzle", "Liar's puzzle", {"name": "liars-puzzle", "split": "seed"},
            lambda: SentenceReader(64), 15, 32, rows=9_400, test_rows=28_062,
        ),
        Problem(
            "visual-sudoku-10", "Visual Sudoku 10 %",
            {"name": "visual-sudoku", "percent": 10, "reading": "digits", "data": "mnist"},
            hint_reader, 30, 16, rows=9_000, test_rows=1_000, timed=3,
        ),
        _long(2, 10), _long(4, 20), _long(15, 30),
    )
}  # fmt: skip
