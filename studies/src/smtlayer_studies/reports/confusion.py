"""Confusion matrices of symbols: by the network, and after the solver."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smtlayer_studies.tasks.examples import Examples
from smtlayer_studies.tasks.view import View


@dataclass(frozen=True)
class Confusion:
    """How often each value of a kind of symbol was taken for which value.

    Attributes:
        kind: Such as `"digits"`.
        truths: The true values, in order.
        read: For each of these, how often the network read each of `truths`, and last how often
            any other value.
        taken: The same after the solver; the last column includes examples without an answer.
    """

    kind: str
    truths: tuple[Any, ...]
    read: tuple[tuple[int, ...], ...]
    taken: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """How many symbols were counted."""
        return sum(map(sum, self.read))


def right_share(counts: Sequence[Sequence[int]]) -> float:
    """The share on the diagonal.

    Examples:
        >>> right_share([[3, 1, 0], [0, 4, 0]])
        0.875
    """
    total = sum(map(sum, counts))
    return sum(row[i] for i, row in enumerate(counts)) / total if total else 0.0


def confusions(view: View, examples: Examples) -> list[Confusion]:
    """One matrix per kind of symbol.

    Args:
        view: Of the task.
        examples: Over which to count.
    """
    read, taken, truth = (
        view.values(examples.theory, signs)
        for signs in (examples.signs, examples.answer.inputs, examples.batch.symbols)
    )
    return [_confusion(kind, truth[kind], read[kind], taken[kind]) for kind in truth]


def _confusion(
    kind: str, truth: Sequence[Any], read: Sequence[Any], taken: Sequence[Any]
) -> Confusion:
    shown = tuple(sorted({value for value in truth if value is not None}))
    return Confusion(kind, shown, _table(shown, truth, read), _table(shown, truth, taken))


def _table(
    shown: Sequence[Any], truth: Sequence[Any], found: Sequence[Any]
) -> tuple[tuple[int, ...], ...]:
    counts, every = Counter(zip(truth, found, strict=True)), Counter(truth)
    inside = [tuple(counts[one, other] for other in shown) for one in shown]
    return tuple((*row, every[one] - sum(row)) for one, row in zip(shown, inside, strict=True))
