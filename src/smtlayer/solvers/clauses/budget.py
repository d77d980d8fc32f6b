"""A limit on the work of a translation to clauses, counted so that every machine agrees."""

import math

from smtlayer.errors import TooLargeError

MAX_CLAUSES = 5_000_000
_STEPS = 10  # visits of a term, per clause of the limit


class Budget:
    """Counts the work of one translation, in clauses, and stops it at a limit.

    No clock is read: a theory that is translated on a quiet machine is translated on a busy one.

    Args:
        max_clauses: The limit.

    Attributes:
        spent: The lowest limit under which the work so far would have passed.

    Examples:
        >>> budget = Budget(max_clauses=1000)
        >>> budget.clauses(800)
        >>> budget.spent
        800
        >>> budget.clauses(1200)
        Traceback (most recent call last):
        smtlayer.errors.TooLargeError: it takes 1,200 clauses, more than max_clauses=1,000
    """

    def __init__(self, max_clauses: float = math.inf) -> None:
        self._limit = max_clauses
        self._steps = 0
        self.spent = 0

    def clauses(self, count: int, about: str = "") -> None:
        """Raises TooLargeError if this many clauses are above the limit."""
        self.spent = max(self.spent, count)
        if count > self._limit:
            raise TooLargeError(
                f"it takes {about}{count:,} clauses, more than max_clauses={self._limit:,}"
            )

    def steps(self, count: int, what: str) -> None:
        """Adds steps to the total.

        Args:
            count: How many.
            what: The work that took them, for the error: "proving bounds".

        Raises:
            TooLargeError: If the total exceeds 10 per clause of the limit.
        """
        self._steps += count
        self.spent = max(self.spent, -(-self._steps // _STEPS))
        if self._steps > _STEPS * self._limit:
            raise TooLargeError(
                f"{what} took {self._steps:,} steps, more than {_STEPS} for each clause of "
                f"max_clauses={self._limit:,}"
            )
