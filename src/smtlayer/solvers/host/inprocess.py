"""This file answers batches in this process."""

import os
import threading
from typing import final

from smtlayer.forks import leave_behind
from smtlayer.interrupts import interruptible
from smtlayer.solvers.host.row_solvers import OpenRow, RowSolverHandle
from smtlayer.solvers.host.rows import Answers, Questions, answer_rows
from smtlayer.theory import Theory


@final
class InProcess:
    """Answers batches with one row solver, one thread at a time, opened anew after a fork."""

    def __init__(self, theory: Theory, open_row: OpenRow) -> None:
        self._theory, self._open_row = theory, open_row
        self._start()

    def _start(self) -> None:
        self._opened = RowSolverHandle(self._open_row, self._theory)
        self._lock = threading.Lock()  # a forked process may have got it locked
        self._process = os.getpid()

    @interruptible
    def answer(self, questions: Questions) -> Answers:
        """Asks about one row after another."""
        if self._process != os.getpid():
            leave_behind(self._opened)
            self._start()
        with self._lock:
            return answer_rows(questions, self._opened)
