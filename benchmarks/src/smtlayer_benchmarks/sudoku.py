"""Sudoku timed against z3 on the paper's theory: solve, core and weighted repair."""

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from smtlayer.lab.laboratory import one_thread
from smtlayer.solvers import Sat, Solver, Status
from smtlayer_benchmarks.baseline import RowByRow
from smtlayer_benchmarks.boards import Reading, encode_boards, read_boards
from smtlayer_benchmarks.timing import Ratio
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

_HINTS = 36
_DEVICE = "cpu, one core"
_Z3_LIMIT_MS = 120_000


def sudoku_ratios(boards: int = 20, repairs: int = 5, ours: int = 200) -> list[Ratio]:
    """The ratios of the three queries, each with its bar.

    Args:
        boards: Boards on which both sides solve and find a core.
        repairs: Boards that z3 repairs, at seconds each.
        ours: Boards that `Sat` repairs, for the median and the maximum.
    """
    theory = sudoku_theory()
    made = make_boards(boards, hints=(_HINTS, _HINTS))
    hints, solutions = (
        encode_boards(theory, torch.from_numpy(x)) for x in (made.puzzles, made.solutions)
    )
    right = Reading(hints, torch.ones(hints.shape, dtype=torch.float64), solutions)
    solver = Sat(remember=0).compile(theory)
    baseline = RowByRow(theory)
    with one_thread():
        return [
            _solve(solver, baseline, right),
            _core(solver, baseline, _with_a_wrong_hint(right)),
            _repair(solver, baseline, read_boards(theory, "97", ours), repairs),
        ]


def _solve(solver: Solver, baseline: RowByRow, boards: Reading) -> Ratio:
    ours_ms, found = _batch(boards, lambda: solver.solve(boards.inputs).outputs)
    times, expected = _each(
        boards, lambda i: torch.tensor(baseline.forward(boards.inputs[i]), dtype=torch.int8)
    )
    assert torch.equal(found, expected), "z3 and we solve a board differently"
    return Ratio(
        "Sudoku, solve", f"Sat, boards of {_HINTS} hints, by board", ours_ms,
        "z3 on the paper's theory", statistics.median(times),
        statistics.median(times) / ours_ms, True, 50, _DEVICE, f"{len(times)} boards",
    )  # fmt: skip


def _core(solver: Solver, baseline: RowByRow, boards: Reading) -> Ratio:
    ours_ms, _ = _batch(
        boards, lambda: solver.core(boards.inputs, boards.weights, boards.answers).inputs
    )
    times, sizes = _each(
        boards,
        lambda i: torch.tensor([len(baseline.backward(boards.inputs[i], boards.answers[i])[0])]),
    )
    assert sizes.all(), "z3 finds no core"
    return Ratio(
        "Sudoku, core", f"Sat, a wrong hint among {_HINTS}, answers given, by board", ours_ms,
        "z3's minimised core, the paper's theory", statistics.median(times),
        statistics.median(times) / ours_ms, True, 50, _DEVICE, f"{len(times)} boards",
    )  # fmt: skip


def _repair(solver: Solver, baseline: RowByRow, boards: Reading, repairs: int) -> Ratio:
    contradicted = (solver.solve(boards.inputs).status == Status.UNSAT).nonzero().flatten()
    ours, found = _each(
        boards, lambda i: solver.maximize(boards.inputs[i], boards.weights[i]).outputs
    )
    asked = contradicted[:repairs]
    few = boards.rows(asked)
    theirs, expected = _each(
        few,
        lambda i: torch.tensor(
            [baseline.repair(few.inputs[i][0].tolist(), few.weights[i][0].tolist(), _Z3_LIMIT_MS)]
        ),
    )
    mine = [ours[i] for i in asked.tolist()]
    done = expected.ne(0).any(-1)
    cost, least = (_overruled(few, answers)[done] for answers in (found[asked], expected))
    same = torch.allclose(cost, least, rtol=1e-9)
    hard = [ours[i] for i in contradicted.tolist()]
    return Ratio(
        "Sudoku, weighted repair", "Sat, one contradictory board, reader of 97 %",
        statistics.median(mine), "z3 Optimize, the paper's theory", statistics.median(theirs),
        statistics.median(a / b for a, b in zip(theirs, mine, strict=True)), True, 100, _DEVICE,
        f"ours on {len(ours)} boards: median {statistics.median(ours):.2f}, worst {max(ours):.1f} "
        f"ms ({len(hard)} contradictory: median {statistics.median(hard):.2f} ms); z3 on "
        f"{len(theirs)} of those: worst {max(theirs) / 1000:.1f} s, {int((~done).sum())} past "
        f"{_Z3_LIMIT_MS // 1000} s; costs {'agree' if same else 'DIFFER'}",
    )  # fmt: skip


def _with_a_wrong_hint(boards: Reading) -> Reading:
    """One hint of each board replaced by another number, its bits at random below ten."""
    generator = torch.Generator().manual_seed(0)
    inputs = boards.inputs.clone()
    for row in inputs:
        cells = (row.reshape(-1, 4) != 0).all(-1).nonzero().flatten()
        cell = int(cells[torch.randint(len(cells), (1,), generator=generator)])
        bits = row[4 * cell : 4 * cell + 4]
        right = bits.clone()
        while torch.equal(bits, right):
            number = int(torch.randint(1, 10, (1,), generator=generator))
            bits[:] = torch.tensor([1 if number >> j & 1 else -1 for j in (3, 2, 1, 0)])
    return Reading(inputs, boards.weights, boards.solutions)


def _overruled(boards: Reading, answers: Tensor) -> Tensor:
    """The weight of the hints that the answers overrule."""
    return torch.where(answers * boards.inputs < 0, boards.weights, 0).sum(-1)


def _batch(boards: Reading, ask: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Median milliseconds per board when all boards are one batch."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - start) * 1000 / len(boards.inputs))
    return statistics.median(times[2:]), answer


def _each(boards: Reading, ask: Callable[[Tensor], Tensor]) -> tuple[list[float], Tensor]:
    """Milliseconds of each board as a batch of one, and the answers."""
    times, answers = [], []
    for i in range(len(boards.inputs)):
        start = time.perf_counter()
        answers.append(ask(torch.tensor([i])))
        times.append((time.perf_counter() - start) * 1000)
    return times, torch.stack(answers).flatten(0, 1)
