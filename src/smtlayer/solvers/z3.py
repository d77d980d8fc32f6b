"""This file asks z3, with one incremental solver and assumptions."""

import copy
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, final

import z3

from smtlayer.errors import SolverCrashedError
from smtlayer.solvers.base import Row, Signs, Solver, check_positive
from smtlayer.solvers.repair import cheapest_repair
from smtlayer.solvers.results import Status
from smtlayer.solvers.rowwise import Rowwise
from smtlayer.theory import Theory

_NO_MODEL: Signs = ()
_CLOCK_S = 0.02  # how early a clock may think a time limit was reached


@dataclass(frozen=True)
class Z3:
    """Asks z3. Handles every theory that z3 does.

    Args:
        timeout_ms: Time limit of one question about one row; past it the row is UNKNOWN.
        seed: z3's random seed.

    Example:
        >>> import torch
        >>> a, b, y = z3.Bools("a b y")
        >>> solver = Z3().compile(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
        >>> solver.solve(torch.tensor([[1, -1]])).outputs
        tensor([[-1]], dtype=torch.int8)
    """

    timeout_ms: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive(self, "timeout_ms")

    def compile(self, theory: Theory) -> Solver:
        """A solver that asks z3 about one row at a time."""
        return Rowwise(theory, self.open, name="Z3", limit_ms=self.timeout_ms, deterministic=False)

    def open(self, theory: Theory) -> "Z3Row":
        """The solver of rows, in a z3 context of its own."""
        return Z3Row(theory, self)


@final
class Z3Row:
    """One theory in one incremental z3 solver; see `RowSolver`."""

    def __init__(self, theory: Theory, options: Z3) -> None:
        own = copy.deepcopy(theory)  # in a context of its own, so that threads cannot meet in it
        self._solver = z3.SimpleSolver(ctx=own.inputs[0].ctx)
        self._solver.set("random_seed", options.seed)
        self._solver.add(*own.formulas)
        self._inputs = [self._literals(column) for column in own.inputs]
        self._outputs = [self._literals(column) for column in own.outputs]
        self._timeout_s = options.timeout_ms / 1000
        self._deadline = 0.0
        self._model: Any = None

    def solve(self, inputs: Signs) -> Row:
        """A model that agrees with every observed input."""
        self._start()
        status, _ = self._check(_observed(inputs), inputs, ())
        return self._row(status)

    def maximize(self, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        self._start()
        status = cheapest_repair(
            lambda kept: self._check(kept, inputs, outputs),
            {i: weights[i] for i in _observed(inputs)},
            self._deadline,
        )
        return self._row(status)

    def core(
        self, inputs: Signs, weights: Sequence[float], outputs: Signs
    ) -> tuple[Status, Sequence[int]]:
        """The core that deletion from the heaviest input to the lightest ends with."""
        self._start()
        order = sorted(_observed(inputs), key=lambda i: -weights[i])
        status, core = self._check(order, inputs, outputs)
        needed: list[int] = []
        for position, i in enumerate(order):
            if status is not Status.UNSAT:
                return status, ()
            if i not in core:
                continue  # the core found last stays one without it: no need to ask
            answer, smaller = self._check([*needed, *order[position + 1 :]], inputs, outputs)
            if answer is Status.SAT:
                needed.append(i)
            elif answer is Status.UNSAT:
                core = smaller
            else:
                status = answer
        return status, needed if status is Status.UNSAT else ()

    def _start(self) -> None:
        self._deadline = time.monotonic() + self._timeout_s

    def _literals(self, column: Any) -> dict[int, Any]:
        """A literal for each sign of a column; assumptions must be literals."""
        literal = z3.FreshBool("column", ctx=column.ctx)
        self._solver.add(literal == column)
        return {1: literal, -1: z3.Not(literal)}

    def _check(
        self, kept: Collection[int], inputs: Signs, outputs: Signs
    ) -> tuple[Status, frozenset[int]]:
        """Can these inputs hold with these outputs? If not: which of them cannot."""
        left_ms = int((self._deadline - time.monotonic()) * 1000)
        if left_ms <= 0:
            return Status.UNKNOWN, frozenset()
        wanted = [self._outputs[i][sign] for i, sign in enumerate(outputs) if sign]
        literals = {i: self._inputs[i][inputs[i]] for i in kept}
        position = {literal.get_id(): i for i, literal in literals.items()}
        try:
            status = status_of(ask(self._solver, left_ms, *wanted, *literals.values()))
            if status is Status.SAT:
                self._model = self._solver.model()
            if status is not Status.UNSAT:
                return status, frozenset()
            blamed = (position.get(literal.get_id()) for literal in self._solver.unsat_core())
        except z3.Z3Exception as error:
            raise SolverCrashedError(f"Z3 failed on a row: {error}") from error
        return status, frozenset(i for i in blamed if i is not None)

    def _row(self, status: Status) -> Row:
        if status is not Status.SAT:
            return Row(status, _NO_MODEL, _NO_MODEL)
        return Row(status, self._signs(self._inputs), self._signs(self._outputs))

    def _signs(self, columns: Sequence[dict[int, Any]]) -> Signs:
        values = (self._model.eval(c[1], model_completion=True) for c in columns)
        return [1 if z3.is_true(value) else -1 for value in values]


def _observed(inputs: Signs) -> list[int]:
    return [i for i, sign in enumerate(inputs) if sign]


def ask(solver: Any, timeout_ms: int, *assumptions: Any) -> Any:
    """z3's answer within a time limit; Ctrl-C, which z3 catches while it works, is raised."""
    start = time.monotonic()
    solver.set("timeout", timeout_ms)
    answer = solver.check(*assumptions)
    if answer == z3.unknown:
        reason = solver.reason_unknown()
        early = time.monotonic() - start < timeout_ms / 1000 - _CLOCK_S
        # a SimpleSolver says "canceled" of Ctrl-C and of the time limit alike
        if "keyboard" in reason or ("cancel" in reason and early):
            raise KeyboardInterrupt
    return answer


def status_of(answer: Any) -> Status:
    """z3's answer as a status."""
    if answer == z3.unknown:
        return Status.UNKNOWN
    return Status.SAT if answer == z3.sat else Status.UNSAT
