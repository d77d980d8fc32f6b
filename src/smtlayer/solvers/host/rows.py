"""The stage that asks a row solver about one row after another, in this process."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import methodcaller
from typing import final

from smtlayer.errors import SolverCrashedError
from smtlayer.forks import PerProcess
from smtlayer.interrupts import guard_presses
from smtlayer.solvers.base import RowSolver
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.slow_batch import SlowBatches
from smtlayer.theory import Theory

OpenRow = Callable[[Theory], RowSolver]


@dataclass(slots=True)
class _Handle:
    """The row solver of one process."""

    solver: RowSolver | None = None  # None before the first question, and after a failure
    opened: bool = False  # whether it was ever opened
    lock: threading.Lock = field(default_factory=threading.Lock)


@final
class InProcess:
    """Asks one row solver about one row after another, one thread at a time.

    The row solver is opened when it is first needed, and again after a failure and in a forked
    process. A row on which it fails is UNKNOWN. `slow` warns of batches that take long.
    """

    def __init__(self, theory: Theory, open_row: OpenRow, slow: SlowBatches | None = None) -> None:
        self._theory, self._open_row, self._slow = theory, open_row, slow
        self._handles = PerProcess(_Handle)

    @property
    def opened(self) -> bool:
        """Whether this process ever opened the row solver."""
        return self._handles.get().opened

    def open(self) -> RowSolver:
        """Opens the row solver, unless it is open."""
        handle = self._handles.get()
        if handle.solver is None:
            handle.solver = self._open_row(self._theory)
            handle.opened = True
        return handle.solver

    def answer(self, questions: Questions) -> Answers:
        """Asks about one row after another.

        Raises:
            Exception: Any exception of `open_row`, unless it has succeeded before.
        """
        handle, guard = self._handles.get(), guard_presses()
        try:
            guard.held = False
            with handle.lock:
                if not handle.opened:
                    self.open()
                answers, error, start = Answers.unknown(questions), "", time.perf_counter()
                columns = (questions.inputs, questions.weights, questions.outputs)
                given = columns[:1] if questions.kind == "solve" else columns
                slow, began = self._slow, self._slow.clock() if self._slow else 0.0
                store = answers.store_core if questions.kind == "core" else answers.store_model
                for i, row in enumerate(zip(*map(methodcaller("tolist"), given), strict=True)):
                    try:
                        solver = self.open() if handle.solver is None else handle.solver
                        store(i, getattr(solver, questions.kind)(*row))
                    except Exception as failure:
                        handle.solver = None
                        answers.inputs[i], answers.outputs[i], answers.proved[i] = 0, 0, False
                        if not isinstance(failure, SolverCrashedError):
                            error = error or f"{type(failure).__name__}: {failure}"
                    except BaseException:  # Ctrl-C may leave the row solver in any state
                        handle.solver = None
                        raise
                    if slow and slow.clock() - began > slow.after_s:
                        slow.warn(questions, i + 1, slow.clock() - began)
                seconds = time.perf_counter() - start
            return answers.plus(seconds, error)
        finally:
            guard.held = True
            guard.leave()
