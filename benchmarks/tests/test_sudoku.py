"""The Sudoku part of the bench measures what it says it does."""

import pytest
import torch

from smtlayer import Sat, Status
from smtlayer.solvers.sat import SatRow
from smtlayer_benchmarks.baseline import RowByRow
from smtlayer_benchmarks.boards import READERS, Reading, encode_boards, read_boards
from smtlayer_benchmarks.encodings import clauses_by_hand, values_against_bits
from smtlayer_benchmarks.startup import startup
from smtlayer_benchmarks.sudoku import _overruled, _with_a_wrong_hint, sudoku_ratios
from smtlayer_benchmarks.workers import two_workers_over_one
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


@pytest.fixture(scope="module")
def theory():
    return sudoku_theory()


def boards_of(theory, count, **options):
    made = make_boards(count, **options)
    return [encode_boards(theory, torch.from_numpy(x)) for x in (made.puzzles, made.solutions)]


def test_boards_are_encoded_cell_by_cell(theory):
    made = make_boards(3)
    signs = encode_boards(theory, torch.from_numpy(made.solutions))
    cells = theory.decode(signs)
    assert list(cells) == [f"cell_{r}_{c}" for r in range(9) for c in range(9)]
    for column, values in zip(made.solutions.T, cells.values(), strict=True):
        assert values.tolist() == column.tolist()
    hints = encode_boards(theory, torch.from_numpy(made.puzzles))
    assert torch.equal(hints != 0, (torch.from_numpy(made.puzzles) != 0).repeat_interleave(4, -1))
    assert torch.equal(hints[hints != 0], signs[hints != 0])


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_reads_about_as_many_digits_right_as_it_says(theory, reader):
    boards = read_boards(theory, reader, 60)
    wrong = (boards.inputs * boards.solutions < 0).reshape(60, 81, 4).any(-1).sum()
    hints = (boards.inputs != 0).reshape(60, 81, 4).any(-1).sum()
    assert float(100 * (1 - wrong / hints)) == pytest.approx(
        float(reader), abs=1.2
    )  # few, and no zeros
    assert (boards.weights[boards.inputs != 0] > 0).all()
    assert torch.equal(boards.answers != 0, boards.inputs == 0)


def test_one_hint_of_each_board_is_wrong(theory):
    hints, solutions = boards_of(theory, 8, hints=(36, 36))
    boards = _with_a_wrong_hint(Reading(hints, torch.ones(hints.shape), solutions))
    changed = (boards.inputs != hints).reshape(8, 81, 4).any(-1)
    assert changed.sum(-1).tolist() == [1] * 8
    found = Sat().compile(theory).core(boards.inputs, boards.weights, boards.answers)
    assert (found.status == Status.UNSAT).all()
    numbers = theory.decode_inputs(boards.inputs).values()
    assert all(v is None or 1 <= v <= 9 for values in numbers for v in values)


def test_the_clauses_by_hand_are_sudoku(theory):
    hints, solutions = boards_of(theory, 5)
    row = SatRow(clauses_by_hand(), theory.n_inputs, 10_000)
    assert [row.solve(h).outputs for h in hints.tolist()] == solutions.tolist()
    two_ones = torch.zeros(324, dtype=torch.int8)
    two_ones[:8] = torch.tensor([-1, -1, -1, 1] * 2)
    assert row.solve(two_ones.tolist()).status is Status.UNSAT


def test_the_baseline_repairs_at_the_least_cost():
    theory = sudoku_theory(2)
    hints, solutions = boards_of(theory, 4, box=2, hints=(8, 8))
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(hints.shape, generator=generator, dtype=torch.float64) + 0.1
    inputs = torch.where(torch.rand(hints.shape, generator=generator) < 0.2, -hints, hints)
    boards = Reading(inputs, weights, solutions)
    found = Sat().compile(theory).maximize(inputs, weights)
    baseline = RowByRow(theory)
    rows = zip(inputs.tolist(), weights.tolist(), strict=True)
    theirs = torch.tensor([baseline.repair(x, w, 10_000) for x, w in rows])
    assert found.cost.sum() > 0
    assert torch.allclose(_overruled(boards, theirs), found.cost)


def test_a_small_run_of_the_ratios():
    ratios = sudoku_ratios(boards=1, repairs=1, ours=2)
    assert all(ratio.ratio == ratio.baseline_ms / ratio.ours_ms > 0 for ratio in ratios)
    assert "costs agree" in ratios[2].note
    assert "ours on 2 boards" in ratios[2].note


@pytest.mark.slow  # it asserts times
def test_we_are_faster_than_the_baseline():
    solve, core, repair = sudoku_ratios(boards=3, repairs=1, ours=8)
    assert min(solve.ratio, core.ratio) > 5
    assert repair.ratio > 20


@pytest.mark.slow  # it asserts times
def test_values_beat_bits():
    bits, hand = values_against_bits(boards=40)
    assert bits.ratio == bits.baseline_ms / bits.ours_ms > 2
    assert hand.ratio == hand.ours_ms / hand.baseline_ms < 5


@pytest.mark.slow  # it asserts times
def test_every_task_starts_and_the_second_time_from_the_cache():
    starts = {start.task: start for start in startup()}
    assert {s.backend for s in starts.values()} == {"Table", "Sat"}
    sudoku = starts["visual Sudoku"]
    assert sudoku.backend == "Sat"
    assert sudoku.cached_s < sudoku.cold_s


@pytest.mark.slow
def test_two_workers_are_faster_than_one():
    assert two_workers_over_one(repeats=3).ratio > 1.2
