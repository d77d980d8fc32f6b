"""This file holds visual Sudoku: complete a board whose hints are images of digits."""

from functools import cached_property
from typing import get_args

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.base import Rows, SplitName, check_validation, count_apart
from smtlayer_studies.tasks.mnist import DigitData
from smtlayer_studies.tasks.networks import DenseHead, DigitAutoencoder
from smtlayer_studies.tasks.sudoku.data import SudokuBoards
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import Reading, encode_hints
from smtlayer_studies.tasks.sudoku.theory import encode_boards as encode_boards
from smtlayer_studies.tasks.sudoku.theory import known_cells as known_cells
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory as sudoku_theory
from smtlayer_studies.tasks.sudoku.view import SudokuView
from smtlayer_studies.tasks.view import View


def check_options(percent: int, validation: float, reading: str) -> None:
    """Raises unless a task can be made of these: to be asked before the boards are made."""
    if reading not in get_args(Reading):
        raise ConfigError(f"visual-sudoku: reading must be 'bits' or 'digits'. Got {reading!r}.")
    if not 1 <= percent <= 100:
        raise ConfigError(f"visual-sudoku: percent must be from 1 to 100. Got {percent}.")
    check_validation("visual-sudoku", validation)


class VisualSudoku:
    """Read the hints of a Sudoku board, images of digits, and complete it.

    Every hint is a random image of its digit, which the board keeps in all epochs; test boards
    have test images. The network sets the hints' columns and the others are free: `known`. The
    labels are the cells that are not hints: `asked`. What the hints say is never a label.

    Args:
        digits: Images to draw hints from.
        boards: Boards for training and test.
        percent: How many of the training boards are used: the first of a fixed random order, so
            that more percent are the same boards and others.
        validation: Share of those boards that is set apart for validation, with images that are
            set apart likewise unless `digits` has some.
        reading: What the network says of a hint: see `sudoku_theory`.
    """

    name = "visual-sudoku"
    view: View = SudokuView()

    def __init__(
        self,
        digits: DigitData,
        boards: SudokuBoards,
        percent: int = 100,
        validation: float = 0.0,
        reading: Reading = "bits",
    ) -> None:
        check_options(percent, validation, reading)
        self.percent = percent
        self.validation = validation
        self.reading = reading
        self._boards = boards
        self._digits = (
            digits if digits.validation is not None else digits.with_validation(validation)
        )
        self._banks: dict[str, Tensor] = {}

    @property
    def data(self) -> str:
        """Where the images and the boards come from: `"mnist, boards_10k"`."""
        return f"{self._digits.source}, {self._boards.source}"

    @property
    def data_title(self) -> str:
        """The data for people."""
        return f"{self._boards.title}; {self._digits.title}"

    @cached_property
    def theory(self) -> Theory:
        """Every row, column and box holds each number once."""
        return sudoku_theory(reading=self.reading)

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """The boards of a split, with images drawn once for a seed, in all epochs.

        Raises:
            ConfigError: If no boards were set apart for validation.
        """
        boards = self._boards.test if split == "test" else self._boards.train
        chosen = self.chosen(split)[:count]
        source = self._digits.split(split)
        puzzles = torch.from_numpy(boards.puzzles).long()
        # For all boards, so that one has the same images whichever others are chosen.
        images = source.draw(puzzles, torch.Generator().manual_seed(seed))[chosen]
        puzzles, solutions = puzzles[chosen], torch.from_numpy(boards.solutions)[chosen]
        is_answer = ~known_cells(puzzles)
        return Rows(
            torch.where(puzzles > 0, images + 1, 0),
            (encode_boards(self.theory, solutions) > 0).float(),
            encode_hints(self.theory, puzzles),
            torch.full((len(chosen),), split != "test"),
            known=known_cells(puzzles, self.reading),
            asked=is_answer,
            bank=self._bank(split, source.images),
        )

    def chosen(self, split: SplitName) -> Tensor:
        """Which boards are in a split: places among the test boards, else the training boards.

        Raises:
            ConfigError: If no boards were set apart for validation.
        """
        if split == "test":
            return torch.arange(len(self._boards.test.puzzles))
        count = len(self._boards.train.puzzles)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
        shown = order[: round(count * self.percent / 100)]
        apart = count_apart(self.name, "boards", len(shown), self.validation)
        if split == "validation" and not apart:
            raise ConfigError(
                "No boards are set apart for validation: set task.validation to a share of the "
                "training boards, such as 0.1."
            )
        cut = len(shown) - apart
        return shown[:cut] if split == "train" else shown[cut:]

    def network(self) -> nn.Module:
        """The paper's digit reader, shared by all cells with a hint."""
        return HintReader(4 if self.reading == "bits" else 9)

    def head(self) -> nn.Module:
        """One hidden layer of 512."""
        return DenseHead(self.theory.n_inputs, self.theory.n_outputs)

    def autoencoder(self, network: nn.Module) -> nn.Module:
        """Rebuilds the images of the hints from what the digit reader makes of them."""
        if not isinstance(network, HintReader):
            raise ConfigError(
                "visual-sudoku: an auto-encoder is made of this task's own network, a HintReader. "
                f"Got a {type(network).__name__}. Use task.network()."
            )
        return DigitAutoencoder(network.reader)

    def _bank(self, split: SplitName, images: Tensor) -> Tensor:
        """The images after a blank one."""
        if split not in self._banks:
            blank = torch.zeros_like(images[:1])
            self._banks[split] = torch.cat([blank, images])
        return self._banks[split]
