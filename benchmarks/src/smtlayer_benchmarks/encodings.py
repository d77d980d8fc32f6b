"""Sudoku in the direct encoding, timed against bit-blasting and hand-written clauses."""

import statistics
import time
from itertools import combinations, product

import torch

from smtlayer.lab.laboratory import one_thread
from smtlayer.solvers.base import Status
from smtlayer.solvers.clauses.cnf import Cnf, join
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.sat import SatRow
from smtlayer_benchmarks.boards import encode_boards
from smtlayer_benchmarks.timing import Ratio
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

_BITS, _SIZE = 4, 9


def values_against_bits(boards: int = 150) -> list[Ratio]:
    """The paper's theory by `to_cnf`, by bit-blasting alone, and one-hot clauses written by hand.

    The same incremental solver solves the same boards of 36 hints, each board once. Clauses learned
    on one board may help with the next.
    """
    theory = sudoku_theory()
    made = make_boards(boards, hints=(36, 36))
    hints = encode_boards(theory, torch.from_numpy(made.puzzles)).tolist()
    cnfs = (to_cnf(theory), to_cnf(theory, direct=False), clauses_by_hand())
    solvers = [SatRow(cnf, theory.n_inputs, 60_000) for cnf in cnfs]
    times: list[list[float]] = [[] for _ in solvers]
    with one_thread():
        for inputs in hints:
            for solver, kept in zip(solvers, times, strict=True):
                start = time.perf_counter()
                found = solver.solve(inputs)
                kept.append((time.perf_counter() - start) * 1000)
                assert found.status is Status.SAT
    ours, bits, hand = (statistics.median(kept[boards // 10 :]) for kept in times)
    name, device = "clauses with values, by board", "cpu, one core"
    return [
        Ratio("Sudoku, values against bits", name, ours, "bit-blasting alone", bits,
              bits / ours, True, 5, device),
        Ratio("Sudoku, values against clauses by hand", name, ours,
              "one-hot clauses written by hand", hand, ours / hand, False, 2, device),
    ]  # fmt: skip


def clauses_by_hand() -> Cnf:
    """Sudoku as an expert would write it: one variable per cell and number, tied to the bits."""
    cells = list(product(range(_SIZE), range(_SIZE)))
    number = {(r, c, k): 9 * (9 * r + c) + k for r, c in cells for k in range(1, 10)}
    first_bit = len(number) + 1
    bit = {(r, c, j): first_bit + _BITS * (9 * r + c) + j for r, c in cells for j in range(_BITS)}
    units = [[(r, c) for c in range(9)] for r in range(9)]
    units += [[(r, c) for r in range(9)] for c in range(9)]
    units += [
        [(top + r, left + c) for r in range(3) for c in range(3)]
        for top, left in product((0, 3, 6), (0, 3, 6))
    ]
    groups = [[number[r, c, k] for k in range(1, 10)] for r, c in cells]
    groups += [[number[r, c, k] for r, c in unit] for unit in units for k in range(1, 10)]
    clauses = [list(group) for group in groups]
    clauses += [[-x, -y] for group in groups for x, y in combinations(group, 2)]
    for (r, c), j in product(cells, range(_BITS)):
        place = _BITS - 1 - j
        b = bit[r, c, j]
        having = [number[r, c, k] for k in range(1, 10) if k >> place & 1]
        lacking = [number[r, c, k] for k in range(1, 10) if not k >> place & 1]
        clauses += [[-x, b] for x in having] + [[-x, -b] for x in lacking]
        clauses += [[-b, *having], [b, *lacking]]
    columns = [bit[r, c, j] for r, c in cells for j in range(_BITS)]
    return Cnf(join(clauses), (*columns, *columns), max(columns))
