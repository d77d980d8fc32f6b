"""The pool of worker processes that the solvers of a process share, and its stage."""

import os
import threading
import time
import weakref
from functools import partial
from multiprocessing.connection import wait
from typing import final

from smtlayer.errors import SolverCrashedError
from smtlayer.forks import PerProcess
from smtlayer.interrupts import interruptible
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.host.slow_batch import SlowBatches
from smtlayer.solvers.workers.cost_model import CostModel
from smtlayer.solvers.workers.process import START_S, WorkerProcess
from smtlayer.solvers.workers.row_solvers import RowSolverSpec
from smtlayer.solvers.workers.schedule import Schedule
from smtlayer.solvers.workers.worker import Ask, Message, Notice, send
from smtlayer.solvers.z3_calls import LONGEST_S

_MARGIN_S = 2.0  # beyond the time limits of its rows, after which a worker counts as hung
_TRIES = 2  # workers lost in a row before their first answer, after which no more are started
_FEWER = "See that there is memory for them, or use fewer workers, or workers=0"


@final
class Job:
    """A batch that a pool answers."""

    def __init__(
        self, schedule: Schedule, spec: RowSolverSpec, limit_ms: int | None, costs: CostModel
    ) -> None:
        self.schedule, self.spec, self.costs = schedule, spec, costs
        self.limit_s = float("inf") if limit_ms is None else limit_ms / 1000
        self.wall_s = 0.0
        self.settling_in = False  # whether workers had to start, or to open the theory
        self.failed_starts = 0  # in a row
        self.failed_openings = 0


