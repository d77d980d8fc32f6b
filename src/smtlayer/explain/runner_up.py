"""The second-best answer: the cheapest model with other outputs.

Outputs that differ from the answer differ in some column. A solver without a time limit gets one
query per column, for the best model with that column flipped. For other solvers these would be many
hard queries; they get one query about a larger theory instead. It has a twin w of each output
column y and the constraint that some w is not y: if all w are wanted as in the answer, the outputs
differ from it. The larger theory is compiled once for all answers.
"""

import copy
import time
from dataclasses import dataclass, replace
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

_BATCH = 64  # queries between two looks at the clock


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """The best model with other outputs that was found."""

    status: Status  # UNSAT: no other outputs are possible
    inputs: Tensor  # (n,) int8
    outputs: Tensor  # (m,) int8
    cost: float
    proved: bool  # no model with other outputs costs less


@final
class RunnersUp:
    """Finds second-best answers of one solver."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._with_twins: tuple[int, Solver] | None = None  # a time limit and its solver

    def find(self, signs: Tensor, weights: Tensor, outputs: Tensor, timeout_s: float) -> Rival:
        """Returns the cheapest model of one row with other outputs.

        Args:
            signs: (n,) int8.
            weights: (n,) float64.
            outputs: (m,) int8, the answer.
            timeout_s: Time limit.
        """
        if self._solver.limit_ms is None:
            return self._by_column(signs, weights, outputs, timeout_s)
        wanted = torch.cat([torch.zeros_like(outputs), outputs])
        solver = self._compiled(max(1, milliseconds(timeout_s)))
        return _rival(solver.maximize(signs[None], weights[None], wanted[None]), 0, len(outputs))

    def _by_column(
        self, signs: Tensor, weights: Tensor, outputs: Tensor, timeout_s: float
    ) -> Rival:
        deadline = time.monotonic() + timeout_s
        flipped = torch.diag(-outputs)[_deciding(self._solver.theory, outputs)]  # (k, m)
        best, proved = None, True
        for start in range(0, len(flipped), _BATCH):
            if time.monotonic() > deadline:
                proved = False
                break
            wanted = flipped[start : start + _BATCH]
            rows = len(wanted)
            found = self._solver.maximize(signs.expand(rows, -1), weights.expand(rows, -1), wanted)
            proved = proved and bool(found.proved.all())
            rival = _rival(found, int(found.cost.argmin()), len(outputs))
            if best is None or rival.cost < best.cost:
                best = rival
        if best is None or best.status is not Status.SAT:
            status = Status.UNSAT if proved else Status.UNKNOWN
            return Rival(status, signs, outputs, torch.inf, proved)
        return replace(best, proved=proved)

    def _compiled(self, limit_ms: int) -> Solver:
        if self._with_twins is None or self._with_twins[0] != limit_ms:
            theory = _with_other_outputs(self._solver.theory)
            try:
                solver = Sat(limit_ms).compile(theory)
            except (NotFiniteError, TooLargeError):
                solver = Z3(limit_ms).compile(theory)
            self._with_twins = limit_ms, solver
        return self._with_twins[1]


def _rival(found: Solution, i: int, n_outputs: int) -> Rival:
    return Rival(
        Status(int(found.status[i])),
        found.inputs[i],
        found.outputs[i, :n_outputs],
        float(found.cost[i]),
        bool(found.proved[i]),
    )


def _deciding(theory: Theory, outputs: Tensor) -> Tensor:
    """Columns of which other outputs flip at least one: of a one-hot symbol the true one."""
    deciding = torch.ones_like(outputs, dtype=torch.bool)
    for symbol in theory.output_symbols:
        if symbol.kind == "one-hot":
            deciding[symbol.columns] = outputs[symbol.columns] > 0
    return deciding


@uses_z3
def _with_other_outputs(theory: Theory) -> Theory:
    """The theory with a twin of each output column, and the constraint that some twin differs."""
    own = copy.deepcopy(theory)
    stem = fresh_prefix(own.formulas, "twin")
    twins = [z3.Bool(f"{stem}_{i}", own.inputs[0].ctx) for i in range(own.n_outputs)]
    differ = z3.Or([z3.Xor(twin, column) for twin, column in zip(twins, own.outputs, strict=True)])
    return Theory(
        [*own.constraints, differ],
        inputs=own.input_symbols,
        outputs=[*own.output_symbols, *twins],
    )
