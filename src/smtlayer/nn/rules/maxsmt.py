"""The rules `smt` and `maxsmt`: the paper's F_smt, F_max and B_max."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from torch import Tensor

from smtlayer.nn.rules.base import Blame, BlameRule, ForwardRule, Question, whole_status, wrong_rows
from smtlayer.solvers import Solution, Solver, Status


@final
@dataclass(frozen=True, slots=True, repr=False)
class SmtRule(ForwardRule):
    """Takes every known input as it is; no model if they contradict the theory."""

    capturable = True
    asks = frozenset({"solve"})

    def answer(self, solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
        """Returns a solution for each row."""
        return solver.solve(signs)

    def __repr__(self) -> str:
        return "smt"


@final
@dataclass(frozen=True, slots=True, repr=False)
class MaxsmtRule(ForwardRule, BlameRule):
    """Uses the cheapest repair, which overrules inputs of the least total weight.

    In the forward pass the repair is the answer. In the backward pass it has the wanted outputs;
    the inputs that it overrules are blamed, and the others held where they are.
    """

    capturable = False  # the search for a repair depends on values
    asks = frozenset({"maximize"})

    def answer(self, solver: Solver, signs: Tensor, weights: Callable[[], Tensor]) -> Solution:
        """Returns a solution for each row."""
        return solver.maximize(signs, weights())

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""
        rows, signs, weights, wanted = wrong_rows(question)
        found = solver.maximize(signs, weights, wanted)
        targets = question.signs.clone()
        targets[rows] = found.inputs
        status = whole_status(found.status, rows, question)
        held = (question.wrong & (status == Status.SAT)) | question.correct
        return Blame(
            targets.clamp(min=0).to(question.logits.dtype),
            (question.signs * held[:, None]).bool(),
            status == Status.UNSAT,
            status == Status.UNKNOWN,
        )

    def __repr__(self) -> str:
        return "maxsmt"


smt = SmtRule()
"""For the forward pass, the paper's F_smt: zeros where the inputs contradict the theory."""

maxsmt = MaxsmtRule()
"""The paper's F_max and B_max. In the forward pass it overrules the cheapest inputs until a model
exists; in the backward pass it pulls the inputs that the cheapest repair overrules, and holds the
others.
"""
