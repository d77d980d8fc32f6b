"""This file answers batches over the shared pool, or here while that is faster."""

import os
from typing import final

from smtlayer.interrupts import interruptible
from smtlayer.solvers.host.inprocess import InProcess
from smtlayer.solvers.host.row_solvers import RowSolverSpec
from smtlayer.solvers.host.rows import Answers, Questions
from smtlayer.solvers.workers.cost_model import CostModel
from smtlayer.solvers.workers.pool import Job, Pool, pool_of
from smtlayer.solvers.workers.schedule import Schedule


@final
class Pooled:
    """Answers batches over so many worker processes, or here while that is faster."""

    def __init__(
        self, recipe: RowSolverSpec, workers: int, limit_ms: int | None, here: InProcess
    ) -> None:
        self.pace = CostModel()
        self._recipe, self._workers, self._limit_ms = recipe, workers, limit_ms
        self._here = here
        self._pool: Pool | None = None

    @property
    def pool(self) -> Pool:
        """The pool of this process; a forked child never touches its parent's."""
        if self._pool is None or self._pool.owner != os.getpid():
            self._pool = pool_of(self._workers)
        return self._pool

    @interruptible
    def answer(self, questions: Questions) -> Answers:
        """Has a batch answered; rows that cost workers their life twice are UNKNOWN."""
        if self.pace.prefers_local(questions.kind, len(questions), self._workers):
            answers = self._here.answer(questions)
            self.pace.saw_rows(questions.kind, len(questions), answers.seconds)
            return answers
        job = Job(Schedule(questions), self._recipe, self._limit_ms, self.pace)
        self.pool.run(job)
        answers = job.schedule.answers
        if not job.settling_in:
            self.pace.saw_batch(job.wall_s, answers.seconds, self._workers)
        return answers
