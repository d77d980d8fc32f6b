"""This file cuts a batch into chunks, keeps the answers in order, and says what to ask again."""

from collections import deque
from dataclasses import replace
from typing import final

from smtlayer.solvers.host.rows import Answers, Questions


@final
class Schedule:
    """Which rows of a batch are to be asked, were asked, and what came back.

    Rows that were lost with their worker are asked once more, one by one, so that a row that kills
    whoever is asked is found out; it stays UNKNOWN.
    """

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self._count = len(questions)
        self.lost = 0  # chunks
        self._answers = Answers.unknown(questions)
        self._seconds, self._error, self._trouble = 0.0, "", ""
        self.answered = 0  # rows
        self._next, self._given_up = 0, 0
        self._again: deque[range] = deque()
        self._retried: set[int] = set()

    @property
    def finished(self) -> bool:
        """Whether every row has its answer, or never will."""
        return self.answered + self._given_up == self._count

    @property
    def waiting(self) -> int:
        """Number of rows that nobody was handed yet."""
        return self._count - self._next + sum(map(len, self._again))

    @property
    def answers(self) -> Answers:
        """The answers so far."""
        return replace(self._answers, seconds=self._seconds, error=self._error)

    def take(self, size: int) -> range:
        """The rows to ask next, at most so many; none if all are handed out."""
        rows = range(self._next, min(self._next + size, self._count))
        self._next = rows.stop
        return rows if rows or not self._again else self._again.popleft()

    def give_back(self, rows: range) -> None:
        """Notes that these rows were not asked after all."""
        self._again.appendleft(rows)

    def settle(self, rows: range, answers: Answers) -> None:
        """Notes what was answered."""
        self._answers.store(rows, answers)
        self._seconds += answers.seconds
        self._error = self._error or answers.error
        self.answered += len(rows)

    def note(self, trouble: str) -> None:
        """Notes why rows may stay unanswered."""
        self._trouble = trouble

    def give_up(self) -> None:
        """Leaves all rows UNKNOWN that nobody was handed yet."""
        left = self.waiting
        self._given_up += left
        self._next = self._count
        self._again.clear()
        if left:
            self._error = self._error or self._trouble

    def lose(self, rows: range) -> None:
        """Notes that whoever was asked did not answer."""
        self.lost += 1
        for i in rows:
            if i in self._retried:
                self._given_up += 1
            else:
                self._retried.add(i)
                self._again.append(range(i, i + 1))
