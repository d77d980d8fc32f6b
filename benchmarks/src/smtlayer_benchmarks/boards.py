"""Sudoku boards whose hints are logits of a real digit network."""

from dataclasses import dataclass
from importlib import resources
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from smtlayer.theory import Theory, to_signs
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import encode_boards as encode_boards
from smtlayer_studies.tasks.sudoku.theory import known_cells

Reader = Literal["97", "99", "99.7"]
READERS: tuple[Reader, ...] = ("97", "99", "99.7")  # accuracy in per cent


@dataclass(frozen=True, eq=False)
class Reading:
    """A batch of boards: the logits of the hints, and the solutions."""

    inputs: Tensor  # (B, 324) int8, signs of the logits; 0 where there is no hint
    weights: Tensor  # (B, 324) float64
    solutions: Tensor  # (B, 324) int8, signs

    @property
    def answers(self) -> Tensor:
        """The signs of the cells that are not hints; 0 at the hints."""
        return torch.where(self.inputs == 0, self.solutions, 0).to(torch.int8)

    def rows(self, rows: Tensor) -> "Reading":
        """Some of the boards."""
        return Reading(self.inputs[rows], self.weights[rows], self.solutions[rows])


def read_boards(theory: Theory, reader: Reader, count: int, seed: int = 0) -> Reading:
    """Boards of 31 to 42 hints, each with the logits of a random image of its digit.

    `benchmarks/readers.py` made the logits; this package ships them.
    """
    boards = make_boards(count, seed=seed)
    with (resources.files("smtlayer_benchmarks") / "readers.npz").open("rb") as file:
        kept = np.load(file)
        logits, labels = kept[f"logits_{reader}"].astype(np.float64), kept[f"labels_{reader}"]
    draw = np.random.default_rng(seed)
    read = np.zeros((count, boards.puzzles.shape[1], logits.shape[1]))
    for digit in range(1, 10):
        where = boards.puzzles == digit
        read[where] = logits[draw.choice(np.flatnonzero(labels == digit), where.sum())]
    flat = torch.from_numpy(read.reshape(count, -1))
    signs = to_signs(flat, known_cells(torch.from_numpy(boards.puzzles)))
    least = torch.finfo(torch.float64).tiny
    solutions = encode_boards(theory, torch.from_numpy(boards.solutions))
    return Reading(signs, flat.abs().clamp(min=least), solutions)
