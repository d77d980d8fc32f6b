"""The option `workers`: rows are answered in this process, by worker processes, or an executor."""

import sys
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Self

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.solvers.host.questions import Stage
from smtlayer.solvers.host.rows import InProcess, OpenRow
from smtlayer.solvers.host.slow_batch import SlowBatches
from smtlayer.solvers.workers.executor import Executed
from smtlayer.solvers.workers.row_solvers import RowSolverSpec
from smtlayer.theory import Theory

Workers = int | Executor | Callable[[], Executor]


def check_workers(name: str, workers: object) -> None:
    """Validates the option `workers` of a backend."""
    expected = (
        f"{name} expects workers to be 0, a number of processes, an Executor, or a function that "
        f"makes one. Got {workers!r}."
    )
    if isinstance(workers, bool) or (isinstance(workers, int) and workers < 0):
        raise ArgumentError(expected)
    if not isinstance(workers, int | Executor) and not callable(workers):
        raise ArgumentTypeError(expected)


class WorkerOptions:
    """Abstract: frozen options of a backend with a field `workers`."""

    workers: Workers

    def __getstate__(self) -> dict[str, Any]:
        if isinstance(self.workers, Executor):
            raise ArgumentTypeError(
                f"{type(self).__name__} cannot be pickled with an executor in it. Give a function "
                f"that makes one instead, such as workers=partial(ProcessPoolExecutor, 4)."
            )
        return dict(vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # frozen; and a running executor cannot be copied


def row_stage(
    theory: Theory, open_row: OpenRow, name: str, limit_ms: int | None, workers: Workers
) -> Stage:
    """The stage that answers row by row, in this process or over workers; see `Rowwise`."""
    check_workers(name, workers)
    slow = SlowBatches(name)
    local = InProcess(theory, open_row, slow)
    if workers == 0:
        return local
    spec = RowSolverSpec.of(open_row, theory, name)
    if not isinstance(workers, int):
        return Executed(spec, workers, limit_ms, name, slow)
    if sys.platform == "win32":
        raise ArgumentError(
            f"{name}: workers={workers} needs Linux or macOS. Use "
            f"workers=partial(ProcessPoolExecutor, {workers}) on Windows."
        )
    from smtlayer.solvers.workers.pool import Pooled  # here, since Windows lacks what it imports

    return Pooled(spec, workers, limit_ms, local, slow)
