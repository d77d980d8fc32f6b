"""Small unsat cores of Sudoku hints and rules."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, final

import torch
import z3

from smtlayer.solvers import Sat, Status
from smtlayer.theory import Theory

Kind = Literal["cell", "row", "column", "box"]
CELLS, NUMBERS = range(81), range(1, 10)
_TRIES = 12  # the size of a core depends on the order of deletion
_TIMEOUT_MS = 400


@dataclass(frozen=True)
class Rule:
    """A rule of Sudoku."""

    kind: Kind
    index: int  # from 0, row by row

    @property
    def label(self) -> str:
        """The rule in words.

        Examples:
            >>> Rule("row", 3).label
            'row 4 contains each number once'
        """
        if self.kind == "cell":
            return "a cell contains a number from 1 to 9"
        return f"{self.kind} {self.index + 1} contains each number once"

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells that the rule constrains.

        Examples:
            >>> Rule("box", 4).cells
            (30, 31, 32, 39, 40, 41, 48, 49, 50)
        """
        if self.kind == "cell":
            return (self.index,)
        top, left = divmod(self.index, 3)
        starts = {"row": 9 * self.index, "column": self.index, "box": 27 * top + 3 * left}
        steps = {"row": (3, 1), "column": (27, 9), "box": (9, 1)}
        (far, near), start = steps[self.kind], starts[self.kind]
        return tuple(start + far * i + near * j for i, j in product(range(3), range(3)))


_KINDS: tuple[Kind, ...] = ("row", "column", "box")
GROUPS = tuple(Rule(kind, index) for kind, index in product(_KINDS, range(9)))


@dataclass(frozen=True)
class SudokuCore:
    """Hints and rules that contradict each other, without any that could be left out."""

    cells: tuple[int, ...]
    rules: tuple[Rule, ...]


@final
class CoreFinder:
    """Finds small cores: hints and rules that contradict each other.

    The rules of Sudoku are inputs of the theory, like the hints, so a core contains both. There are
    many minimal cores; the finder tries several orders of deletion and takes the smallest result.
    """

    def __init__(self) -> None:
        workers = 0 if sys.platform == "win32" else 1  # a process that can be killed
        self._solver = Sat(timeout_ms=_TIMEOUT_MS, workers=workers).compile(ruled_sudoku())

    def find(
        self, values: Sequence[int | None], preferred: Sequence[int] = ()
    ) -> SudokuCore | None:
        """A small core, or None if the hints are consistent or the time runs out.

        Args:
            values: The readings of the 81 cells, None for cells without a hint.
            preferred: Cells that a core should contain if possible.

        Examples:
            >>> finder = CoreFinder()
            >>> found = finder.find([5, None, 5] + [None] * 78)
            >>> found.cells, [rule.label for rule in found.rules]
            ((0, 2), ['row 1 contains each number once'])
        """
        for cell, value in enumerate(values):
            if value is not None and value not in NUMBERS:
                return SudokuCore((cell,), (Rule("cell", cell),))
        signs, weights = self._query(values, preferred)
        wanted = torch.zeros(len(signs), self._solver.theory.n_outputs, dtype=torch.int8)
        found = self._solver.core(signs, weights, wanted)
        is_core = found.status == Status.UNSAT
        if not is_core.any():
            return None
        sizes = torch.where(is_core, found.inputs.sum(-1), 1 + signs.shape[-1])
        return _core(found.inputs[sizes.argmin()].tolist())

    def _query(self, values: Sequence[int | None], preferred: Sequence[int]) -> tuple[Any, Any]:
        row = [1] * len(GROUPS)
        row += [int(values[cell] == number) for cell, number in product(CELLS, NUMBERS)]
        signs = torch.tensor([row] * _TRIES, dtype=torch.int8)
        generator = torch.Generator().manual_seed(0)
        by_cell = 2 + torch.rand(_TRIES, len(CELLS), generator=generator, dtype=torch.float64)
        by_cell[:, list(preferred)] -= 1
        rules = torch.rand(_TRIES, len(GROUPS), generator=generator, dtype=torch.float64)
        weights = torch.cat([rules + 0.01, by_cell.repeat_interleave(len(NUMBERS), -1)], -1)
        return signs, weights


def ruled_sudoku() -> Theory:
    """A theory of Sudoku in which the rules for rows, columns and boxes are inputs."""
    holds = {(c, n): z3.Bool(f"cell_{c}_{n}") for c, n in product(CELLS, NUMBERS)}
    rules = [z3.Bool(f"{rule.kind}_{rule.index}") for rule in GROUPS]
    cells = [_exactly_one([holds[c, n] for n in NUMBERS]) for c in CELLS]
    groups = [
        z3.Implies(on, z3.And([_exactly_one([holds[c, n] for c in rule.cells]) for n in NUMBERS]))
        for on, rule in zip(rules, GROUPS, strict=True)
    ]
    return Theory([*cells, *groups], inputs=[*rules, *holds.values()], outputs=rules)


def _exactly_one(symbols: list[Any]) -> Any:
    return z3.And(z3.Or(symbols), z3.AtMost(*symbols, 1))


def _core(blamed: list[bool]) -> SudokuCore:
    rules = tuple(rule for rule, is_in in zip(GROUPS, blamed, strict=False) if is_in)
    hints = blamed[len(GROUPS) :]
    cells = {i // len(NUMBERS) for i, is_in in enumerate(hints) if is_in}
    return SudokuCore(tuple(sorted(cells)), rules)
