"""This file counts which symbols were taken for which: by the network, and after the solver."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_studies.reports.sentences import CLAIMS, INPUTS, names_of
from smtlayer_studies.tasks.examples import Examples

Values = dict[str, list[Any]]  # by kind of symbol, in an order that hangs on the shape alone


def _digits(theory: Theory, signs: Tensor) -> Values:
    found = theory.decode_inputs(signs)
    return {"digits": [value for column in found.values() for value in column.tolist()]}


def _said(theory: Theory, signs: Tensor) -> Values:
    """Words for what a liar's puzzle has bits for."""
    told = [[None if s == 0 else s > 0 for s in row] for row in signs.reshape(-1, INPUTS).tolist()]
    return {
        "who speaks": [names_of(row[:3]) for row in told],
        "of whom": [names_of(row[3:6]) for row in told],
        "accuses or defends": [CLAIMS[row[6]] for row in told],
    }


_VALUES: Mapping[str, Callable[[Theory, Tensor], Values]] = {"liars-puzzle": _said}


@dataclass(frozen=True)
class Confusion:
    """How often the symbols of a kind were taken for what.

    Attributes:
        kind: Such as `"digits"`.
        truths: What the symbols are, in order.
        read: For each of these, how often the network read each of `truths`, and last how often
            anything else.
        taken: The same after the solver; last also where it has no answer.
    """

    kind: str
    truths: tuple[Any, ...]
    read: tuple[tuple[int, ...], ...]
    taken: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """How many symbols were looked at."""
        return sum(map(sum, self.read))


def right_share(counts: Sequence[Sequence[int]]) -> float:
    """The share on the diagonal.

    Examples:
        >>> right_share([[3, 1, 0], [0, 4, 0]])
        0.875
    """
    total = sum(map(sum, counts))
    return sum(row[i] for i, row in enumerate(counts)) / total if total else 0.0


def confusions(task: str, examples: Examples) -> list[Confusion]:
    """One table a kind of symbol, over all rows.

    Args:
        task: Name of the task.
        examples: What was made of its rows.
    """
    values = _VALUES.get(task, _digits)
    read, taken, truth = (
        values(examples.theory, signs)
        for signs in (examples.signs, examples.answer.inputs, examples.batch.symbols)
    )
    return [_confusion(kind, truth[kind], read[kind], taken[kind]) for kind in truth]


def _confusion(kind: str, truth: list[Any], read: list[Any], taken: list[Any]) -> Confusion:
    shown = tuple(sorted({value for value in truth if value is not None}))
    return Confusion(kind, shown, _table(shown, truth, read), _table(shown, truth, taken))


def _table(
    shown: Sequence[Any], truth: Sequence[Any], made: Sequence[Any]
) -> tuple[tuple[int, ...], ...]:
    counts, every = Counter(zip(truth, made, strict=True)), Counter(truth)
    inside = [tuple(counts[one, other] for other in shown) for one in shown]
    return tuple((*row, every[one] - sum(row)) for one, row in zip(shown, inside, strict=True))
