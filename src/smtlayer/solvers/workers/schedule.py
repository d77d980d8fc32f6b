"""The rows of a batch on their way to workers and back: chunks, answers in order, second tries."""

from collections import deque
from typing import final

from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.slow_batch import Report


@final
class Schedule:
    """Which rows of a batch are still to be asked, and the answers so far.

    Rows that were lost with their worker are asked once more, one by one, which finds the row that
    ends every worker; it stays UNKNOWN.
    """

    def __init__(self, questions: Questions, report: Report = lambda rows, busy_s: None) -> None:
        self.questions = questions
        self.answers = Answers.unknown(questions)
        self.answered = 0  # rows
        self._count = len(questions)
        self._next, self._given_up = 0, 0
        self._again: deque[range] = deque()
        self._retried: set[int] = set()
        self._reason = ""
        self._report = report

    @property
    def finished(self) -> bool:
        """Whether every row has its answer, or never will."""
        return self.answered + self._given_up == self._count

    @property
    def waiting(self) -> int:
        """Number of rows that no worker has."""
        return self._count - self._next + sum(map(len, self._again))

    def take(self, size: int) -> range:
        """The rows to ask next, at most `size`; empty if workers have all of them."""
        rows = range(self._next, min(self._next + size, self._count))
        self._next = rows.stop
        return rows if rows or not self._again else self._again.popleft()

    def part(self, rows: range) -> Questions:
        """The questions about these rows."""
        return self.questions.pick(slice(rows.start, rows.stop))

    def give_back(self, rows: range) -> None:
        """Takes back rows that were not asked after all."""
        self._again.appendleft(rows)

    def settle(self, rows: range, answers: Answers) -> None:
        """Stores the answers about these rows."""
        self.answers = self.answers.store(slice(rows.start, rows.stop), answers)
        self.answered += len(rows)
        self._report(self.answered, self.answers.seconds)

    def note(self, reason: str) -> None:
        """Stores why rows may stay unanswered."""
        self._reason = reason

    def give_up(self) -> None:
        """Leaves all rows UNKNOWN that no worker has."""
        left = self.waiting
        self._given_up += left
        self._next = self._count
        self._again.clear()
        if left:
            self.answers = self.answers.plus(error=self._reason)

    def lose(self, rows: range) -> None:
        """Notes that the worker with these rows did not answer."""
        for i in rows:
            if i in self._retried:
                self._given_up += 1
            else:
                self._retried.add(i)
                self._again.append(range(i, i + 1))
