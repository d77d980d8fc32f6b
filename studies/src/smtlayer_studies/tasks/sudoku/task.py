"""The task visual Sudoku: its data, network and view."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, final, get_args

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.base import Pretraining, Rows, SplitName, check_validation, count_apart
from smtlayer_studies.tasks.mnist import DigitData, Source, load_digits
from smtlayer_studies.tasks.networks import DigitAutoencoder
from smtlayer_studies.tasks.sudoku.data import SudokuBoards, load_boards
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import (
    Reading,
    encode_boards,
    encode_hints,
    known_cells,
    sudoku_theory,
)
from smtlayer_studies.tasks.sudoku.view import SudokuView
from smtlayer_studies.tasks.view import View


def _autoencoder(network: nn.Module) -> nn.Module:
    """Reconstructs the images of the hints from the features of the digit reader."""
    if not isinstance(network, HintReader):
        raise ConfigError(
            "visual-sudoku: the auto-encoder needs the network of this task, a HintReader. "
            f"Got a {type(network).__name__}. Use task.network()."
        )
    return DigitAutoencoder(network.reader)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class VisualSudoku:
    """Read the hints of a Sudoku board, images of digits, and complete it.

    Every hint is a random image of its digit, which the board keeps in all epochs; test boards
    have test images. The network sets the hints' columns and the others are free: `known`. The
    labels are the cells that are not hints: `asked`. The digits of the hints are never a label.

    Args:
        percent: How many of the training boards are used: the first of a fixed random order, so
            that a larger share includes a smaller one.
        data: Which images to use for hints; see `load_digits`.
        validation: Share of those boards that is set apart for validation, with images that are
            set apart likewise unless `digits` has some.
        reading: What the network outputs for a hint: see `sudoku_theory`.
        data_dir: The data folder.
        digits: Images to use instead of those that `data` names.
        boards: Boards to use instead of those in the data folder.
    """

    name: ClassVar[str] = "visual-sudoku"
    view: ClassVar[View] = SudokuView()
    pretraining: ClassVar[Pretraining] = Pretraining(autoencoder=_autoencoder)

    percent: int = 100
    data: Source = "auto"
    validation: float = 0.0
    reading: Reading = "bits"
    data_dir: Path | None = field(default=None, repr=False)
    digits: DigitData | None = field(default=None, repr=False)
    boards: SudokuBoards | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.reading not in get_args(Reading):
            raise ConfigError(
                f"visual-sudoku: reading must be 'bits' or 'digits'. Got {self.reading!r}."
            )
        if not 1 <= self.percent <= 100:
            raise ConfigError(f"visual-sudoku: percent must be from 1 to 100. Got {self.percent}.")
        check_validation("visual-sudoku", self.validation)

    @property
    def data_source(self) -> str:
        """The sources of images and boards: `"mnist, boards_10k"`."""
        return f"{self._digits.source}, {self._boards.source}"

    @property
    def data_title(self) -> str:
        """The data in words."""
        return f"{self._boards.title}; {self._digits.title}"

    @property
    def scored_split(self) -> SplitName:
        """Which split is scored."""
        return "validation" if self.validation else "test"

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
        """Which boards are in a split: positions among the test boards, else the training boards.

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

    @cached_property
    def _digits(self) -> DigitData:
        found = self.digits or load_digits(self.data, self.data_dir)
        return found if found.validation is not None else found.with_validation(self.validation)

    @cached_property
    def _boards(self) -> SudokuBoards:
        return self.boards or load_boards(self.data_dir)

    @cached_property
    def _banks(self) -> dict[str, Tensor]:
        return {}

    def _bank(self, split: SplitName, images: Tensor) -> Tensor:
        """The images after a blank one."""
        if split not in self._banks:
            blank = torch.zeros_like(images[:1])
            self._banks[split] = torch.cat([blank, images])
        return self._banks[split]
