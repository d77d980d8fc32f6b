"""The rule `schedule`, which uses one rule after the other as training goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.nn.rules.anneal import Anneal, checked_number, short
from smtlayer.nn.rules.base import Blame, BlameRule, Question
from smtlayer.solvers import Solver


@final
@dataclass(frozen=True, slots=True, repr=False)
class Schedule(BlameRule):
    """One rule after the other; see `schedule`."""

    parts: tuple[tuple[float, BlameRule], ...]  # each with the progress up to which it is used

    def __post_init__(self) -> None:
        ends = [checked_number("schedule", "ends", end) for end, _ in self.parts]
        if any(isinstance(end, Anneal) for end in ends):
            raise ArgumentError("schedule expects ends as numbers. Got anneal(...).")
        rising = all(a < b for a, b in pairwise(ends))  # type: ignore[operator]
        if not rising or not ends or ends[-1] != 1:
            raise ArgumentError(
                f"schedule expects pairs (end, rule) with ends that rise up to 1. "
                f"Got ends {', '.join(map(short, ends)) or 'of nothing'}."
            )
        rules = (rule for _, rule in self.parts)
        object.__setattr__(self, "parts", tuple(zip(ends, rules, strict=True)))

    @property
    def leaves(self) -> Sequence[BlameRule]:
        """The rules it is composed of, at any depth."""
        return tuple(leaf for _, rule in self.parts for leaf in rule.leaves)

    def choose(self, progress: float) -> BlameRule:
        """Returns the rule for this share of training."""
        return next((rule for end, rule in self.parts if progress < end), self.parts[-1][1])

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row, by the rule for this share of training."""
        return self.choose(question.progress.item()).blame(solver, question)

    def __repr__(self) -> str:
        return f"schedule({', '.join(f'({short(end)}, {rule!r})' for end, rule in self.parts)})"


def schedule(*parts: tuple[float, BlameRule]) -> Schedule:
    """Uses one rule after the other as training goes on.

    Args:
        parts: Pairs of the progress at which the use of a rule ends, rising up to 1, and the rule.

    Examples:
        >>> from smtlayer.nn import core, marginal
        >>> rule = schedule((0.3, marginal(temperature=4)), (1.0, core))
        >>> [rule.choose(progress) for progress in (0.0, 0.3, 1.0)]
        [marginal(temperature=4), core, core]
    """
    for part in parts:
        match part:
            case (_, BlameRule()):
                pass
            case _:
                raise ArgumentTypeError(
                    f"schedule expects rules such as core in pairs (end, rule). Got {part!r}."
                )
    return Schedule(parts)
