"""This file answers for a Sudoku board of handwritten hints: how it was read and repaired."""

import random
import sys
from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from smtlayer.nn import SMTLayer
from smtlayer.solvers import Auto, Status
from smtlayer.theory import to_signs
from smtlayer_playground.digits import DigitBank
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import whole
from smtlayer_playground.images import digit_image
from smtlayer_playground.sudoku_core import CELLS, CoreFinder
from smtlayer_playground.trained import Trained
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import Reading, encode_hints, known_cells, sudoku_theory

_TIMEOUT_MS = 3_000
_SEEDS = 100_000
_SAID_WEIGHT = 10.0


@final
class SudokuPage:
    """Hints are read by a network, one by one; the solver overrules and completes them.

    Args:
        run: A run of visual Sudoku, or None.
        addition: A run of MNIST addition, whose digit reader reads the hints otherwise.
        bank: Handwritten digits for the boards.
    """

    def __init__(self, run: Trained | None, addition: Trained, bank: DigitBank) -> None:
        self.run = run or addition
        self.bank = bank
        self._own = run is not None
        self._network = _hint_reader(addition) if run is None else run.network
        self._reading: Reading = "bits" if run is None else run.options.get("reading", "bits")
        workers = 0 if sys.platform == "win32" else 1  # a process that can be ended
        backend = Auto(timeout_ms=_TIMEOUT_MS, workers=workers)
        self._layer = SMTLayer(sudoku_theory(reading=self._reading), backend=backend).eval()
        self._finder = CoreFinder()

    def about(self) -> dict[str, Any]:
        """What the page says of itself."""
        return {"run": self.run.about(), "own": self._own, "images": self.bank.title}

    def board(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """A new board: images of its hints, what they show, and its only solution."""
        draw = random.Random(whole(question, "seed", 0, _SEEDS))
        board = make_boards(1, seed=draw.randrange(_SEEDS))
        puzzle, solution = (side[0].tolist() for side in (board.puzzles, board.solutions))
        images = [self.bank.draw_text(digit, draw) if digit else None for digit in puzzle]
        return {"images": images, "shown": puzzle, "solution": solution}

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answers for `images`: a picture for each cell with a hint, null for the others.

        If given, `said` holds numbers that somebody gave for cells, as in `{"17": 3}`: those are
        taken instead of what the network reads there.
        """
        given = question.get("images")
        if not isinstance(given, list) or len(given) != len(CELLS):
            raise PlaygroundError(f"'images' must be a list of {len(CELLS)} pictures or nulls.")
        images = torch.stack([digit_image(value) for value in given])  # (81, 28, 28)
        hints = images.flatten(1).any(-1)
        if not hints.any():
            raise PlaygroundError("The board needs at least one hint.")
        with torch.no_grad():
            logits = self._network(images[None].float() / 255)
        said = encode_hints(self._layer.theory, _said(question.get("said", {}), hints)[None])
        certain = _SAID_WEIGHT * logits.abs().max()  # beyond all that was read
        return self._told(torch.where(said != 0, said * certain, logits), hints)

    def _told(self, logits: Tensor, hints: Tensor) -> dict[str, Any]:
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
        certainty = by_cell.abs().sigmoid().prod(-1).tolist()
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
        """Why the hints cannot all hold as they were read."""
        # Columns that make no number are none of Sudoku's numbers either.
        values = [(read[cell] or 0) if hints[cell] else None for cell in CELLS]
        found = self._finder.find(values, overruled)
        if found is None:
            return None
        rules = [{"label": rule.label, "cells": rule.cells} for rule in found.rules]
        return {"cells": found.cells, "rules": rules}


def _said(given: Any, hints: Tensor) -> Tensor:
    """The numbers that somebody gave for cells with a hint, 0 for the others: (81,)."""
    said = torch.zeros(len(CELLS), dtype=torch.int64)
    places = {str(cell): cell for cell in CELLS if hints[cell]}
    if not isinstance(given, dict) or any(cell not in places for cell in given):
        raise PlaygroundError("'said' must be an object from numbers of cells with a hint.")
    for cell in given:
        said[places[cell]] = whole(given, cell, 1, 9) or 0
    return said


def _hint_reader(addition: Trained) -> nn.Module:
    """Reads hints with the digit reader of MNIST addition."""
    network = HintReader(4)
    network.reader.load_state_dict(addition.network.state_dict())
    return network.eval()
