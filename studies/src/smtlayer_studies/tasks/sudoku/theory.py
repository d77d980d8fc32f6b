"""The theory of Sudoku, and the encoding of boards as its columns."""

import math
from itertools import product
from typing import Literal

import torch
import z3
from torch import Tensor

from smtlayer.errors import ArgumentError
from smtlayer.theory import Theory, one_hot

Reading = Literal["bits", "digits"]


def sudoku_theory(box: int = 3, reading: Reading = "bits") -> Theory:
    """A board of `box` by `box` boxes: every row, column and box holds each number once.

    Cells are `cell_0_0`, `cell_0_1`, ..., row by row. Each is both an input and an output: the
    hints are inputs, the whole board is the output.

    Args:
        box: Side of a box: 3 for the usual 9 by 9 board with the numbers 1 to 9.
        reading: The inputs of a cell: the `"bits"` of its number, as in the paper, or one input
            per number, `"digits"`. The bits of two similar digits may differ in one position or in
            three, and overruling three costs three times as much; with digits, exactly two inputs
            are overruled.
    """
    if box < 2:
        raise ArgumentError(f"sudoku_theory: box must be at least 2. Got {box}.")
    size = box * box
    places = range(size)
    bits = size.bit_length()
    cell = {(r, c): z3.BitVec(f"cell_{r}_{c}", bits) for r, c in product(places, places)}
    corners = range(0, size, box)
    inside = list(product(range(box), range(box)))

    numbers = {
        f"{symbol} is 1 to {size}": z3.And(z3.ULE(1, symbol), z3.ULE(symbol, size))
        for symbol in cell.values()
    }
    once = "has no number twice"
    rows = {f"row {r} {once}": z3.Distinct([cell[r, c] for c in places]) for r in places}
    columns = {f"column {c} {once}": z3.Distinct([cell[r, c] for r in places]) for c in places}
    boxes = {
        f"the box from {cell[top, left]} on {once}": z3.Distinct(
            [cell[top + r, left + c] for r, c in inside]
        )
        for top, left in product(corners, corners)
    }
    board = list(cell.values())
    read = board if reading == "bits" else [one_hot(c, range(1, size + 1)) for c in board]
    return Theory(numbers | rows | columns | boxes, inputs=read, outputs=board)


def known_cells(puzzle: Tensor, reading: Reading = "bits") -> Tensor:
    """Which columns of the theory belong to cells with a hint.

    Args:
        puzzle: True or a number where there is a hint, False or 0 elsewhere.
        reading: As in `sudoku_theory`.

    Shape:
        - puzzle: `(..., 81)`; output: `(..., 324)`, bool, one column per bit of a cell. Boards of
          other sizes likewise.

    Examples:
        >>> import torch
        >>> puzzle = torch.zeros(16, dtype=torch.int8)
        >>> puzzle[1] = 4
        >>> known_cells(puzzle).nonzero().flatten()
        tensor([3, 4, 5])
    """
    size = math.isqrt(puzzle.shape[-1])
    columns = size.bit_length() if reading == "bits" else size
    return (puzzle != 0).repeat_interleave(columns, dim=-1)


def encode_hints(theory: Theory, puzzles: Tensor) -> Tensor:
    """Numbers by cell, (B, cells), as signs of the theory's inputs, 0 where there is no hint.

    Examples:
        >>> import torch
        >>> boards = torch.tensor([[4, 0, 1] + 13 * [0]])
        >>> encode_hints(sudoku_theory(2, "digits"), boards)[0, :12].tolist()
        [-1, -1, -1, 1, 0, 0, 0, 0, 1, -1, -1, -1]
    """
    names = (symbol.name for symbol in theory.input_symbols)
    signs = theory.encode(**dict(zip(names, puzzles.clamp(min=1).T, strict=True)))
    columns = theory.n_inputs // puzzles.shape[-1]
    return torch.where((puzzles != 0).repeat_interleave(columns, dim=-1), signs, 0).to(torch.int8)


def encode_boards(theory: Theory, boards: Tensor) -> Tensor:
    """Numbers by cell, (B, cells), as signs by column, 0 for a 0.

    Examples:
        >>> import torch
        >>> boards = torch.tensor([[4, 0, 1] + 13 * [0]])
        >>> encode_boards(sudoku_theory(2), boards)[0, :9].tolist()
        [1, -1, -1, 0, 0, 0, -1, -1, 1]
    """
    names = (symbol.name for symbol in theory.output_symbols)
    signs = theory.encode_outputs(**dict(zip(names, boards.T, strict=True)))
    return torch.where(known_cells(boards), signs, 0).to(torch.int8)
