"""The time of each query against the size of the theory, for every backend."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from smtlayer.errors import UnsupportedError
from smtlayer.lab.laboratory import one_thread
from smtlayer.solvers import Z3, Backend, Circuit, Sat, Solver, Status, Table
from smtlayer.theory import Theory
from smtlayer_benchmarks.boards import encode_boards
from smtlayer_benchmarks.theories import encode_sums
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

Question = Literal["solve", "core", "maximize"]
QUESTIONS: tuple[Question, ...] = ("solve", "core", "maximize")
BACKENDS: dict[str, Backend] = {
    "Table": Table(20_000),
    "Circuit": Circuit(20_000),
    "Sat": Sat(remember=0),
    "Z3": Z3(remember=0),
}
_ROWS = 32
_ENOUGH_S = 0.5


@dataclass(frozen=True, eq=False)
class Problem:
    """A theory with correct inputs, and with inputs of which one symbol is wrong."""

    family: str  # addition or Sudoku
    size: int
    title: str
    theory: Theory
    right: Tensor  # (B, n) signs
    wrong: Tensor  # (B, n) signs
    weights: Tensor  # (B, n)
    outputs: Tensor  # (B, m) signs


@dataclass(frozen=True)
class Cost:
    """The time of one query for one row."""

    family: str
    size: int
    title: str
    columns: int
    backend: str
    question: Question
    ms: float | None  # None if the backend does not support the theory
    note: str  # the reason, or the number of rows it gave up on


def problems() -> Iterator[Callable[[], Problem]]:
    """All sizes, smallest first; made when called."""
    for digits in (1, 2, 4, 8, 15):
        yield partial(_addition, digits)
    for box, hints in ((2, 7), (3, 36), (4, 140)):
        yield partial(_sudoku, box, hints)


def costs(problem: Problem) -> Iterator[Cost]:
    """Times every query on every backend."""
    columns = problem.theory.n_inputs + problem.theory.n_outputs
    for name, backend in BACKENDS.items():
        try:
            solver = backend.compile(problem.theory)
        except UnsupportedError as error:
            reason = error.reason.rstrip(".")
            times: dict[Question, tuple[float | None, str]] = dict.fromkeys(
                QUESTIONS, (None, reason)
            )
        else:
            times = {question: _time(solver, problem, question) for question in QUESTIONS}
        for question, (ms, note) in times.items():
            yield Cost(
                problem.family, problem.size, problem.title, columns, name, question, ms, note
            )


def _time(solver: Solver, problem: Problem, question: Question) -> tuple[float, str]:
    """Milliseconds per row, over repeated batches; a single row if that row is slow."""
    with one_thread():
        first_s, gave_up = _timed_query(solver, problem, question, 1)
        spent_s, rows, unknown = (first_s, 1, gave_up) if first_s > _ENOUGH_S else (0.0, 0, 0)
        while spent_s < _ENOUGH_S and rows < 64 * _ROWS:
            batch = 1 if first_s > _ENOUGH_S / 10 else len(problem.right)
            seconds, gave_up = _timed_query(solver, problem, question, batch)
            spent_s, rows, unknown = spent_s + seconds, rows + batch, unknown + gave_up
    note = f"gave up on {unknown} of {rows} rows" if unknown else ""
    return spent_s / rows * 1000, note


def _timed_query(
    solver: Solver, problem: Problem, question: Question, batch: int
) -> tuple[float, int]:
    """The seconds for the first rows, and the number of rows the solver gave up on."""
    start = time.perf_counter()
    status = _query(solver, problem, question, batch)
    return time.perf_counter() - start, int((status == Status.UNKNOWN).sum())


def _query(solver: Solver, problem: Problem, question: Question, batch: int) -> Tensor:
    wrong, weights = problem.wrong[:batch], problem.weights[:batch]
    if question == "solve":
        return solver.solve(problem.right[:batch]).status
    if question == "core":
        return solver.core(wrong, weights, problem.outputs[:batch]).status
    return solver.maximize(wrong, weights, problem.outputs[:batch]).status


def _addition(digits: int) -> Problem:
    """One digit is wrong; the sum is that of the correct digits."""
    theory = long_addition_theory(digits)
    draw = torch.Generator().manual_seed(digits)
    numbers = torch.randint(0, 10, (_ROWS, 2 * digits), generator=draw)
    names = [f"{letter}{i}" for letter in "ab" for i in range(digits)]
    right = theory.encode(**dict(zip(names, numbers.T, strict=True)))
    place = torch.randint(0, 2 * digits, (_ROWS,), generator=draw)
    misread = numbers.clone()
    misread[torch.arange(_ROWS), place] += torch.randint(1, 10, (_ROWS,), generator=draw)
    wrong = theory.encode(**dict(zip(names, (misread % 10).T, strict=True)))
    plural = "" if digits == 1 else "s"
    return Problem(
        "addition", digits, f"{digits} digit{plural}", theory, right, wrong,
        torch.rand(right.shape, generator=draw, dtype=torch.float64) + 0.1,
        encode_sums(theory, numbers),
    )  # fmt: skip


def _sudoku(box: int, hints: int) -> Problem:
    """One hint is wrong; the other cells are correct."""
    theory, size = sudoku_theory(box), box * box
    made = make_boards(_ROWS if box < 4 else 4, box=box, hints=(hints, hints))
    puzzles, solutions = torch.from_numpy(made.puzzles), torch.from_numpy(made.solutions)
    draw = torch.Generator().manual_seed(box)
    misread = puzzles.clone()
    for row in misread:
        cells = row.nonzero().flatten()
        cell = cells[torch.randint(len(cells), (1,), generator=draw)]
        other = int(row[cell]) + int(torch.randint(0, size - 1, (1,), generator=draw))
        row[cell] = other % size + 1
    right = encode_boards(theory, puzzles)
    answers = torch.where(puzzles == 0, solutions, 0)
    return Problem(
        "Sudoku", size, f"{size} x {size}", theory, right, encode_boards(theory, misread),
        torch.rand(right.shape, generator=draw, dtype=torch.float64) + 0.1,
        encode_boards(theory, answers),
    )  # fmt: skip
