"""The answers of a solver: status, solution, core, posterior."""

import enum
from dataclasses import dataclass

from torch import Tensor


class Status(enum.IntEnum):
    """The three possible results for a row."""

    SAT = 1
    UNSAT = 0
    UNKNOWN = -1

    @property
    def hint(self) -> str:
        """Advice for the user.

        Examples:
            >>> Status.UNSAT.hint
            'The inputs contradict the theory. Overrule some of them with the rule "maxsmt".'
        """
        return _HINTS[self]


_HINTS = {
    Status.SAT: "A model was found.",
    Status.UNSAT: 'The inputs contradict the theory. Overrule some of them with the rule "maxsmt".',
    Status.UNKNOWN: "The solver gave up. Raise its time limit, or simplify the theory.",
}


@dataclass(frozen=True, slots=True)
class Solution:
    """A model per row of a batch, if it has one."""

    status: Tensor  # (B,)   int8, see Status
    inputs: Tensor  # (B, n) int8, signs of the inputs in the model; zeros without a model
    outputs: Tensor  # (B, m) int8, signs of the outputs in the model; zeros without a model
    cost: Tensor  # (B,)   float64, weight of the overruled inputs; inf without a model
    # (B,) bool, whether no model costs less; False for the best model found within a time limit.
    # By default, all rows that are not UNKNOWN.
    proved: Tensor = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.proved is None:
            object.__setattr__(self, "proved", self.status != Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Core:
    """The blamed inputs of each row of a batch.

    SAT rows have none. An UNSAT row without blamed inputs means that the wanted outputs contradict
    the theory by themselves.
    """

    status: Tensor  # (B,)   int8, see Status
    inputs: Tensor  # (B, n) bool, the blamed inputs


@dataclass(frozen=True, slots=True)
class Posterior:
    """The probability of each input given the wanted outputs."""

    status: Tensor  # (B,)   int8, see Status; UNSAT: no model has the wanted outputs
    inputs: Tensor  # (B, n) float64, probability of being true; zeros without a model
