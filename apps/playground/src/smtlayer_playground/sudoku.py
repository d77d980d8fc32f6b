"""The Sudoku page: boards with handwritten hints that are read, repaired and completed."""

import random
import sys
from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.nn import SMTLayer
from smtlayer.solvers import Auto, Status
from smtlayer.theory import to_signs
from smtlayer_playground.digits import DigitBank
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import whole_number
from smtlayer_playground.images import digit_image
from smtlayer_playground.sudoku_core import CELLS, CoreFinder
from smtlayer_playground.trained import Trained
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import Reading, encode_hints, known_cells

_TIMEOUT_MS = 3_000
_SEEDS = 100_000
_CORRECTION_WEIGHT = 10.0


@final
class SudokuPage:
    """A network reads each hint separately; the solver repairs and completes the board.

    Args:
        run: The trained network.
        bank: Handwritten digits for the boards.
    """

    def __init__(self, run: Trained, bank: DigitBank) -> None:
        self.run = run
        self.bank = bank
        self._reading: Reading = run.options.get("reading", "bits")
        workers = 0 if sys.platform == "win32" else 1  # a process that can be killed
        backend = Auto(timeout_ms=_TIMEOUT_MS, workers=workers)
        self._layer = SMTLayer(run.theory, backend=backend).eval()
        self._finder = CoreFinder()

    def about(self) -> dict[str, Any]:
        """Facts that the page shows."""
        return {"run": self.run.about(), "images": self.bank.title}

    def board(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A new board: images of its hints, the numbers they show, and the unique solution."""
        generator = random.Random(whole_number(request, "seed", 0, _SEEDS))
        board = make_boards(1, seed=generator.randrange(_SEEDS))
        puzzle, solution = (side[0].tolist() for side in (board.puzzles, board.solutions))
        images = [self.bank.draw(digit, generator) if digit else None for digit in puzzle]
        return {"images": images, "shown": puzzle, "solution": solution}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Solves the board of `images`, with one image per hint and null for other cells.

        The optional field `corrections` replaces readings of the network, as in `{"17": 3}` for
        cell 17.
        """
        cells = request.get("images")
        if not isinstance(cells, list) or len(cells) != len(CELLS):
            raise PlaygroundError(f"'images' must be a list of {len(CELLS)} images or nulls.")
        images = torch.stack([digit_image(value) for value in cells])  # (81, 28, 28)
        hints = images.flatten(1).any(-1)
        if not hints.any():
            raise PlaygroundError("The board needs at least one hint.")
        with torch.no_grad():
            logits = self.run.network(images[None].float() / 255)
        numbers = _corrections(request.get("corrections", {}), hints)
        corrected = encode_hints(self._layer.theory, numbers[None])
        certain = _CORRECTION_WEIGHT * logits.abs().max()  # more than any reading
        return self._solve(torch.where(corrected != 0, corrected * certain, logits), hints)

    def _solve(self, logits: Tensor, hints: Tensor) -> dict[str, Any]:
        theory = self._layer.theory
        known = known_cells(hints[None], self._reading)
        signs, found = to_signs(logits, known), self._layer.solve(logits, known)
        read, taken, answer = (
            list(values.values())
            for values in (
                theory.decode_inputs(signs[0]),
                theory.decode_inputs(found.inputs[0]),
                theory.decode(found.outputs[0]),
            )
        )
        changed = ((signs * found.inputs) < 0).reshape(len(CELLS), -1)
        by_cell = logits.reshape(len(CELLS), -1)
        certainty = _certainty(by_cell, self._reading).tolist()
        costs = (by_cell.abs() * changed).sum(-1).tolist()
        overruled = changed.any(-1).nonzero().flatten().tolist()
        solved = bool(found.status[0] == Status.SAT)
        return {
            "solution": answer if solved else None,
            "proved": bool(found.proved[0]),
            "cost": sum(costs) if solved else None,
            "read": [
                {"value": read[cell], "certainty": certainty[cell]} if hints[cell] else None
                for cell in CELLS
            ],
            "overruled": [
                {"cell": cell, "read": read[cell], "taken": taken[cell], "cost": costs[cell]}
                for cell in overruled
            ],
            "conflict": self._conflict(read, hints, overruled) if overruled or not solved else None,
        }

    def _conflict(
        self, read: list[int | None], hints: Tensor, overruled: list[int]
    ) -> dict[str, Any] | None:
        """A core of the hints as read; 0 stands for columns that encode no number."""
        values = [(read[cell] or 0) if hints[cell] else None for cell in CELLS]
        found = self._finder.find(values, overruled)
        if found is None:
            return None
        rules = [{"label": rule.label, "cells": rule.cells} for rule in found.rules]
        return {"cells": found.cells, "rules": rules}


def _corrections(given: Any, hints: Tensor) -> Tensor:
    """The corrected numbers of cells with a hint, 0 for all other cells: (81,)."""
    numbers = torch.zeros(len(CELLS), dtype=torch.int64)
    cells = {str(cell): cell for cell in CELLS if hints[cell]}
    if not isinstance(given, dict) or any(cell not in cells for cell in given):
        raise PlaygroundError("'corrections' must be an object whose keys are cells with a hint.")
    for cell in given:
        numbers[cells[cell]] = whole_number(given, cell, 1, 9) or 0
    return numbers


def _certainty(logits: Tensor, reading: Reading) -> Tensor:
    """The probability of each cell's reading, (81, columns) to (81,)."""
    if reading == "digits":  # one-hot columns
        return logits.softmax(-1).amax(-1)
    return logits.abs().sigmoid().prod(-1)
