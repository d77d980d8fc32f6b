"""The second-best answer: the cheapest model with other outputs.

Outputs that differ from the answer differ in some column. A solver without a time limit gets one
query per column, for the best model with that column flipped. For other solvers these would be many
hard queries; they get one query about a larger theory instead. It has a twin w of each output
column y and the constraint that some w is not y: if all w are wanted as in the answer, the outputs
differ from it. The larger theory is compiled once for all answers.
"""

import copy
import time
from dataclasses import replace
from itertools import takewhile
from typing import final

import torch
import z3
from torch import Tensor

from smtlayer.errors import NotFiniteError, TooLargeError
from smtlayer.forks import uses_z3
from smtlayer.solvers import Z3, Sat, Solution, Solver, Status
from smtlayer.solvers.z3_calls import milliseconds
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix

_BATCH = 64  # queries between checks of the time


@final
class RunnersUp:
    """Finds second-best answers of one solver."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._with_twins: tuple[int, Solver] | None = None  # a time limit and its solver

    def find(self, signs: Tensor, weights: Tensor, outputs: Tensor, timeout_s: float) -> Solution:
        """Returns the cheapest model of a row, (n,) signs, with other outputs than these (m,).

        The result is a batch of one row.
        """
        if self._solver.limit_ms is None:
            return self._by_column(signs, weights, outputs, timeout_s)
        wanted = torch.cat([torch.zeros_like(outputs), outputs])
        solver = self._compiled(max(1, milliseconds(timeout_s)))
        found = solver.maximize(signs[None], weights[None], wanted[None])
        return replace(found, outputs=found.outputs[:, : len(outputs)])

    def _by_column(
        self, signs: Tensor, weights: Tensor, outputs: Tensor, timeout_s: float
    ) -> Solution:
        deadline = time.monotonic() + timeout_s
        deciding = torch.ones_like(outputs, dtype=torch.bool)  # columns of which others flip one
        for symbol in self._solver.theory.output_symbols:
            if symbol.kind == "one-hot":
                deciding[symbol.columns] = outputs[symbol.columns] > 0
        flipped = torch.diag(-outputs)[deciding]  # (k, m)
        found = [
            self._solver.maximize(signs.expand(len(w), -1), weights.expand(len(w), -1), w)
            for w in takewhile(lambda _: time.monotonic() <= deadline, torch.split(flipped, _BATCH))
        ]
        complete = sum(len(part.status) for part in found) == len(flipped)
        proved = torch.tensor([complete and all(part.proved.all() for part in found)], device="cpu")
        best = min(found, key=lambda part: part.cost.min().item(), default=None)
        if best is None or best.cost.isinf().all():
            status = torch.where(proved, Status.UNSAT, Status.UNKNOWN)
            cost = torch.full_like(status, torch.inf, dtype=torch.float64)
            return Solution(status, signs[None], outputs[None], cost, proved)
        i = best.cost.argmin()[None]
        return Solution(best.status[i], best.inputs[i], best.outputs[i], best.cost[i], proved)

    def _compiled(self, limit_ms: int) -> Solver:
        if self._with_twins is None or self._with_twins[0] != limit_ms:
            theory = _with_other_outputs(self._solver.theory)
            try:
                solver = Sat(limit_ms).compile(theory)
            except (NotFiniteError, TooLargeError):
                solver = Z3(limit_ms).compile(theory)
            self._with_twins = limit_ms, solver
        return self._with_twins[1]


@uses_z3
def _with_other_outputs(theory: Theory) -> Theory:
    """The theory with a twin of each output column, and the constraint that some twin differs."""
    own = copy.deepcopy(theory)
    stem = fresh_prefix(own.formulas, "twin")
    twins = [z3.Bool(f"{stem}_{i}", own.inputs[0].ctx) for i in range(own.n_outputs)]
    differ = z3.Or([z3.Xor(twin, column) for twin, column in zip(twins, own.outputs, strict=True)])
    return Theory([*own.constraints, differ], own.input_symbols, [*own.output_symbols, *twins])
