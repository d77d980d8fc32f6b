"""The rule `core`, the paper's B_core: blames the inputs of a minimal unsat core."""

from dataclasses import dataclass
from typing import final

import torch

from smtlayer.nn.rules.base import Blame, BlameRule, Question, whole_status, wrong_rows
from smtlayer.solvers import Solver, Status


@final
@dataclass(frozen=True, slots=True, repr=False)
class CoreRule(BlameRule):
    """Blames the inputs of a minimal unsat core against the wanted outputs; leaves the others."""

    capturable = True
    asks = frozenset({"core"})
    needs_weights = False  # deletion goes by the order of the weights alone

    def blame(self, solver: Solver, question: Question) -> Blame:
        """Returns the inputs to push in each row."""
        rows, signs, weights, wanted = wrong_rows(question)
        found = solver.core(signs, weights, wanted)
        blamed = torch.zeros_like(question.signs, dtype=torch.bool)
        blamed[rows] = found.inputs
        status = whole_status(found.status, rows, question)
        return Blame(
            (torch.where(blamed, -question.signs, question.signs) > 0).to(question.logits.dtype),
            blamed | (question.correct[:, None] & (question.signs != 0)),
            (status == Status.UNSAT) & ~blamed.any(-1),
            status == Status.UNKNOWN,
        )

    def __repr__(self) -> str:
        return "core"


core = CoreRule()
"""The paper's B_core: pulls the inputs of a minimal unsat core across zero."""
