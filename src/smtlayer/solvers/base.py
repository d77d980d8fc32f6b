"""The protocols of backends and solvers: three questions, and the laws that answers obey.

Values are signs (`int8`: -1 false, +1 true, 0 free). Weights are positive wherever an input is
observed (its sign is not 0) and ignored elsewhere. An infinite weight marks a fact.

1. *Sound.* A SAT row's model satisfies the theory and agrees with every observed input (`solve`)
   and every wanted output (`maximize`).
2. *Same status* as `Enumerate()` whenever neither is UNKNOWN.
3. *Core.* Blamed inputs are observed; they alone contradict the wanted outputs; without any one of
   them the others no longer do. SAT rows have no blamed inputs. It is the core that deletion from
   the heaviest input to the lightest ends with, equal weights in column order, so every backend
   blames the same inputs.
4. *Best.* The weight that `maximize` overrules is the least that any model overrules, compared
   exactly: no positive weight is lost beside a larger one. Without wanted outputs it is zero
   exactly when `solve` answers SAT. A row that ran out of time may hold the best model found so far
   instead; its `proved` is then false.
5. *Rows are independent.* Answers to a permuted batch are the permuted answers; a batch equals its
   rows.
6. *Repeatable.* The same batch gets the same status and cost again; the same model too from a
   solver that is `deterministic`.
7. *UNKNOWN is honest.* A row that ran out of time is UNKNOWN and zero, never UNSAT.
8. *Posterior.* A solver that is `WeighsModels` gives the exact sum and the exact mean of all models
   with the wanted outputs, weighed by their inputs' probabilities, and draws models by the same
   weights. Each pair of inputs and outputs counts once, however many internal values it has.
   Infinite logits are facts, and a constant added to all logits of a one-hot symbol changes
   nothing.
9. *Facts.* An observed input of infinite weight is a fact. `maximize` never overrules it: without a
   model that agrees with all facts a row is UNSAT. `core` never blames it: the blamed inputs
   contradict the wanted outputs together with the facts, and are minimal given them. Facts that
   contradict the wanted outputs by themselves are UNSAT with no input blamed.
10. *Possible.* Of the models that agree with the facts, `smtlayer.solvers.possible` shows every
   value of every output. A solver that `FindsPossible` answers the same in one pass.
11. *Most probable.* A solver that `RanksModels` gives the same as law 8 for the k most probable
   models alone, for all models if there are no more. Of equally probable ones it takes any.

`smtlayer.testing.SolverConformance` checks them for any backend.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from smtlayer.theory import Theory


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
    the theory by themselves, or together with the facts.
    """

    status: Tensor  # (B,)   int8, see Status
    inputs: Tensor  # (B, n) bool, the blamed inputs


@dataclass(frozen=True, slots=True)
class Posterior:
    """The probability of the wanted outputs, and of each column given the wanted outputs."""

    status: Tensor  # (B,)   int8, see Status; UNSAT: no model has the wanted outputs and the facts
    log_prob: Tensor  # (B,)   float64, log of the weight of all such models; -inf without a model
    inputs: Tensor  # (B, n) float64, probability of being true; zeros without a model
    outputs: Tensor  # (B, m) float64, the same for the outputs


@dataclass(frozen=True, slots=True)
class Possible:
    """The values that outputs can have, given facts; see `SMTLayer.possible`.

    Where the status is UNKNOWN, a value that is not possible here may still be.
    """

    status: Tensor  # (...)    int8, see Status; UNSAT: no model agrees with the facts
    true: Tensor  # (..., m) bool, whether some model has the output true
    false: Tensor  # (..., m) bool, whether some model has the output false


QUESTIONS = frozenset({"solve", "maximize", "core", "log_prob", "marginal", "sample"})
"""The questions of `Solver` and `WeighsModels`."""


class Solver(Protocol):
    """A compiled theory that answers batches of questions, on the device of their tensors."""

    @property
    def theory(self) -> Theory:
        """The compiled theory."""

    @property
    def name(self) -> str:
        """The name of the solver in messages."""

    @property
    def limit_ms(self) -> int | None:
        """Time limit of one question about one row; None if there is none."""

    @property
    def on_host(self) -> bool:
        """Whether it works on the host only; a layer then moves each batch there and back once."""

    @property
    def deterministic(self) -> bool:
        """Whether the same question always gets the same model."""

    @property
    def capturable(self) -> frozenset[str]:
        """The questions that a CUDA graph can capture, by name: `{"solve", "marginal"}`.

        They launch the same kernels whatever the values, and never answer UNKNOWN.
        """

    @property
    def cache_hits(self) -> int:
        """Rows answered from a cache so far; 0 for a solver that has none."""

    @property
    def last_error(self) -> str:
        """Why rows of the last batch have no answer, other than their time limit; "" if none."""

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """A minimal set of inputs that contradicts the wanted outputs."""


WEIGHING_BACKENDS = "Table or Circuit"
"""The backends whose solvers are `WeighsModels`, for messages."""


@runtime_checkable
class WeighsModels(Protocol):
    """A solver that weighs all models by the probabilities of their inputs.

    Logits, (B, n) float, give each input symbol a distribution; see `smtlayer.solvers.reading`. A
    logit is 0 where nothing is known, and infinite for a fact: probability one for its sign.
    Outputs, (B, m) int8, are signs, 0 for no opinion.
    """

    def log_prob(self, logits: Tensor, outputs: Tensor) -> Tensor:
        """The log-probability that the theory and the wanted outputs hold: (B,) float64.

        It is -inf where no model has the wanted outputs and the facts.
        """

    def marginal(self, logits: Tensor, outputs: Tensor) -> Posterior:
        """The same, and the mean of the models with the wanted outputs, by their probabilities."""

    def sample(self, logits: Tensor, outputs: Tensor) -> Solution:
        """A model with the wanted outputs, drawn in proportion to its inputs' probabilities.

        Uses the default generator of the logits' device.
        """


@runtime_checkable
class RanksModels(Protocol):
    """A solver that finds the most probable models; logits and outputs as in `WeighsModels`."""

    def topk(self, logits: Tensor, outputs: Tensor, k: int) -> Posterior:
        """The total weight and the mean of the k most probable models with the wanted outputs."""


@runtime_checkable
class FindsPossible(Protocol):
    """A solver that finds the possible values of all outputs at once."""

    def possible(self, inputs: Tensor) -> Possible:
        """The values of each output in the models that agree with every observed input."""


class Backend(Protocol):
    """Options of a solver: frozen and picklable. `compile` does the work, once per theory."""

    def compile(self, theory: Theory) -> Solver:
        """A solver for this theory."""


Signs = Sequence[int]


class Row(NamedTuple):
    """A model for one row, or none."""

    status: Status
    inputs: Signs
    outputs: Signs
    proved: bool = True  # False for the best repair found in time, perhaps not the cheapest


class RowSolver(Protocol):
    """The three questions about one row, in plain Python: what a backend author implements.

    An input of infinite weight is a fact; see law 9.
    """

    def solve(self, inputs: Signs) -> Row:
        """A model that agrees with every observed input."""

    def maximize(self, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
        """A model with the wanted outputs that overrules inputs of the least total weight."""

    def core(
        self, inputs: Signs, weights: Sequence[float], outputs: Signs
    ) -> tuple[Status, Sequence[int]]:
        """A minimal set of input columns that contradicts the wanted outputs."""
