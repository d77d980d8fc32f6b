"""The stage that has rows answered by an executor: a process pool, Dask, MPI or Ray."""

import os
import queue
import threading
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import final

from smtlayer.errors import SolverCrashedError
from smtlayer.interrupts import interruptible
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.host.slow_batch import SlowBatches
from smtlayer.solvers.lru import Lru
from smtlayer.solvers.workers.cost_model import CostModel
from smtlayer.solvers.workers.row_solvers import OPENED, RowSolverSpec
from smtlayer.solvers.workers.schedule import Schedule

MARGIN_S = 60.0  # beyond the time limits: an executor may have to start its workers first
_CHUNKS = 32  # per batch, until the rows of its kind have been timed


class _Local(threading.local):
    """The row solvers that a thread has opened: they serve one thread at a time."""

    def __init__(self) -> None:
        self.opened = Lru[str, InProcess](OPENED)


_local = _Local()


@interruptible
def answer_chunk(spec: RowSolverSpec, questions: Questions) -> Answers:
    """Runs in the executor's workers, which open the row solver once and keep it."""
    rows = _local.opened.get(spec.key)
    if rows is None:
        rows = _local.opened[spec.key] = spec.open()
    return rows.answer(questions)


@final
class Executed:
    """Answers rows over an executor.

    A given executor is never shut down here; a function that makes one is called again if the
    executor breaks.
    """

    def __init__(
        self,
        spec: RowSolverSpec,
        given: Executor | Callable[[], Executor],
        limit_ms: int | None,
        name: str,
        slow: SlowBatches,
    ) -> None:
        self._spec, self._given, self._name, self._slow = spec, given, name, slow
        self._limit_s = float("inf") if limit_ms is None else limit_ms / 1000
        self._costs = CostModel()
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._made: list[Executor] = []  # at most one
        weakref.finalize(self, _shut_down, self._owner, self._made)

    @interruptible
    def answer(self, questions: Questions) -> Answers:
        """The answers of the executor; rows on which it fails or is late are UNKNOWN.

        Raises:
            SolverCrashedError: If its workers cannot open the theory.
        """
        schedule = Schedule(questions, self._slow.watch(questions))
        size = self._costs.chunk(questions.kind, -(-len(questions) // 4))
        if not self._costs.knows(questions.kind):
            size = -(-len(questions) // _CHUNKS)
        executor = self._executor()
        error = self._round(executor, schedule, size)
        if error and not isinstance(self._given, Executor):
            self._discard(executor)
            error = self._round(self._executor(), schedule, 1)
        if error:
            self._warn(schedule, error)
        return schedule.answers

    def _round(self, executor: Executor, schedule: Schedule, size: int) -> str:
        """Submits the waiting rows and collects their answers; returns the first error, if any."""
        done: queue.SimpleQueue[Future[Answers]] = queue.SimpleQueue()
        pending: dict[Future[Answers], range] = {}
        first_error = ""
        try:
            # All are taken before any can be lost and wait again.
            for rows in [*iter(lambda: schedule.take(size), range(0))]:
                try:
                    future = executor.submit(answer_chunk, self._spec, schedule.part(rows))
                except Exception as error:  # broken, shut down, out of reach
                    first_error = first_error or _text(error)
                    schedule.lose(rows)
                else:
                    pending[future] = rows
                    future.add_done_callback(done.put)
            return self._gather(schedule, pending, done) or first_error
        finally:
            for future in pending:
                future.cancel()

    def _gather(
        self,
        schedule: Schedule,
        pending: dict["Future[Answers]", range],
        done: "queue.SimpleQueue[Future[Answers]]",
    ) -> str:
        first_error = ""
        # A busy worker finishes a chunk within the time limits of its rows, however many chunks
        # are waiting.
        patience_s = max(map(len, pending.values()), default=0) * self._limit_s + MARGIN_S
        while pending:
            try:
                future = done.get(timeout=min(patience_s, threading.TIMEOUT_MAX))
            except queue.Empty:
                for rows in pending.values():
                    schedule.lose(rows)
                return f"no answer within {patience_s:.0f} s"
            rows = pending.pop(future)
            try:
                answers = future.result()
            except SolverCrashedError:
                raise
            except Exception as error:  # a broken pool, a lost worker, a failed pickle
                first_error = first_error or _text(error)
                schedule.lose(rows)
            else:
                schedule.settle(rows, answers)
                self._costs.saw_rows(schedule.questions.kind, len(rows), answers.seconds)
        return first_error

    def _executor(self) -> Executor:
        if isinstance(self._given, Executor):
            if self._owner != os.getpid():
                raise SolverCrashedError(
                    f"{self._name}: an executor does not survive a fork. Give a function that "
                    f"makes one, such as workers=partial(ProcessPoolExecutor, 4)."
                )
            return self._given
        if self._owner != os.getpid():
            self._owner, self._made, self._lock = os.getpid(), [], threading.Lock()
            weakref.finalize(self, _shut_down, self._owner, self._made)
        with self._lock:
            if not self._made:
                self._made.append(self._given())
            return self._made[0]

    def _discard(self, executor: Executor) -> None:
        with self._lock:
            if executor in self._made:  # else another thread was faster
                # Python would wait at exit for one that hangs; 3.14 has `kill_workers` for this.
                processes = dict(getattr(executor, "_processes", None) or {})
                _shut_down(self._owner, self._made)
                for process in processes.values():
                    process.kill()

    def _warn(self, schedule: Schedule, error: str) -> None:
        unanswered = len(schedule.questions) - schedule.answered
        advice = (
            "Give a function that makes executors, such as partial(ProcessPoolExecutor, 4), so "
            "that a broken one can be replaced."
            if isinstance(self._given, Executor)
            else "A new executor did no better."
        )
        warnings.warn(
            f"{self._name}: the executor failed ({error}) and {unanswered} of "
            f"{len(schedule.questions)} rows are UNKNOWN. {advice}",
            RuntimeWarning,
            stacklevel=2,
        )


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _shut_down(owner: int, made: list[Executor]) -> None:
    """Shuts down an executor that was made here, without waiting for its tasks."""
    if owner == os.getpid():
        for executor in made:
            executor.shutdown(wait=False)
    made.clear()
