"""The probability of an answer, given the theory and the facts."""

import math
from collections.abc import Sequence
from typing import final

import torch

from smtlayer.solvers import Solver
from smtlayer.solvers.base import WeighsModels


@final
class AnswerProbabilities:
    """Computes P(outputs | theory) with a solver that weighs models; has none with another."""

    def __init__(self, solver: Solver) -> None:
        self._weigher = solver if isinstance(solver, WeighsModels) else None

    def of(
        self, odds: Sequence[Sequence[float]], outputs: Sequence[Sequence[int]]
    ) -> list[float | None]:
        """The probability of each row's outputs, all zeros for a row without an answer.

        Odds are logits, 0 where an input is not known and infinite for facts.
        """
        if self._weigher is None:
            return [None] * len(odds)
        logits = torch.tensor(odds, dtype=torch.float64, device="cpu")
        signs = torch.tensor(outputs, dtype=torch.int8, device="cpu")
        whole = self._weigher.log_prob(logits, torch.zeros_like(signs))
        share = (self._weigher.log_prob(logits, signs) - whole).tolist()
        rows = zip(share, (signs.any(-1) & whole.isfinite()).tolist(), strict=True)
        return [min(1.0, math.exp(log)) if answered else None for log, answered in rows]
