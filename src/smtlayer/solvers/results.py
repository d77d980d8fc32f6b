"""This file holds what a solver answers: a status, a solution, a core."""

import enum
from dataclasses import dataclass

from torch import Tensor


class Status(enum.IntEnum):
    """The three answers a solver can give about a row."""

    SAT = 1
    UNSAT = 0
    UNKNOWN = -1

    @property
    def hint(self) -> str:
        """What the reader should do about it.

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
    """A model for each row of a batch, where there is one."""

    status: Tensor  # (B,)   int8, see Status
    inputs: Tensor  # (B, n) int8, signs the model gives the inputs; zeros without a model
    outputs: Tensor  # (B, m) int8, signs the model gives the outputs; zeros without a model
    cost: Tensor  # (B,)   float64, weight of the inputs overruled; inf without a model
    # (B,) bool, whether no model costs less; False for the best one found within a time limit.
    # Left out: as the status says.
    proved: Tensor = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.proved is None:
            object.__setattr__(self, "proved", self.status != Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Core:
    """The blamed inputs for each row of a batch.

    SAT blames nobody. UNSAT without a blamed input means that the wanted outputs contradict the
    theory, whatever the inputs.
    """

    status: Tensor  # (B,)   int8, see Status
    inputs: Tensor  # (B, n) bool, the blamed inputs


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of the inputs of each row, given the wanted outputs."""

    status: Tensor  # (B,)   int8, see Status; UNSAT: no model has the wanted outputs
    inputs: Tensor  # (B, n) float64, the probability that an input is true; zeros without a model
