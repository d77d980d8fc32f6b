"""Makes the pages from trained runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smtlayer import __version__
from smtlayer_playground.addition import AdditionPage
from smtlayer_playground.digits import DigitBank
from smtlayer_playground.liars import LiarsPage
from smtlayer_playground.limits import Limits
from smtlayer_playground.reader import shipped
from smtlayer_playground.sandbox import Sandbox
from smtlayer_playground.sudoku import SudokuPage
from smtlayer_playground.trained import Trained
from smtlayer_playground.untrusted import make_sandbox
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.sudoku.task import VisualSudoku


@dataclass(frozen=True, eq=False)
class Pages:
    """The five pages; the pages for requirements and theories share a sandbox."""

    addition: AdditionPage
    sudoku: SudokuPage
    liars: LiarsPage
    sandbox: Sandbox

    def about(self) -> dict[str, Any]:
        """Facts that the pages show."""
        return {
            "version": __version__,
            "addition": self.addition.about(),
            "sudoku": self.sudoku.about(),
            "liars": self.liars.about(),
            "limits": vars(self.sandbox.limits),
        }


def make_pages(
    trained: Mapping[str, Trained], data_dir: Path | None = None, limits: Limits | None = None
) -> Pages:
    """Makes the pages.

    Args:
        trained: Runs by task. Without a run of MNIST addition or of visual Sudoku, the reader that
            comes with the playground reads the digits; without one of the liar's puzzle, sentences
            are read by keywords.
        data_dir: The data folder, for handwritten digits.
        limits: Limits for requests about a pasted theory, or about typed requirements.
    """
    readers, bank = shipped() | dict(trained), DigitBank(data_dir)
    return Pages(
        AdditionPage(readers[MnistAddition.name], bank),
        SudokuPage(readers[VisualSudoku.name], bank),
        LiarsPage(trained.get(LiarsPuzzle.name)),
        make_sandbox(limits or Limits()),
    )
