"""A totalizer: clauses that count how many of some literals hold, generated on demand."""

from collections.abc import Callable, Iterator, Sequence
from typing import final

Clause = list[int]


@final
class Totalizer:
    """A binary tree over literals; output r of a node means that at least r of its literals hold.

    The clauses state one direction only: literals that hold make outputs true. An output may also
    be true otherwise.

    Args:
        literals: At least one.
    """

    def __init__(self, literals: Sequence[int]) -> None:
        self.size = len(literals)
        self._outputs: list[int] = [literals[0]] if self.size == 1 else []
        middle = self.size // 2
        self._halves: tuple[Totalizer, ...] = ()
        if self.size > 1:
            self._halves = (Totalizer(literals[:middle]), Totalizer(literals[middle:]))

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
        """The literal that is true if `count` literals hold; `grow` must have reached it."""
        return self._outputs[count - 1]

    def _sums(self, r: int) -> Iterator[Clause]:
        """Clauses that are false if i literals of one half and r - i of the other hold."""
        one, other = self._halves
        for i in range(max(0, r - other.size), min(r, one.size) + 1):
            parts = ((one, i), (other, r - i))
            yield [-half.at_least(count) for half, count in parts if count]
