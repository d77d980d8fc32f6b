import numpy as np
import pytest

from smtlayer_studies.tasks.sudoku.boards import make_boards


def solutions(puzzle, size, box, limit=2):
    """Number of solutions up to a limit, by plain search: the fewest candidates first."""
    grid = puzzle.reshape(size, size)
    places = np.argwhere(grid == 0)
    if len(places) == 0:
        return 1

    def candidates(r, c):
        top, left = r // box * box, c // box * box
        used = {*grid[r], *grid[:, c], *grid[top : top + box, left : left + box].flat}
        return [k for k in range(1, size + 1) if k not in used]

    r, c = min(places.tolist(), key=lambda place: len(candidates(*place)))
    found = 0
    for number in candidates(r, c):
        grid[r, c] = number
        found += solutions(grid, size, box, limit - found)
        grid[r, c] = 0
        if found >= limit:
            break
    return found


@pytest.mark.parametrize(("box", "hints"), [(3, (31, 42)), (2, (5, 8))])
def test_every_board_has_one_solution_and_it_is_the_one_given(box, hints):
    size = box * box
    boards = make_boards(12, box=box, hints=hints, seed=3)
    for puzzle, solution in zip(boards.puzzles, boards.solutions, strict=True):
        grid = solution.reshape(size, size)
        boxes = grid.reshape(box, box, box, box).swapaxes(1, 2).reshape(size, size)
        for unit in (*grid, *grid.T, *boxes):
            assert sorted(unit) == list(range(1, size + 1))
        assert hints[0] <= (puzzle > 0).sum() <= hints[1]
        assert (puzzle[puzzle > 0] == solution[puzzle > 0]).all()
        assert solutions(puzzle.copy(), size, box) == 1


def test_the_search_of_this_test_sees_a_second_solution():
    assert solutions(np.zeros(16, dtype=np.int8), 4, 2) == 2


def test_a_seed_makes_the_same_boards_and_another_seed_others():
    first, again, other = (make_boards(4, seed=seed) for seed in (0, 0, 1))
    assert (first.puzzles == again.puzzles).all()
    assert (first.solutions == again.solutions).all()
    assert (first.solutions != other.solutions).any(-1).all()
    assert len({board.tobytes() for board in first.solutions}) == 4
