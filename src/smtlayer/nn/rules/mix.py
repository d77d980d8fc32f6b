"""The rule `mix`, which uses one of several rules for each batch, at random."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import final

import torch

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.nn.rules.anneal import Anneal, Number, checked_number, short, value_at
from smtlayer.nn.rules.base import Blame, BlameRule, Question
from smtlayer.solvers import Solver


@final
@dataclass(frozen=True, slots=True, repr=False)
class Mix(BlameRule):
    """One of several rules for each batch, at random; see `mix`."""

    parts: tuple[tuple[BlameRule, Number], ...]  # each with its share

    def __post_init__(self) -> None:
        if not self.parts:
            raise ArgumentError("mix expects at least one rule. Got none.")
        checked = tuple((rule, checked_number("mix", "shares", share, zero=True))
                        for rule, share in self.parts)  # fmt: skip
        object.__setattr__(self, "parts", checked)
        for progress in {0.0, 1.0, *(s.until for _, s in checked if isinstance(s, Anneal))}:
            if not any(self._shares(progress)):
                raise ArgumentError(
                    f"mix expects a share above 0 at any time. All are 0 at a progress of "
                    f"{short(progress)}."
                )

    @property
    def leaves(self) -> Sequence[BlameRule]:
        """The rules it is composed of, at any depth."""
        return tuple(leaf for rule, _ in self.parts for leaf in rule.leaves)

    def choose(self, progress: float) -> BlameRule:
        """Returns one of the rules, by torch's default generator on the CPU."""
        bounds = list(accumulate(self._shares(progress)))
        drawn = torch.rand((), dtype=torch.float64, device="cpu").item() * bounds[-1]
        last = bisect_left(bounds, bounds[-1])  # with a share, should rounding reach the total
        rule, _ = self.parts[min(bisect_right(bounds, drawn), last)]
        return rule

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row, by one of the rules."""
        return self.choose(question.progress.item()).blame(solver, question)

    def _shares(self, progress: float) -> list[float]:
        return [value_at(share, progress) for _, share in self.parts]

    def __repr__(self) -> str:
        parts = (repr(r) if s == 1.0 else f"({r!r}, {short(s)})" for r, s in self.parts)
        return f"mix({', '.join(parts)})"


def mix(*parts: BlameRule | tuple[BlameRule, Number]) -> Mix:
    """Uses one of several rules for each batch, at random.

    Args:
        parts: Rules, or pairs of a rule and its share. A rule alone has a share of 1; shares count
            in proportion to their sum, and may change with progress.

    Examples:
        >>> from smtlayer.nn import anneal, core, marginal
        >>> mix(core, marginal)
        mix(core, marginal)
        >>> mix((core, anneal(0, 1)), (marginal, anneal(1, 0))).choose(progress=1.0)
        core
    """
    pairs: list[tuple[BlameRule, Number]] = []
    for part in parts:
        match part:
            case BlameRule():
                pairs.append((part, 1.0))
            case (BlameRule(), _):
                pairs.append(part)
            case _:
                raise ArgumentTypeError(
                    f"mix expects rules such as core, alone or in pairs (rule, share). "
                    f"Got {part!r}."
                )
    return Mix(tuple(pairs))
