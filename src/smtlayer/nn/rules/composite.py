"""Composite rules: `mix` draws one of several rules for each batch, `schedule` switches rules."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import final

import torch

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.nn.rules.anneal import Number, anneal, checked_number, short, value_at
from smtlayer.nn.rules.base import Blame, BlameRule, Question
from smtlayer.solvers import Solver


@dataclass(frozen=True, slots=True, repr=False)
class CompositeRule(BlameRule):
    """A rule that uses one of several rules for each batch."""

    rules: tuple[BlameRule, ...]

    @property
    def leaves(self) -> Sequence[BlameRule]:
        """The single rules it is composed of, at any depth."""
        return tuple(leaf for rule in self.rules for leaf in rule.leaves)

    @property
    def capturable(self) -> bool:
        """Whether all of its rules are; the layer captures those that are."""
        return all(leaf.capturable for leaf in self.leaves)

    @property
    def asks(self) -> frozenset[str]:
        """The questions of all its rules."""
        return frozenset().union(*(leaf.asks for leaf in self.leaves))

    @property
    def needs_models(self) -> bool:
        """Whether any of its rules does."""
        return any(leaf.needs_models for leaf in self.leaves)

    @property
    def needs_weights(self) -> bool:
        """Whether any of its rules does."""
        return any(leaf.needs_weights for leaf in self.leaves)

    @property
    def changes(self) -> bool:
        """Whether any of its rules does."""
        return any(rule.changes for rule in self.rules)

    @property
    def steps(self) -> int | None:
        """That of its first rule that has one."""
        return next((rule.steps for rule in self.rules if rule.steps is not None), None)

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row, by the chosen rule."""
        return self.choose(question.progress.item()).blame(solver, question)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Mix(CompositeRule):
    """One of several rules for each batch, at random; see `mix`."""

    shares: tuple[Number, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise ArgumentError("mix expects at least one rule. Got none.")
        shares = tuple(checked_number("mix", "shares", s, zero=True) for s in self.shares)
        object.__setattr__(self, "shares", shares)
        for progress in {0.0, 1.0, *(s.until for s in shares if isinstance(s, anneal))}:
            if not any(value_at(share, progress) for share in shares):
                raise ArgumentError(
                    f"mix expects a share above 0 at any time. All are 0 at a progress of "
                    f"{short(progress)}."
                )

    @property
    def changes(self) -> bool:
        """Whether any of its rules or shares does."""
        return any(isinstance(share, anneal) for share in self.shares) or any(
            rule.changes for rule in self.rules
        )

    def choose(self, progress: float) -> BlameRule:
        """Returns one of the rules, by torch's default generator on the CPU."""
        bounds = list(accumulate(value_at(share, progress) for share in self.shares))
        drawn = torch.rand((), dtype=torch.float64, device="cpu").item() * bounds[-1]
        last = bisect_left(bounds, bounds[-1])  # with a share, should rounding reach the total
        return self.rules[min(bisect_right(bounds, drawn), last)]

    def __repr__(self) -> str:
        pairs = zip(self.rules, self.shares, strict=True)
        return f"mix({', '.join(repr(r) if s == 1 else f'({r!r}, {short(s)})' for r, s in pairs)})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Schedule(CompositeRule):
    """One rule after the other; see `schedule`."""

    ends: tuple[float, ...]  # the progress up to which each rule is used

    def __post_init__(self) -> None:
        ends = [checked_number("schedule", "ends", end) for end in self.ends]
        if any(isinstance(end, anneal) for end in ends):
            raise ArgumentError("schedule expects ends as numbers. Got anneal(...).")
        rising = all(a < b for a, b in pairwise(ends))  # type: ignore[operator]
        if not rising or not ends or ends[-1] != 1:
            raise ArgumentError(
                f"schedule expects pairs (end, rule) with ends that rise up to 1. "
                f"Got ends {', '.join(map(short, ends)) or 'of nothing'}."
            )
        object.__setattr__(self, "ends", tuple(ends))

    @property
    def changes(self) -> bool:
        """Whether it has several phases, or its rule changes."""
        return len(self.rules) > 1 or self.rules[0].changes

    def choose(self, progress: float) -> BlameRule:
        """Returns the rule for this progress."""
        return self.rules[min(bisect_right(self.ends, progress), len(self.rules) - 1)]

    def __repr__(self) -> str:
        pairs = zip(self.ends, self.rules, strict=True)
        return f"schedule({', '.join(f'({short(end)}, {rule!r})' for end, rule in pairs)})"


def mix(*parts: BlameRule | tuple[BlameRule, Number]) -> Mix:
    """Draws one of several rules for each batch.

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
    pairs = [(part, 1.0) if isinstance(part, BlameRule) else part for part in parts]
    for part in pairs:
        if not (isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], BlameRule)):
            raise ArgumentTypeError(
                f"mix expects rules such as core, alone or in pairs (rule, share). Got {part!r}."
            )
    return Mix(tuple(rule for rule, _ in pairs), tuple(share for _, share in pairs))


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
        if not (isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], BlameRule)):
            raise ArgumentTypeError(
                f"schedule expects rules such as core in pairs (end, rule). Got {part!r}."
            )
    return Schedule(tuple(rule for _, rule in parts), tuple(end for end, _ in parts))
