"""This file counts literals by clauses: a totalizer that grows no further than it is asked."""

from collections.abc import Callable, Iterator, Sequence
from typing import final

Clause = list[int]


@final
class Counter:
    """A binary tree over literals; output r of a node says that at least r of its literals hold.

    Clauses say so in one direction only: literals that hold make outputs true. An output may be
    true without need.

    Args:
        literals: At least one.
    """

    def __init__(self, literals: Sequence[int]) -> None:
        self.size = len(literals)
        self._outputs: list[int] = [literals[0]] if self.size == 1 else []
        middle = self.size // 2
        self._halves: tuple[Counter, ...] = ()
        if self.size > 1:
            self._halves = (Counter(literals[:middle]), Counter(literals[middle:]))

    def grow(self, count: int, new_variable: Callable[[], int]) -> Iterator[Clause]:
        """The clauses that are missing to count up to `count`."""
        first = len(self._outputs) + 1
        last = min(count, self.size)
        if first > last:
            return
        for half in self._halves:
            yield from half.grow(last, new_variable)
        for r in range(first, last + 1):
            self._outputs.append(new_variable())
            for clause in self._sums(r):
                yield [*clause, self._outputs[-1]]

    def at_least(self, count: int) -> int:
        """The literal that is true if `count` literals hold, once it has grown so far."""
        return self._outputs[count - 1]

    def _sums(self, r: int) -> Iterator[Clause]:
        """What is false if so many of one half and so many of the other, r together, hold."""
        one, other = self._halves
        for i in range(max(0, r - other.size), min(r, one.size) + 1):
            parts = ((one, i), (other, r - i))
            yield [-half.at_least(count) for half, count in parts if count]
