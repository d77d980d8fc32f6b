"""The work that the translation to clauses may take, counted so that every machine agrees."""

import math

from smtlayer.errors import TooLargeError

MAX_CLAUSES = 5_000_000
_STEPS = 10  # visits of a term, for each clause that is allowed


class Budget:
    """Counts the work of one translation, in clauses, and stops it at a limit.

    Nothing here depends on a clock: a theory is translated on a busy machine if it is on a quiet
    one.

    Args:
        max_clauses: The limit.

    Attributes:
        spent: The least limit that would have let everything pass that was counted so far.

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
        """Raises TooLargeError if this many clauses are too many."""
        self.spent = max(self.spent, count)
        if count > self._limit:
            raise TooLargeError(
                f"it takes {about}{count:,} clauses, more than max_clauses={self._limit:,}"
            )

    def steps(self, count: int, what: str) -> None:
        """Counts further steps, which all count together.

        Args:
            count: How many.
            what: Who took them, for the error: "proving bounds".

        Raises:
            TooLargeError: If there were more than 10 for each clause that is allowed.
        """
        self._steps += count
        self.spent = max(self.spent, -(-self._steps // _STEPS))
        if self._steps > _STEPS * self._limit:
            raise TooLargeError(
                f"{what} took {self._steps:,} steps, more than {_STEPS} for each clause of "
                f"max_clauses={self._limit:,}"
            )
