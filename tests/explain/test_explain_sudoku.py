"""Explanations of a large theory: Sudoku boards, small ones checked in every statement."""

import math

import pytest
import torch

from explained import Witness, check_blame, check_explanation
from smtlayer import Sat, SMTLayer
from smtlayer_benchmarks.boards import read_boards
from smtlayer_studies.tasks.sudoku.theory import encode_hints, sudoku_theory

BOARD = [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]


@pytest.mark.parametrize("reading", ["digits", pytest.param("bits", marks=pytest.mark.slow)])
def test_every_statement_about_a_small_board_is_so(reading):
    layer = SMTLayer(sudoku_theory(2, reading))
    witness = Witness(layer.theory)
    draw = torch.Generator().manual_seed(0)
    for kept, wrong in ((7, 0), (8, 1), (9, 2), (12, 3)):
        board = torch.tensor([BOARD])
        places = torch.randperm(16, generator=draw)
        board[0, places[:wrong]] = board[0, places[:wrong]] % 4 + 1
        board[0, places[kept:]] = 0
        signs = encode_hints(layer.theory, board)[0]
        known = signs != 0
        logits = torch.where(known, signs, 1) * (0.5 + 3 * torch.rand(len(signs), generator=draw))
        wanted = layer.theory.encode_outputs(
            **{f"cell_{i // 4}_{i % 4}": value for i, value in enumerate(BOARD)}
        )
        (row,) = layer.explain(logits, wanted, known, runner_up=True, timeout_s=600)
        check_explanation(witness, row, logits, known, wanted)
        assert row.fits == (wrong == 0)


def board_of(answer: dict[str, int]) -> list[list[int]]:
    return [[answer[f"cell_{r}_{c}"] for c in range(9)] for r in range(9)]


def is_solved(board: list[list[int]]) -> bool:
    boxes = [
        [board[r + i][c + j] for i in range(3) for j in range(3)]
        for r in (0, 3, 6)
        for c in (0, 3, 6)
    ]
    columns = [list(column) for column in zip(*board, strict=True)]
    return all(sorted(group) == list(range(1, 10)) for group in (*board, *columns, *boxes))


@pytest.mark.parametrize("reading", ["bits", pytest.param("digits", marks=pytest.mark.slow)])
def test_a_whole_board_is_explained_and_short(reading):
    theory = sudoku_theory(3, reading)
    boards = read_boards(sudoku_theory(3), "99", 1)
    hints = (boards.inputs[0].reshape(81, 4) > 0).int() @ torch.tensor(
        [8, 4, 2, 1], dtype=torch.int
    )
    row_of_hints = [i for i in range(81) if hints[i]]
    same_row = next(
        (i, j) for i in row_of_hints for j in row_of_hints if i < j and i // 9 == j // 9
    )
    hints[same_row[1]] = hints[same_row[0]]  # two alike in one row
    signs = encode_hints(theory, hints[None])[0]
    logits, known = 6.0 * signs.double(), signs != 0
    columns = slice(same_row[1] * theory.n_inputs // 81, (same_row[1] + 1) * theory.n_inputs // 81)
    logits[columns] *= 0.25  # the wrong one is the least certain
    layer = SMTLayer(theory, backend=Sat())
    (row,) = layer.explain(logits, boards.solutions[0], known, runner_up=True, timeout_s=600)
    wrong = f"cell_{same_row[1] // 9}_{same_row[1] % 9}"
    assert (row.status, row.proved) == ("repaired", True)
    assert [part.name for part in row.overruled] == [wrong]
    assert is_solved(board_of(row.answer))
    assert row.answer == row.wanted
    goal = torch.zeros(theory.n_outputs)
    check_blame(Witness(theory), row.conflict, row, signs, goal)
    check_blame(Witness(theory), row.blame, row, signs, boards.solutions[0])
    assert wrong in [part.name for part in row.conflict.inputs]
    assert row.blame.constraints == ()  # the wanted cell itself says otherwise
    rival = row.runner_up
    assert rival.proved
    assert rival.cost >= row.cost
    assert is_solved(board_of(rival.answer))
    assert rival.answer != row.answer
    changed = {s.name for s in row.read if s.known and s.value != rival.answer[s.name]}
    assert {part.name for part in rival.overruled} == changed
    assert math.isclose(sum(part.cost for part in rival.overruled), rival.cost)
    lines = str(row).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


def test_the_rules_of_the_game_are_named():
    theory = sudoku_theory(3, "digits")
    hints = torch.zeros(1, 81, dtype=torch.int64)
    hints[0, [0, 5]] = 7  # both in the first row
    signs = encode_hints(theory, hints)[0]
    (row,) = SMTLayer(theory, backend=Sat()).explain(2.0 * signs.double(), known=signs != 0)
    (broken,) = row.conflict.constraints
    assert broken.name == "row 0 has no number twice"
    assert "cell_0_0 = 7 and cell_0_5 = 7 together break" in str(row)