@final
class Pool:
    """Worker processes that answer chunks of rows, one batch at a time.

    A worker that dies or hangs is replaced. The processes end with the pool, and with this process,
    even if it is killed.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._lifeline = os.pipe()
        self._workers: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self.close = weakref.finalize(self, _close, os.getpid(), self._workers, self._lifeline)

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.pid for worker in self._workers]

    def run(self, job: Job) -> None:
        """Answers all rows of a batch, or gives up; `Answers.error` then says why.

        Raises:
            SolverCrashedError: If opening the theory raises in a worker.
        """
        with self._lock:
            self._drop_busy()  # after a batch that was interrupted twice
            start = time.monotonic()
            try:
                while not job.schedule.finished:
                    self._hand_out(job)
                    if not self._workers or job.failed_openings >= _TRIES:
                        job.schedule.give_up()
                    self._collect(job)
            except BaseException:
                self._drop_busy()  # the next batch must not get this one's answers
                raise
            job.wall_s = time.monotonic() - start

    def _hand_out(self, job: Job) -> None:
        for worker in [*self._workers]:
            if worker.state == "idle" and job.schedule.waiting:
                if worker.alive:
                    worker.rows = self._take(job)
                    self._expect(worker, job)
                    self._ask(worker, worker.rows, job)
                else:
                    self._drop(worker)
        if job.costs.quick(job.schedule.questions.kind):
            self._hand_out_ahead(job)
        starting = sum(worker.state == "starting" for worker in self._workers)
        room = self.size - len(self._workers) if job.failed_starts < _TRIES else 0
        for _ in range(min(room, job.schedule.waiting - starting)):
            job.settling_in = True
            try:
                self._workers.append(WorkerProcess(self._lifeline[0]))
            except OSError as error:  # too many processes or files
                job.failed_starts += 1
                job.schedule.note(f"worker processes do not start ({error}). {_FEWER}")

    def _hand_out_ahead(self, job: Job) -> None:
        for worker in [*self._workers]:
            ready = worker.state == "asked" and worker.knows == job.spec.key
            if ready and not worker.ahead and job.schedule.waiting:
                worker.ahead = self._take(job)
                self._ask(worker, worker.ahead, job)

    def _take(self, job: Job) -> range:
        questions = job.schedule.questions
        most = job.costs.share(questions.kind, len(questions), self.size)
        return job.schedule.take(job.costs.chunk(questions.kind, most))

    def _expect(self, worker: WorkerProcess, job: Job) -> None:
        worker.expect("asked", len(worker.rows) * job.limit_s + _MARGIN_S)

    def _ask(self, worker: WorkerProcess, rows: range, job: Job) -> None:
        self._send(worker, Ask(job.spec.key, job.schedule.part(rows)), job)

    def _send(self, worker: WorkerProcess, message: Message, job: Job) -> None:
        try:
            send(worker.connection, message)
        except OSError:
            self._lose(worker, job)

    def _collect(self, job: Job) -> None:
        """Waits until a worker replies, dies, or is late."""
        busy = [worker for worker in self._workers if worker.state != "idle"]
        left_s = min((worker.deadline for worker in busy), default=0.0) - time.monotonic()
        left_s = min(max(0.0, left_s), LONGEST_S)
        replied = wait([worker.connection for worker in busy], left_s)
        for worker in busy:
            if worker.connection in replied:
                self._receive(worker, job)
            elif worker.deadline < time.monotonic():
                self._lose(worker, job)

    def _receive(self, worker: WorkerProcess, job: Job) -> None:
        try:
            reply = worker.connection.recv()
        except (EOFError, OSError):
            return self._lose(worker, job)
        if isinstance(reply, SolverCrashedError):
            worker.idle()
            raise reply
        if reply is Notice.MISSING:
            job.settling_in = True
            worker.expect("opening", START_S)
            self._send(worker, job.spec, job)
        elif isinstance(reply, Answers):
            job.schedule.settle(worker.rows, reply)
            job.costs.saw_rows(job.schedule.questions.kind, len(worker.rows), reply.seconds)
            worker.knows = job.spec.key
            ahead = worker.ahead
            worker.idle()
            if ahead:  # which it answers now
                worker.rows = ahead
                self._expect(worker, job)
        elif worker.state == "opening":
            self._expect(worker, job)
            self._ask(worker, worker.rows, job)
        else:
            job.failed_starts = 0
            worker.idle()
        return None

    def _lose(self, worker: WorkerProcess, job: Job) -> None:
        """Removes a worker that died or is late, and schedules its rows again."""
        state, rows = worker.state, worker.rows
        self._drop(worker)
        if worker.ahead:
            job.schedule.give_back(worker.ahead)
        code = f"the last one ended with exit code {worker.exit_code}; its stderr may say why"
        if state == "starting":
            job.failed_starts += 1
            job.schedule.note(f"worker processes do not start ({code}). {_FEWER}")
        elif state == "opening":
            job.costs.dangerous = True
            job.schedule.give_back(rows)
            job.failed_openings += 1
            job.schedule.note(
                f"worker processes die or hang when they open the theory ({code}). {_FEWER}"
            )
        else:
            job.costs.dangerous = True
            job.schedule.lose(rows)

    def _drop(self, worker: WorkerProcess) -> None:
        self._workers.remove(worker)
        worker.kill()

    def _drop_busy(self) -> None:
        for worker in [*self._workers]:
            if worker.state in ("opening", "asked"):
                self._drop(worker)


def _close(owner: int, workers: list[WorkerProcess], lifeline: tuple[int, int]) -> None:
    for worker in workers:
        if owner == os.getpid():
            worker.kill()
        else:
            worker.disown()
    workers.clear()
    for end in lifeline:
        os.close(end)


_POOLS: "weakref.WeakValueDictionary[int, Pool]" = weakref.WeakValueDictionary()
_guard = threading.Lock()


def pool_of(workers: int) -> Pool:
    """The shared pool of this process with so many workers."""
    with _guard:
        pool = _POOLS.get(workers)
        if pool is None:
            pool = _POOLS[workers] = Pool(workers)
        return pool


def _leave_to_parent() -> None:
    """Closes a forked child's copies of handles, which would keep its parent's workers alive."""
    global _guard
    _guard = threading.Lock()
    for pool in list(_POOLS.values()):
        pool.close()
    _POOLS.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


@final
class Pooled:
    """The stage that answers rows over worker processes, or by `local` while that is faster."""

    def __init__(
        self,
        spec: RowSolverSpec,
        workers: int,
        limit_ms: int | None,
        local: InProcess,
        slow: SlowBatches,
    ) -> None:
        self.costs = CostModel()
        self.local, self._slow = local, slow
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
        schedule = Schedule(questions, self._slow.watch(questions))
        job = Job(schedule, self._spec, self._limit_ms, self.costs)
        self.pool.run(job)
        answers = job.schedule.answers
        if not job.settling_in:
            self.costs.saw_batch(job.wall_s, answers.seconds, self._workers)
        return answers
