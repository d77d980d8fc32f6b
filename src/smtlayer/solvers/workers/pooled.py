"""The stage that has rows answered by the pool of worker processes, or here if that is faster."""

from functools import partial
from typing import final

from smtlayer.forks import PerProcess
from smtlayer.interrupts import interruptible
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.workers.cost_model import CostModel
from smtlayer.solvers.workers.pool import Job, Pool, pool_of
from smtlayer.solvers.workers.row_solvers import RowSolverSpec
from smtlayer.solvers.workers.schedule import Schedule


@final
class Pooled:
    """Answers rows over worker processes, or in this process while that is faster.

    Args:
        spec: The row solver that workers open.
        workers: The number of worker processes.
        limit_ms: Time limit of one row.
        local: Answers rows in this process.
    """

    def __init__(
        self, spec: RowSolverSpec, workers: int, limit_ms: int | None, local: InProcess
    ) -> None:
        self.costs = CostModel()
        self.local = local
        self._spec, self._workers, self._limit_ms = spec, workers, limit_ms
        self._pools = PerProcess(partial(pool_of, workers))

    @property
    def pool(self) -> Pool:
        """The pool of this process."""
        return self._pools.get()

    @interruptible
    def answer(self, questions: Questions) -> Answers:
        """The answers of the workers; a row that ends two workers is UNKNOWN."""
        if self.costs.prefers_local(questions.kind, len(questions), self._workers):
            answers = self.local.answer(questions)
            self.costs.saw_rows(questions.kind, len(questions), answers.seconds)
            return answers
        job = Job(Schedule(questions), self._spec, self._limit_ms, self.costs)
        self.pool.run(job)
        answers = job.schedule.answers
        if not job.settling_in:
            self.costs.saw_batch(job.wall_s, answers.seconds, self._workers)
        return answers
