"""Generates Sudoku boards with exactly one solution."""

import random
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Minisat22

from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


@dataclass(frozen=True, eq=False)
class Boards:
    """Boards and their solutions, cell by cell, row by row."""

    puzzles: NDArray[np.int8]  # (B, cells), 0 where there is no hint
    solutions: NDArray[np.int8]  # (B, cells)


def make_boards(
    count: int, *, box: int = 3, hints: tuple[int, int] = (31, 42), seed: int = 0
) -> Boards:
    """Random boards with one solution each.

    Hints are removed one by one, at random, while the solution stays unique, down to a number drawn
    from the given range. A board that does not reach this number is discarded.

    Args:
        count: How many boards.
        box: Side of a box, 3 for 9 by 9 boards.
        hints: Smallest and largest number of hints.
        seed: The same seed gives the same boards.

    Examples:
        >>> boards = make_boards(2)
        >>> ((boards.puzzles == 0) | (boards.puzzles == boards.solutions)).all().item()
        True
    """
    draw = random.Random(seed)
    maker = _Maker(box, draw)
    made: list[tuple[list[int], list[int]]] = []
    while len(made) < count:
        board = maker.make(draw.randint(*hints))
        if board is not None:
            made.append(board)
    puzzles, solutions = (np.array(side, dtype=np.int8) for side in zip(*made, strict=True))
    return Boards(puzzles, solutions)


class _Maker:
    """A SAT solver with the rules; the clauses of a board are active only under its guard."""

    def __init__(self, box: int, draw: random.Random) -> None:
        self._cnf = to_cnf(sudoku_theory(box))
        self._solver = Minisat22(bootstrap_with=self._cnf.clauses)
        self._guard = self._cnf.n_variables
        self._box, self._draw = box, draw
        self._bits = (box * box).bit_length()

    def make(self, hints: int) -> tuple[list[int], list[int]] | None:
        solution = self._random_solution()
        self._guard += 1
        self._solver.add_clause([-self._guard, *(-x for x in self._literals(solution))])
        puzzle = list(solution)
        left = self._draw.sample(range(len(puzzle)), len(puzzle))
        while left and sum(map(bool, puzzle)) > hints:
            cell = left.pop()
            number, puzzle[cell] = puzzle[cell], 0
            if self._solver.solve([self._guard, *self._literals(puzzle)]):  # another solution
                puzzle[cell] = number
        self._solver.add_clause([-self._guard])
        return (puzzle, solution) if sum(map(bool, puzzle)) == hints else None

    def _random_solution(self) -> list[int]:
        """Random numbers in the boxes on the diagonal, completed by the solver."""
        size = self._box**2
        board = [0] * size**2
        for corner in range(0, size, self._box):
            numbers = self._draw.sample(range(1, size + 1), size)
            inside = product(range(self._box), range(self._box))
            for (r, c), number in zip(inside, numbers, strict=True):
                board[(corner + r) * size + corner + c] = number
        variables = range(1, self._cnf.n_variables + 1)
        self._solver.set_phases([self._draw.choice((v, -v)) for v in variables])
        if not self._solver.solve(self._literals(board)):
            return self._random_solution()  # happens on 4 by 4 boards only
        model = self._solver.get_model()
        bits = [model[abs(x) - 1] * x > 0 for x in self._cnf.columns[: len(board) * self._bits]]
        return [
            sum(bit << (self._bits - 1 - j) for j, bit in enumerate(bits[i : i + self._bits]))
            for i in range(0, len(bits), self._bits)
        ]

    def _literals(self, board: list[int]) -> list[int]:
        places = [
            (cell, j) for cell, number in enumerate(board) if number for j in range(self._bits)
        ]
        return [
            self._cnf.columns[cell * self._bits + j]
            * (1 if board[cell] >> (self._bits - 1 - j) & 1 else -1)
            for cell, j in places
        ]
