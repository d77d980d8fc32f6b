"""Sudoku boards: those of the data folder, or else generated ones, which are cached."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from smtlayer.errors import ConfigError
from smtlayer.solvers import store
from smtlayer_studies.tasks.data import find, state
from smtlayer_studies.tasks.data_files import FILES
from smtlayer_studies.tasks.sudoku.boards import Boards, make_boards

BoardSource = Literal["auto", "boards_10k", "generated"]
_FILE = "sudoku-boards"


@dataclass(frozen=True, eq=False)
class SudokuBoards:
    """Training and test boards, and their source. No test board is a training board."""

    train: Boards
    test: Boards
    source: Literal["boards_10k", "generated boards"]

    def __post_init__(self) -> None:
        shown = {board.tobytes() for board in self.train.solutions}
        both = sum(board.tobytes() in shown for board in self.test.solutions)
        if both:
            raise ConfigError(
                f"SudokuBoards: no test board may have the solution of a training board. {both} of "
                f"{len(self.test.solutions)} have. Take them out of one of the two."
            )

    @property
    def title(self) -> str:
        """The boards in words."""
        count = len(self.train.puzzles) + len(self.test.puzzles)
        made = "generated " if self.source == "generated boards" else ""
        return f"{count:,} {made}Sudoku boards"


def load_boards(data_dir: Path | None = None, source: BoardSource = "auto") -> SudokuBoards:
    """9,000 boards for training and 1,000 for test, with 31 to 42 hints and one solution each.

    Args:
        data_dir: The folder that contains `sudoku/`; see `data_folder` for the default.
        source: `"boards_10k"` for the boards of the data folder, `"generated"` for
            `generated_boards`, `"auto"` for the first of these that is available.

    Raises:
        MissingDataError: If the boards of the data folder are required and missing, or damaged.
    """
    missing = state(FILES[_FILE], data_dir) == "missing"
    if source == "generated" or (source == "auto" and missing):
        return generated_boards()
    with np.load(find(_FILE, data_dir), allow_pickle=False) as kept:
        puzzles, solutions, split = kept["puzzle"], kept["solution"], kept["split"]
    train, test = (
        Boards(puzzles[split == name], solutions[split == name]) for name in ("train", "test")
    )
    return SudokuBoards(train, test, "boards_10k")


def generated_boards(train: int = 9_000, test: int = 1_000, seed: int = 0) -> SudokuBoards:
    """Random boards, cached on disk: generating 10,000 takes about a minute.

    Args:
        train: How many for training.
        test: How many for test.
        seed: The same seed gives the same boards.
    """
    key = f"seed{seed}_{train}_{test}"
    kept = store.load("sudoku_boards", key)
    if kept is None:
        made = make_boards(train + test, seed=seed)
        kept = {"puzzles": made.puzzles, "solutions": made.solutions}
        store.save("sudoku_boards", key, **kept)
    puzzles, solutions = kept["puzzles"], kept["solutions"]
    return SudokuBoards(
        Boards(puzzles[:train], solutions[:train]),
        Boards(puzzles[train:], solutions[train:]),
        "generated boards",
    )
