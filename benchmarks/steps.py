"""Times the queries of a training step of visual Sudoku: solve a batch, then repair wrong boards.

Prints milliseconds per batch, the minimum of several rounds: wall-clock time, and the CPU time of
this process, which with workers is the cost of sending rows and collecting answers.

    python benchmarks/steps.py --workers 0 1 2
"""

import argparse
import time

import torch

from smtlayer.solvers import Sat, Solver
from smtlayer_benchmarks.boards import READERS, Reading, read_boards
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

Times = tuple[float, float]  # by the clock, and of this process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[0])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--boards", type=int, default=480)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    theory = sudoku_theory()
    for workers in options.workers:
        solver = Sat(timeout_ms=200, workers=workers, remember=0).compile(theory)
        for reader in READERS:
            boards = read_boards(theory, reader, options.boards)
            rounds = [epoch(solver, boards, options.batch) for _ in range(options.rounds + 1)]
            steps = options.boards / options.batch
            solve, repair = (
                " ".join(f"{min(times) * 1000 / steps:6.2f}" for times in zip(*part, strict=True))
                for part in zip(*rounds[1:], strict=True)
            )
            print(f"workers {workers}, reader {reader:>4} %: solve {solve}, repair {repair}")


def epoch(solver: Solver, boards: Reading, batch: int) -> tuple[Times, Times]:
    """The seconds of all `solve` and of all `maximize`."""
    solve, repair = torch.zeros(2, 2, dtype=torch.float64)
    count = len(boards.inputs)
    for first in range(0, count, batch):
        some = boards.rows(torch.arange(first, min(first + batch, count)))
        start = now()
        found = solver.solve(some.inputs)
        solve += now() - start
        wrong = ((found.outputs != some.answers) & (some.answers != 0)).any(-1)
        some = some.rows(wrong.nonzero().flatten())
        start = now()
        solver.maximize(some.inputs, some.weights, some.answers)
        repair += now() - start
    return (float(solve[0]), float(solve[1])), (float(repair[0]), float(repair[1]))


def now() -> torch.Tensor:
    return torch.tensor([time.perf_counter(), time.process_time()], dtype=torch.float64)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
