"""The backend `Enumerate`: all assignments, the reference for the tests of other backends."""

import copy
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import z3

from smtlayer.errors import TooManyModelsError
from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers.base import Row, Signs, Solver, Status
from smtlayer.solvers.host.solver import Rowwise
from smtlayer.solvers.validation import check_count, check_limits, check_theory_given
from smtlayer.solvers.z3_calls import ask, milliseconds, status_of
from smtlayer.theory import Theory


@dataclass(frozen=True)
class Enumerate:
    """Asks z3 about every assignment to inputs and outputs, then answers from that list.

    Slow and simple on purpose. Answers that depend on an assignment that z3 cannot decide are
    UNKNOWN.

    Args:
        max_columns: The largest number of inputs and outputs together.
        timeout_ms: Time limit for each assignment.
    """

    max_columns: int = 14
    timeout_ms: int = 10_000

    def __post_init__(self) -> None:
        check_count("Enumerate", "max_columns", self.max_columns)
        check_limits(self, "timeout_ms")

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """A solver that knows the status of every assignment."""
        check_theory_given("Enumerate", theory)
        columns = theory.n_inputs + theory.n_outputs
        if columns > self.max_columns:
            raise TooManyModelsError(
                f"Enumerate tries every assignment and takes at most max_columns="
                f"{self.max_columns} inputs and outputs. "
                f"This theory has {columns}.",
                "Use Auto() instead.",
            )
        return Rowwise(
            theory, self.open, name="Enumerate", limit_ms=self.timeout_ms, deterministic=True
        )

    def open(self, theory: Theory) -> "EnumerateRow":
        """The row solver."""
        return EnumerateRow(theory, self.timeout_ms)


@final
class EnumerateRow:
    """The status of every assignment, in order, false before true; see `RowSolver`."""

    @uses_z3
    def __init__(self, theory: Theory, timeout_ms: int) -> None:
        own = copy.deepcopy(theory)
        columns = (*own.inputs, *own.outputs)
        solver = z3.Solver(ctx=own.inputs[0].ctx)
        solver.add(*own.formulas)
        limit_ms = milliseconds(timeout_ms / 1000)
        self._statuses: dict[tuple[Signs, Signs], Status] = {}
        for signs in itertools.product((-1, 1), repeat=len(columns)):
            solver.push()
            solver.add(*(c if s > 0 else z3.Not(c) for c, s in zip(columns, signs, strict=True)))
            split = (signs[: own.n_inputs], signs[own.n_inputs :])
            self._statuses[split] = status_of(ask(solver, limit_ms))
            solver.pop()

    def solve(self, inputs: Signs) -> Row:
        """The first model that agrees with every observed input."""
        free = (0,) * len(next(iter(self._statuses))[1])
        status, models = self._among(inputs, free)
        return Row(status, *models[0]) if status is Status.SAT else Row(status, (), ())

    def maximize(self, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
        """The first model with the wanted outputs that overrules inputs of the least weight."""
        facts = [s if w == math.inf else 0 for s, w in zip(inputs, weights, strict=True)]
        if self._undecided(facts, outputs):
            return Row(Status.UNKNOWN, (), ())
        status, models = self._among(facts, outputs)
        if status is not Status.SAT:
            return Row(status, (), ())
        best = min(models, key=lambda model: _overruled(inputs, weights, model[0]))
        return Row(Status.SAT, *best)

    def core(
        self, inputs: Signs, weights: Sequence[float], outputs: Signs
    ) -> tuple[Status, Sequence[int]]:
        """Deletion from the heaviest input to the lightest, equal weights in column order."""
        facts = [i for i, sign in enumerate(inputs) if sign and weights[i] == math.inf]
        core = [i for i, sign in enumerate(inputs) if sign and i not in facts]
        status = self._status(inputs, [*facts, *core], outputs)
        for i in sorted(core, key=lambda i: (-weights[i], i)):
            if status is not Status.UNSAT:
                return status, ()
            rest = [j for j in core if j != i]
            answer = self._status(inputs, [*facts, *rest], outputs)
            if answer is Status.UNSAT:
                core.remove(i)
            elif answer is Status.UNKNOWN:
                status = answer
        return status, core if status is Status.UNSAT else ()

    def _status(self, inputs: Signs, kept: Sequence[int], outputs: Signs) -> Status:
        return self._among([s if i in kept else 0 for i, s in enumerate(inputs)], outputs)[0]

    def _among(self, inputs: Signs, outputs: Signs) -> tuple[Status, list[tuple[Signs, Signs]]]:
        models = [m for m in self._models(outputs) if _agrees(m[0], inputs)]
        if models:
            return Status.SAT, models
        return Status.UNKNOWN if self._undecided(inputs, outputs) else Status.UNSAT, []

    def _models(self, outputs: Signs) -> list[tuple[Signs, Signs]]:
        return [m for m, s in self._statuses.items() if s is Status.SAT and _agrees(m[1], outputs)]

    def _undecided(self, inputs: Signs, outputs: Signs) -> bool:
        return any(
            status is Status.UNKNOWN and _agrees(x, inputs) and _agrees(y, outputs)
            for (x, y), status in self._statuses.items()
        )

    def models(self) -> Iterator[tuple[Signs, Signs]]:
        """All models, for tests that compare lists."""
        return (model for model, status in self._statuses.items() if status is Status.SAT)


def _agrees(signs: Signs, wanted: Signs) -> bool:
    return all(w in (0, s) for s, w in zip(signs, wanted, strict=True))


def _overruled(inputs: Signs, weights: Sequence[float], model: Signs) -> Fraction:
    rows = zip(inputs, weights, model, strict=True)
    return sum((Fraction(w) for s, w, found in rows if s * found < 0), Fraction(0))
