"""Two worker processes timed against one, on rows of a few milliseconds."""

import time

from smtlayer.lab.laboratory import one_thread
from smtlayer.solvers import Z3, Solver
from smtlayer_benchmarks.boards import read_boards
from smtlayer_benchmarks.timing import Ratio
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


def two_workers_over_one(batch: int = 64, repeats: int = 5) -> Ratio:
    """Sudoku boards of about ten milliseconds each, solved by z3 with one and with two workers."""
    theory = sudoku_theory()
    boards = read_boards(theory, "99", batch)

    def ask(solver: Solver) -> float:
        start = time.perf_counter()
        solver.solve(boards.inputs)
        return (time.perf_counter() - start) * 1000

    solvers = [Z3(workers=n, remember=0).compile(theory) for n in (2, 1, 0)]
    times: list[list[float]] = [[], [], []]
    with one_thread():
        for repeat in range(repeats + 1):
            for solver, kept in zip(solvers, times, strict=True):
                spent = ask(solver)
                if repeat:
                    kept.append(spent)
    two, one, here = (min(kept) for kept in times)
    return Ratio(
        "two workers over one", f"Z3(workers=2), {batch} Sudoku boards", two, "Z3(workers=1)", one,
        one / two, True, 1.7, "cpu, two cores",
        f"a board takes {here / batch:.1f} ms in process; two workers over none: {here / two:.2f}",
    )  # fmt: skip
