"""This file finds the second-best answer: the cheapest model whose outputs are others.

Outputs that differ from the answer differ in some column. A solver that needs no time limit is
asked about each: the best model with that column turned round. For others that would be as many
hard questions as there are columns; they get a theory of their own instead. It has one more column
w for each output column y, and says that some w is not y: wanting w to be the answer then means
wanting other outputs. Compiled once, it does for all answers.
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

_TOGETHER = 64  # questions asked at once, between looks at the clock


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """The best model with other outputs, as far as it was found."""

    status: Status  # UNSAT: no other outputs are possible
    inputs: Tensor  # (n,) int8
    outputs: Tensor  # (m,) int8
    cost: float
    proved: bool  # that no other costs less


@final
class RunnersUp:
    """Finds second-best answers for one solver, and keeps what it compiles for that."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._apart: tuple[int, Solver] | None = None  # a time limit, and who answers within it

    def find(self, signs: Tensor, weights: Tensor, outputs: Tensor, timeout_s: float) -> Rival:
        """The cheapest model of one row whose outputs are not these.

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
        turned = torch.diag(-outputs)[_telling(self._solver.theory, outputs)]  # (k, m)
        best, sure = None, True
        for start in range(0, len(turned), _TOGETHER):
            if time.monotonic() > deadline:
                sure = False
                break
            wanted = turned[start : start + _TOGETHER]
            rows = len(wanted)
            found = self._solver.maximize(signs.expand(rows, -1), weights.expand(rows, -1), wanted)
            sure = sure and bool(found.proved.all())
            rival = _rival(found, int(found.cost.argmin()), len(outputs))
            if best is None or rival.cost < best.cost:
                best = rival
        if best is None or best.status is not Status.SAT:
            status = Status.UNSAT if sure else Status.UNKNOWN
            return Rival(status, signs, outputs, torch.inf, sure)
        return replace(best, proved=sure)

    def _compiled(self, limit_ms: int) -> Solver:
        if self._apart is None or self._apart[0] != limit_ms:
            theory = _with_other_outputs(self._solver.theory)
            try:
                solver = Sat(limit_ms).compile(theory)
            except (NotFiniteError, TooLargeError):
                solver = Z3(limit_ms).compile(theory)
            self._apart = limit_ms, solver
        return self._apart[1]


def _rival(found: Solution, i: int, n_outputs: int) -> Rival:
    return Rival(
        Status(int(found.status[i])),
        found.inputs[i],
        found.outputs[i, :n_outputs],
        float(found.cost[i]),
        bool(found.proved[i]),
    )


def _telling(theory: Theory, outputs: Tensor) -> Tensor:
    """The columns of which other outputs must change one: of a one-hot symbol the true one."""
    telling = torch.ones_like(outputs, dtype=torch.bool)
    for symbol in theory.output_symbols:
        if symbol.kind == "one-hot":
            telling[symbol.columns] = outputs[symbol.columns] > 0
    return telling


@uses_z3
def _with_other_outputs(theory: Theory) -> Theory:
    """The theory with a twin of each output column, and that some twin differs."""
    own = copy.deepcopy(theory)
    stem = fresh_prefix(own.formulas, "twin")
    twins = [z3.Bool(f"{stem}_{i}", own.inputs[0].ctx) for i in range(own.n_outputs)]
    differ = z3.Or([z3.Xor(twin, column) for twin, column in zip(twins, own.outputs, strict=True)])
    return Theory(
        [*own.constraints, differ],
        inputs=own.input_symbols,
        outputs=[*own.output_symbols, *twins],
    )
