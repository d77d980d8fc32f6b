"""This file makes blame rules of blame rules: one of several by chance, or one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import torch

from smtlayer.nn.posterior import MarginalRule, listed
from smtlayer.nn.progress import Anneal, Number, checked_number, short, value_at
from smtlayer.nn.rules import Blame, BlameRule, Question
from smtlayer.solvers import Solver


@final
@dataclass(frozen=True, slots=True, repr=False)
class Mix:
    """One of several rules for each batch, by chance; see `mix`."""

    parts: tuple[tuple[BlameRule, Number], ...]  # each with its share

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("mix expects at least one rule. Got none.")
        checked = tuple((rule, checked_number("mix", "shares", share, zero=True))
                        for rule, share in self.parts)  # fmt: skip
        object.__setattr__(self, "parts", checked)
        for progress in {0.0, 1.0, *(s.until for _, s in checked if isinstance(s, Anneal))}:
            if not sum(self._shares(progress)):
                raise ValueError(
                    f"mix expects a share above 0 at any time. All are 0 at a progress of "
                    f"{short(progress)}."
                )

    @property
    def rules(self) -> tuple[BlameRule, ...]:
        """The rules it is made of."""
        return tuple(rule for rule, _ in self.parts)

    def choose(self, progress: float) -> BlameRule:
        """One of the rules, by torch's default generator on the CPU."""
        shares = self._shares(progress)
        left = torch.rand((), dtype=torch.float64, device="cpu").item() * sum(shares)
        for rule, share in zip(self.rules, shares, strict=True):
            if left < share:
                return rule
            left -= share
        return next(r for r, s in reversed(list(zip(self.rules, shares, strict=True))) if s)

    def __call__(self, solver: Solver, question: Question) -> Blame:
        """What the chosen rule says."""
        return self.choose(question.progress.item())(solver, question)

    def _shares(self, progress: float) -> list[float]:
        return [value_at(share, progress) for _, share in self.parts]

    def __repr__(self) -> str:
        parts = (repr(r) if s == 1.0 else f"({r!r}, {short(s)})" for r, s in self.parts)
        return f"mix({', '.join(parts)})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Schedule:
    """One rule after the other; see `schedule`."""

    parts: tuple[tuple[float, BlameRule], ...]  # each with the progress up to which it is used

    def __post_init__(self) -> None:
        ends = [checked_number("schedule", "ends", end) for end, _ in self.parts]
        if any(isinstance(end, Anneal) for end in ends):
            raise ValueError("schedule expects ends as numbers. Got anneal(...).")
        rising = all(a < b for a, b in pairwise(ends))  # type: ignore[operator]
        if not rising or not ends or ends[-1] != 1:
            raise ValueError(
                f"schedule expects pairs (end, rule) with ends that rise up to 1. "
                f"Got ends {', '.join(map(short, ends)) or 'of nothing'}."
            )
        rules = (rule for _, rule in self.parts)
        object.__setattr__(self, "parts", tuple(zip(ends, rules, strict=True)))

    @property
    def rules(self) -> tuple[BlameRule, ...]:
        """The rules it is made of."""
        return tuple(rule for _, rule in self.parts)

    def choose(self, progress: float) -> BlameRule:
        """The rule whose turn it is."""
        return next((r for end, r in self.parts if progress < end), self.parts[-1][1])

    def __call__(self, solver: Solver, question: Question) -> Blame:
        """What the rule says whose turn it is."""
        return self.choose(question.progress.item())(solver, question)

    def __repr__(self) -> str:
        return f"schedule({', '.join(f'({short(end)}, {rule!r})' for end, rule in self.parts)})"


def mix(*parts: BlameRule | tuple[BlameRule, Number]) -> Mix:
    """For each batch one of several rules, by chance.

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
    pairs = (part if isinstance(part, tuple) else (part, 1.0) for part in parts)
    return Mix(tuple(_pair("mix", "(rule, share)", pair, 0) for pair in pairs))


def schedule(*parts: tuple[float, BlameRule]) -> Schedule:
    """One rule after the other: which rule up to which progress of training.

    Args:
        parts: Pairs of the progress at which a rule's turn ends, rising up to 1, and the rule.

    Examples:
        >>> from smtlayer.nn import core, marginal
        >>> rule = schedule((0.3, marginal(temperature=4)), (1.0, core))
        >>> [rule.choose(progress) for progress in (0.0, 0.3, 1.0)]
        [marginal(temperature=4), core, core]
    """
    return Schedule(tuple(_pair("schedule", "(end, rule)", part, 1) for part in parts))


def leaves(rule: BlameRule) -> Iterator[BlameRule]:
    """The rules that it comes down to, batch by batch."""
    if isinstance(rule, Mix | Schedule):
        for part in rule.rules:
            yield from leaves(part)
    else:
        yield rule


def choose_leaf(rule: BlameRule, progress: float) -> BlameRule:
    """The rule that it comes down to for a batch."""
    while isinstance(rule, Mix | Schedule):
        rule = rule.choose(progress)
    return rule


def refuse_unanswerable(rule: BlameRule, solver: Solver) -> None:
    """Raises if a rule somewhere within asks what the solver cannot answer."""
    if any(isinstance(leaf, MarginalRule) for leaf in leaves(rule)):
        listed(solver)


def _pair(who: str, form: str, part: object, place: int) -> tuple[Any, Any]:
    """The part, if it is a pair with a rule in its place."""
    if isinstance(part, tuple) and len(part) == 2:
        rule = part[place]
        if callable(rule) and not isinstance(rule, type):
            return part
        part = rule
    rules = "rules such as core" + (", alone or" if who == "mix" else "")
    raise TypeError(f"{who} expects {rules} in pairs {form}. Got {part!r}.")
