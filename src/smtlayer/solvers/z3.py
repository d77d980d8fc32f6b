"""The backend `Z3`: any theory, in one incremental z3 solver with assumptions."""

import copy
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import z3

from smtlayer.errors import SolverCrashedError
from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers.base import Row, Signs, Solver, Status
from smtlayer.solvers.host.memory import Memory
from smtlayer.solvers.host.solver import HostSolver
from smtlayer.solvers.search.maxsat import Repair, cheapest_repair
from smtlayer.solvers.search.oracle import Answer, fact_literals, signed
from smtlayer.solvers.search.soft import one_hot_columns, soft_literals
from smtlayer.solvers.search.unsat_core import blamed_columns
from smtlayer.solvers.validation import check_count, check_limits, check_theory_given
from smtlayer.solvers.workers.options import WorkerOptions, Workers, check_workers, row_stage
from smtlayer.solvers.z3_calls import ask, milliseconds, status_of
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix


@dataclass(frozen=True)
class Z3(WorkerOptions):
    """Answers by z3, for every theory that z3 handles.

    Args:
        timeout_ms: Time limit of one question about one row; past it the row is UNKNOWN, or the
            best repair found so far, not proved.
        seed: z3's random seed.
        workers: 0 to solve in this process; or a number of worker processes, an `Executor`, or a
            function that makes one. See `Rowwise`.
        remember: Number of answers to keep in memory.

    Examples:
        >>> import torch
        >>> a, b, y = z3.Bools("a b y")
        >>> solver = Z3().compile(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
        >>> solver.solve(torch.tensor([[1, -1]])).outputs
        tensor([[-1]], dtype=torch.int8)
    """

    timeout_ms: int = 10_000
    seed: int = 0
    workers: Workers = 0
    remember: int = 50_000

    def __post_init__(self) -> None:
        check_limits(self, "timeout_ms")
        check_count("Z3", "seed", self.seed, 0, 2**32 - 1)
        check_workers("Z3", self.workers)
        check_count("Z3", "remember", self.remember, least=0)

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """A solver that asks z3 about one row at a time."""
        check_theory_given("Z3", theory)
        open_row = replace(self, workers=0).open  # an executor could not travel to the workers
        stage = row_stage(theory, open_row, "Z3", self.timeout_ms, self.workers)
        if self.remember:
            stage = Memory(stage, self.remember, one_hot_columns(theory))
        limit_ms = self.timeout_ms
        return HostSolver(theory, stage, name="Z3", limit_ms=limit_ms, deterministic=False)

    def open(self, theory: Theory) -> "Z3Row":
        """The row solver, in a new z3 context."""
        return Z3Row(theory, self)


@final
class Z3Row:
    """One theory in one incremental z3 solver; see `RowSolver` and `Oracle`."""

    @uses_z3
    def __init__(self, theory: Theory, options: Z3) -> None:
        own = copy.deepcopy(theory)  # in a new context, which no other thread uses
        self._solver = z3.SimpleSolver(ctx=own.inputs[0].ctx)
        self._solver.set("random_seed", int(options.seed))
        self._solver.add(*own.formulas)
        self._prefix = fresh_prefix(own.formulas, "column")
        self._terms: dict[int, Any] = {}  # by literal
        self._number: dict[int, int] = {}  # by the id of a term
        self.top = 0
        self._inputs = [self._column(column) for column in own.inputs]
        self._outputs = [self._column(column) for column in own.outputs]
        self._one_hot = one_hot_columns(theory)
        self._timeout_s = options.timeout_ms / 1000
        self.deadline = 0.0

    @property
    def columns(self) -> list[int]:
        """A literal for each input, then for each output."""
        return [*self._inputs, *self._outputs]

    @uses_z3
    def solve(self, inputs: Signs) -> Row:
        """A model that agrees with every observed input."""
        self._start()
        status = self.check(signed(self._inputs, inputs)).status
        return self._row(Repair(status, self.model() if status is Status.SAT else None))

    @uses_z3
    def maximize(self, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        self._start()
        soft = soft_literals(dict(enumerate(self._inputs)), inputs, weights, self._one_hot)
        facts = fact_literals(self._inputs, inputs, weights)
        before = self.top
        self._solver.push()  # what the search adds is gone afterwards
        try:
            wanted = signed(self._outputs, outputs)
            return self._row(cheapest_repair(self, wanted + facts, soft))
        finally:
            self._solver.pop()
            for variable in range(before + 1, self.top + 1):
                for literal in (variable, -variable):
                    del self._number[self._terms.pop(literal).get_id()]
            self.top = before

    @uses_z3
    def core(
        self, inputs: Signs, weights: Sequence[float], outputs: Signs
    ) -> tuple[Status, Sequence[int]]:
        """The core that deletion from the heaviest input to the lightest ends with."""
        self._start()
        return blamed_columns(self, (self._inputs, self._outputs), inputs, weights, outputs)

    @uses_z3
    def check(self, literals: Sequence[int]) -> Answer:
        """Whether these literals can hold together, within the time limit."""
        left_ms = milliseconds(self.deadline - time.monotonic())
        if left_ms <= 0:
            return Answer(Status.UNKNOWN)
        try:
            status = status_of(ask(self._solver, left_ms, *(self._terms[x] for x in literals)))
            if status is not Status.UNSAT:
                return Answer(status)
            core = [self._number[term.get_id()] for term in self._solver.unsat_core()]
        except z3.Z3Exception as error:
            raise SolverCrashedError(f"Z3 failed on a row: {error}") from error
        return Answer(status, core=core)

    def model(self) -> Any:
        """The model behind the last answer."""
        return self._solver.model()

    def signs(self, model: Any, literals: Iterable[int]) -> list[int]:
        """1 for each literal that is true in a model, -1 for each other."""
        values = (model.eval(self._terms[x], model_completion=True) for x in literals)
        return [1 if z3.is_true(value) else -1 for value in values]

    def add(self, clauses: Iterable[Sequence[int]]) -> None:
        """Adds clauses."""
        for clause in clauses:
            for literal in clause:
                if literal not in self._terms:
                    self._name(abs(literal))
            self._solver.add(z3.Or([self._terms[x] for x in clause]))

    def _column(self, column: Any) -> int:
        """A variable for a column; assumptions must be literals."""
        self.top += 1
        self._name(self.top)
        self._solver.add(self._terms[self.top] == column)
        return self.top

    def _name(self, variable: int) -> None:
        term = z3.FreshBool(self._prefix, ctx=self._solver.ctx)
        for literal, signed_term in ((variable, term), (-variable, z3.Not(term))):
            self._terms[literal] = signed_term
            self._number[signed_term.get_id()] = literal

    def _start(self) -> None:
        self.deadline = time.monotonic() + self._timeout_s

    def _row(self, repair: Repair) -> Row:
        if repair.status is not Status.SAT:
            return Row(repair.status, (), ())
        inputs, outputs = (self.signs(repair.model, x) for x in (self._inputs, self._outputs))
        return Row(repair.status, inputs, outputs, repair.proved)
