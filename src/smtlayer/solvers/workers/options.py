"""This file says who answers rows: this process, a pool of processes, or an executor."""

import sys
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Protocol

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.solvers.host.inprocess import InProcess
from smtlayer.solvers.host.row_solvers import OpenRow, RowSolverSpec
from smtlayer.solvers.host.rows import Answers, Questions
from smtlayer.solvers.workers.executor import Executed
from smtlayer.theory import Theory

Workers = int | Executor | Callable[[], Executor]


class Answering(Protocol):
    """Whoever answers batches of rows."""

    def answer(self, questions: Questions) -> Answers:
        """The answers, row by row."""


def check_workers(name: str, workers: object) -> None:
    """Raises unless these are workers that a backend of this name can have."""
    expected = (
        f"{name} expects workers to be 0, a number of processes, an Executor, or a function that "
        f"makes one. Got {workers!r}."
    )
    if isinstance(workers, bool) or (isinstance(workers, int) and workers < 0):
        raise ArgumentError(expected)
    if not isinstance(workers, int | Executor) and not callable(workers):
        raise ArgumentTypeError(expected)


def picklable_state(options: Any) -> dict[str, Any]:
    """The state of a backend's options, for their `__getstate__`; refuses a running executor."""
    if isinstance(options.workers, Executor):
        raise ArgumentTypeError(
            f"{type(options).__name__} cannot be pickled with an executor in it. Give a function "
            f"that makes one instead, such as workers=partial(ProcessPoolExecutor, 4)."
        )
    return dict(vars(options))


def answering(
    theory: Theory, open_row: OpenRow, name: str, limit_ms: int | None, workers: Workers
) -> Answering:
    """Whoever answers rows for these workers."""
    check_workers(name, workers)
    here = InProcess(theory, open_row)
    if workers == 0:
        return here
    recipe = RowSolverSpec.of(open_row, theory, name)
    if not isinstance(workers, int):
        return Executed(recipe, workers, limit_ms, name)
    if sys.platform == "win32":
        raise ArgumentError(
            f"{name}: workers={workers} needs Linux or macOS. Use "
            f"workers=partial(ProcessPoolExecutor, {workers}) on Windows."
        )
    from smtlayer.solvers.host.pooled import Pooled  # here, since Windows lacks what it imports

    return Pooled(recipe, workers, limit_ms, here)
