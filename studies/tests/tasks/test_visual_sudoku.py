import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import z3

from smtlayer_studies.tasks.sudoku.theory import known_cells, sudoku_theory
from tasks.every_model import every_model

PUZZLE = """
    700001400 006020010 100005008
    000090607 000000040 005762001
    914006003 803019562 602070004
"""
ANSWER = """
    728931456 546827319 139645278
    381594627 267183945 495762831
    914256783 873419562 652378194
"""
DATA = Path(os.environ.get("SMTLAYER_DATA", "")) / "sudoku" / "boards_10k.npz"


def numbers(board):
    return [int(digit) for digit in "".join(board.split())]


def cells(box):
    places = range(box * box)
    width = {2: 3, 3: 4, 4: 5}[box]
    return [z3.BitVec(f"cell_{r}_{c}", width) for r, c in itertools.product(places, places)]


def equal(board, symbols):
    return [symbol == int(n) for symbol, n in zip(symbols, board, strict=True) if n]


def check_one_solution(puzzle, answer):
    solver, symbols = z3.Solver(), cells(3)
    solver.add(*sudoku_theory().formulas, *equal(puzzle, symbols))
    assert solver.check(*equal(answer, symbols)) == z3.sat
    assert solver.check(z3.Not(z3.And(equal(answer, symbols)))) == z3.unsat


def small_boards():
    """All 4 by 4 boards, by trying every two bands of two rows."""
    bands = [
        (one, other)
        for one, other in itertools.product(itertools.permutations(range(1, 5)), repeat=2)
        if len({*one[:2], *other[:2]}) == len({*one[2:], *other[2:]}) == 4
    ]
    for top, bottom in itertools.product(bands, bands):
        rows = (*top, *bottom)
        if all(len(set(column)) == 4 for column in zip(*rows, strict=True)):
            yield tuple(itertools.chain(*rows))


def test_the_models_of_the_small_board_are_its_288_boards():
    boards = set(small_boards())
    assert len(boards) == 288
    assert every_model(sudoku_theory(2), cells(2)) == boards


def test_a_puzzle_has_its_answer_and_no_other():
    check_one_solution(numbers(PUZZLE), numbers(ANSWER))


@pytest.mark.skipif(not DATA.is_file(), reason="SMTLAYER_DATA has no Sudoku boards")
@pytest.mark.parametrize("i", [0, 5000, 9999])
def test_boards_of_the_data_set_have_their_answer_and_no_other(i):
    with np.load(DATA) as boards:
        check_one_solution(boards["puzzle"][i], boards["solution"][i])


@pytest.mark.parametrize("group", ["row", "column", "box"])
def test_a_number_stands_once_in_each_group(group):
    place = {"row": 8, "column": 72, "box": 20}[group]
    board = numbers(ANSWER)
    solver, symbols = z3.Solver(), cells(3)
    solver.add(*sudoku_theory().formulas, symbols[0] == board[0], symbols[place] == board[0])
    assert solver.check() == z3.unsat


@pytest.mark.parametrize("box", [2, 3, 4])
def test_every_cell_is_input_and_output_row_by_row(box):
    theory = sudoku_theory(box)
    assert theory.input_names == theory.output_names
    assert theory.input_names == tuple(
        f"{cell}[{i}]" for cell in cells(box) for i in reversed(range(cell.size()))
    )
    assert len(theory.constraints) == box**4 + 3 * box**2


@pytest.mark.parametrize(("box", "wrong"), [(2, 0), (2, 5), (3, 0), (3, 10), (4, 0), (4, 17)])
def test_cells_hold_numbers_from_one_to_the_size(box, wrong):
    formulas, symbol = sudoku_theory(box).formulas, cells(box)[-1]
    solver = z3.Solver()
    solver.add(*(f for f in formulas if not z3.is_distinct(f)))
    assert solver.check(symbol == box * box, cells(box)[0] == 1) == z3.sat
    assert solver.check(symbol == wrong) == z3.unsat


def test_hints_make_their_columns_known():
    puzzle = torch.tensor([numbers(PUZZLE), numbers(ANSWER)])
    theory = sudoku_theory()
    known = known_cells(puzzle)
    assert (known.shape, known.dtype) == ((2, 324), torch.bool)
    assert torch.equal(known, known_cells(puzzle != 0))
    assert known[1].all()
    signs = theory.encode(**{f"cell_{i // 9}_{i % 9}": n for i, n in enumerate(puzzle[0]) if n})
    assert torch.equal(known[0], signs != 0)


def test_a_board_has_boxes():
    with pytest.raises(ValueError, match=r"^sudoku_theory: box must be at least 2\. Got 1\.$"):
        sudoku_theory(1)
