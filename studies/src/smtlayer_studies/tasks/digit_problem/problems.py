"""The problems: theories over digits, the combinations that training shows, and the facts.

The image of a value is an image of that digit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import torch
import z3
from torch import Tensor

from smtlayer.errors import ConfigError
from smtlayer.lab import FACT, LabProblem, problem_of
from smtlayer.theory import Theory, one_hot
from smtlayer_studies.tasks.base import Combinations


@dataclass(frozen=True)
class Problem:
    """A problem without images.

    Attributes:
        theory: Makes the theory. All of its inputs are one-hot symbols.
        shown: The combinations that training shows: the values of all inputs, in order. Empty for
            all combinations.
        facts: Number of inputs, the last ones, that are facts: they have no image.
    """

    theory: Callable[[], Theory]
    shown: Combinations = ()
    facts: int = 0


def half_theory() -> Theory:
    """The sum of two digits from 0 to 4."""
    a, b, total = z3.Ints("a b total")
    digits = [one_hot(digit, range(5)) for digit in (a, b)]
    return Theory(
        {"total is a + b": total == a + b}, inputs=digits, outputs=[one_hot(total, range(9))]
    )


def rock_paper_scissors_theory() -> Theory:
    """Who wins, where 0 is rock, 1 is paper and 2 is scissors: each beats the one before it."""
    first, second = z3.Ints("first second")
    winner = z3.String("winner")
    ahead = first - second
    rule = winner == z3.If(
        ahead == 0,
        z3.StringVal("nobody"),
        z3.If(z3.Or(ahead == 1, ahead == -2), z3.StringVal("first"), z3.StringVal("second")),
    )
    return Theory(
        {"each beats the one before it": rule},
        inputs=[one_hot(shape, range(3)) for shape in (first, second)],
        outputs=[one_hot(winner, ["first", "second", "nobody"])],
    )


def roster_theory() -> Theory:
    """Whether four jobs of 1 to 5 hours meet a deadline.

    Job a comes first, b and c run side by side when it is done, and d waits for both.
    """
    a, b, c, d, deadline, side, end = z3.Ints("a b c d deadline side end")
    met = z3.Bool("met")
    return Theory(
        {
            "b and c run side by side after a": side == a + z3.If(b >= c, b, c),
            "d waits for b and c": end == side + d,
            "met is whether d ends in time": met == (end <= deadline),
        },
        inputs=[*(one_hot(job, range(1, 6)) for job in (a, b, c, d)),
                one_hot(deadline, range(6, 14))],
        outputs=[met],
    )  # fmt: skip


def invoice_theory() -> Theory:
    """The total of an invoice: from an amount of 10 on, the coupon is taken off."""
    price, quantity, coupon, amount, total = z3.Ints("price quantity coupon amount total")
    return Theory(
        {
            "the amount is price times quantity": amount == price * quantity,
            "from 10 on the coupon counts": total == z3.If(amount >= 10, amount - coupon, amount),
        },
        inputs=[one_hot(digit, range(1, 6)) for digit in (price, quantity, coupon)],
        outputs=[one_hot(total, range(1, 25))],
    )


_HALF = ((0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2))  # of rsbench
PROBLEMS: Mapping[str, Problem] = MappingProxyType({
    "mnist-half": Problem(half_theory, shown=_HALF),
    "rock-paper-scissors": Problem(rock_paper_scissors_theory),
    "roster": Problem(roster_theory, facts=1),
    "invoice": Problem(invoice_theory),
})  # fmt: skip


def lab_problem(name: str, extra: Combinations = ()) -> LabProblem:
    """A problem for the laboratory: one reader for all inputs that have images.

    Args:
        name: Name of the problem.
        extra: Combinations that training shows in addition.

    Raises:
        ConfigError: If the theory has no such combination.

    Examples:
        >>> problem = lab_problem("mnist-half", extra=[(1, 2)])
        >>> problem.readers, len(problem.shown), len(problem.tested)
        ((0, 0), 8, 25)
    """
    problem = PROBLEMS[name]
    every = problem_of(problem.theory(), name=name)
    readers = (0,) * (len(every.widths) - problem.facts) + (FACT,) * problem.facts
    values = [tuple(row) for row in values_of(every.theory, every.tested.inputs).tolist()]
    order = sorted(range(len(values)), key=values.__getitem__)
    values, rows = [values[i] for i in order], every.tested[torch.tensor(order)]
    for combination in extra:
        if tuple(combination) not in values:
            inputs = ", ".join(symbol.name for symbol in every.theory.input_symbols)
            raise ConfigError(
                f"{name}: extra lists values of {inputs}, such as {list(values[0])}. "
                f"Got {combination!r}."
            )
    shown = {*map(tuple, problem.shown or values), *map(tuple, extra)}
    kept = torch.tensor([row in shown for row in values])
    return replace(every, readers=readers, shown=rows[kept], tested=rows)


def values_of(theory: Theory, inputs: Tensor) -> Tensor:
    """The values of all inputs, which are whole numbers: (B, n) to (B, symbols)."""
    columns = theory.decode_inputs(inputs).values()
    return torch.stack([torch.as_tensor(column) for column in columns], dim=-1)
