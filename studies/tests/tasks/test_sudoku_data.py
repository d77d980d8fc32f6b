import os
from pathlib import Path

import numpy as np
import pytest

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.tasks.sudoku import data as sudoku_data
from smtlayer_studies.tasks.sudoku.boards import Boards, make_boards
from smtlayer_studies.tasks.sudoku.data import SudokuBoards, generated_boards, load_boards


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def calls(monkeypatch):
    made = []

    def counted(count, **options):
        made.append(count)
        return make_boards(count, **options)

    monkeypatch.setattr(sudoku_data, "make_boards", counted)
    return made


@pytest.fixture
def sudoku_dir():
    folder = os.environ.get("SMTLAYER_DATA")
    if not folder or not (Path(folder) / "sudoku" / "boards_10k.npz").is_file():
        pytest.skip("needs Sudoku boards: name the folder that holds sudoku/ with SMTLAYER_DATA")
    return Path(folder)


def same(one, other):
    return all(
        np.array_equal(getattr(getattr(one, part), side), getattr(getattr(other, part), side))
        for part in ("train", "test")
        for side in ("puzzles", "solutions")
    )


def test_generated_boards_are_made_once_and_then_kept(cache, calls):
    first, again = generated_boards(6, 3), generated_boards(6, 3)
    assert calls == [9]
    assert same(first, again)
    assert (len(first.train.puzzles), len(first.test.puzzles)) == (6, 3)
    assert first.source == "generated boards"
    other = generated_boards(6, 3, seed=1)
    assert calls == [9, 9]
    assert not same(first, other)
    assert not same(first, generated_boards(5, 4))


def test_a_damaged_bundle_is_made_again(cache, calls):
    first = generated_boards(2, 1)
    (path,) = cache.glob("sudoku_boards.*")
    path.write_bytes(path.read_bytes()[:200])
    assert same(first, generated_boards(2, 1))
    assert calls == [3, 3]


def test_without_a_cache_boards_are_made_each_time(monkeypatch, calls):
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    assert same(generated_boards(2, 1), generated_boards(2, 1))
    assert calls == [3, 3]


def test_without_a_file_boards_are_generated_9000_and_1000(tmp_path, monkeypatch):
    asked = []

    def few(count, seed=0):
        asked.append(count)
        return Boards(*(np.arange(count * 81).reshape(count, 81) for _ in range(2)))

    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    monkeypatch.setattr(sudoku_data, "make_boards", few)
    boards = load_boards(tmp_path)
    assert asked == [10_000]
    assert (len(boards.train.puzzles), len(boards.test.puzzles)) == (9_000, 1_000)
    assert boards.title == "10,000 generated Sudoku boards"


def test_boards_that_are_asked_for_and_not_there_are_missed(tmp_path):
    with pytest.raises(MissingDataError, match=r"sudoku-boards is needed, and .* does not exist"):
        load_boards(tmp_path, "boards_10k")


def test_a_test_board_that_is_a_training_board_is_refused():
    boards = make_boards(3)
    part = Boards(boards.puzzles[1:2] * 0, boards.solutions[1:2])  # other hints, same solution
    with pytest.raises(ConfigError, match=r"no test board may have .* 1 of 1 have"):
        SudokuBoards(boards, part, "generated boards")


def test_the_boards_of_the_data_folder_have_their_sizes_and_hints(sudoku_dir):
    boards = load_boards(sudoku_dir)
    assert boards.source == "boards_10k"
    assert boards.train.puzzles.shape == boards.train.solutions.shape == (9_000, 81)
    assert boards.test.puzzles.shape == (1_000, 81)
    for part in (boards.train, boards.test):
        hints = part.puzzles != 0
        assert (hints.sum(-1) >= 31).all()
        assert (hints.sum(-1) <= 42).all()
        assert (part.solutions[hints] == part.puzzles[hints]).all()
    shown = {board.tobytes() for board in boards.train.solutions}
    assert len(shown) == 9_000
    assert not shown & {board.tobytes() for board in boards.test.solutions}


@pytest.mark.slow
def test_all_generated_boards_are_different(cache):
    boards = generated_boards()
    solutions = np.concatenate([boards.train.solutions, boards.test.solutions])
    assert len({board.tobytes() for board in solutions}) == 10_000
    hints = (np.concatenate([boards.train.puzzles, boards.test.puzzles]) != 0).sum(-1)
    assert (hints.min(), hints.max()) == (31, 42)
