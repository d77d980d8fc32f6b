"""The backend `Sat`: finite theories of any size, as clauses in an incremental SAT solver."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from smtlayer.errors import NotFiniteError, TooLargeError
from smtlayer.interrupts import interruptible
from smtlayer.solvers.base import Row, Signs, Solver, Status
from smtlayer.solvers.clauses.cnf import MAX_CLAUSES, Cnf, facts, open_solver
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.host.clash_filter import clash_filter
from smtlayer.solvers.host.listed_repairs import ListedRepairs
from smtlayer.solvers.host.memory import Memory
from smtlayer.solvers.host.solver import HostSolver
from smtlayer.solvers.search.maxsat import cheapest_repair
from smtlayer.solvers.search.oracle import Answer, fact_literals, signed
from smtlayer.solvers.search.soft import one_hot_columns, soft_literals
from smtlayer.solvers.search.unsat_core import blamed_columns
from smtlayer.solvers.validation import check_count, check_limits, check_theory_given
from smtlayer.solvers.workers.options import WorkerOptions, Workers, check_workers, row_stage
from smtlayer.theory import Theory

# Work between two checks of the time limit: a fraction of a second.
_CONFLICTS, _PROPAGATIONS = 2_000, 5_000_000
_REPAIRS = 200  # after which the solver is opened anew, because each uses up a variable
_COUNTERS = 5_000  # variables of one repair, above which the solver is opened anew at once


@dataclass(frozen=True)
class Sat(WorkerOptions):
    """Answers by a SAT solver, for finite theories of any size.

    Booleans, bit-vectors, enumerations, one-hot symbols, cardinalities and weighted sums, and
    integers whose bounds can be proved become clauses once; every question is then a few calls of
    one incremental solver.

    Args:
        timeout_ms: Time limit of one question about one row; past it the row is UNKNOWN, or the
            best repair so far that is not `proved`.
        workers: 0 to solve in this process; or a number of worker processes, an `Executor`, or a
            function that makes one. See `Rowwise`.
        remember: Number of answers to keep in memory, and of lists of models for wanted outputs
            that leave the inputs little freedom.
        max_clauses: The largest number of clauses. `compile` refuses a theory that takes more, or
            whose translation takes too much work in proportion; it counts work, not time.

    Examples:
        >>> import torch, z3
        >>> x, y = z3.BitVecs("x y", 16)
        >>> solver = Sat().compile(Theory(y == x * x, inputs=[x], outputs=[y]))
        >>> found = solver.solve(torch.zeros(1, 16, dtype=torch.int8))  # any number at all
        >>> found.status.tolist()
        [1]
    """

    timeout_ms: int = 10_000
    workers: Workers = 0
    remember: int = 50_000
    max_clauses: int = MAX_CLAUSES

    def __post_init__(self) -> None:
        check_limits(self, "timeout_ms")
        check_workers("Sat", self.workers)
        check_count("Sat", "remember", self.remember, least=0)
        check_count("Sat", "max_clauses", self.max_clauses)

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """The theory's clauses in a SAT solver.

        Raises:
            NotFiniteError: If the theory does not come down to bits.
            TooLargeError: If it takes more than `max_clauses`.
        """
        check_theory_given("Sat", theory)
        try:
            cnf = to_cnf(theory, max_clauses=self.max_clauses)
        except NotFiniteError as error:
            raise NotFiniteError(
                f"Sat takes theories that come down to bits, and this one does not: {error}.",
                "Use Z3() or Auto() instead.",
            ) from error
        except TooLargeError as error:
            raise TooLargeError(
                f"Sat: this theory is too large, {error}.",
                "Raise max_clauses, or use Z3() instead.",
            ) from error
        open_row, limit_ms = partial(_open, cnf, self.timeout_ms), self.timeout_ms
        stage = row_stage(theory, open_row, "Sat", limit_ms, self.workers)
        stage = clash_filter(stage, cnf, theory)
        if self.remember:
            stage = Memory(stage, self.remember, one_hot_columns(theory))
            stage = ListedRepairs(stage, cnf, theory.n_inputs, self.remember)
        return HostSolver(theory, stage, name="Sat", limit_ms=limit_ms, deterministic=False)


def _open(cnf: Cnf, timeout_ms: int, theory: Theory) -> "SatRow":
    return SatRow(cnf, theory.n_inputs, timeout_ms, one_hot_columns(theory))


@final
class SatRow:
    """A theory's clauses in one incremental solver; see `RowSolver` and `Oracle`.

    Many questions need no search: unit propagation of their literals finds a contradiction, or
    decides every variable; then the decided literals are the only model.
    """

    def __init__(
        self, cnf: Cnf, n_inputs: int, timeout_ms: int, one_hot: Sequence[range] = ()
    ) -> None:
        self._cnf, self._one_hot = cnf, one_hot
        self._inputs, self._outputs = cnf.columns[:n_inputs], cnf.columns[n_inputs:]
        # Propagation does not report literals that the clauses alone decide.
        known = facts(cnf.numbers, cnf.n_variables)
        self._open = cnf.n_variables - len(known)
        self._fixed = known & {*cnf.columns, *(-x for x in cnf.columns)}
        self._timeout_s = timeout_ms / 1000
        self.deadline = 0.0
        self._guard: list[int] = []
        self._reopen()

    def solve(self, inputs: Signs) -> Row:
        """A model that agrees with every observed input."""
        self._start()
        observed = signed(self._inputs, inputs)
        status, model = self._propagate(observed)
        if status is Status.UNKNOWN:
            status, model = self.check(observed).status, self._solver.get_model()
        return self._row(status, model)

    def maximize(self, inputs: Signs, weights: Sequence[float], outputs: Signs) -> Row:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        self._start()
        wanted = signed(self._outputs, outputs)
        if math.inf in weights:
            wanted += fact_literals(self._inputs, inputs, weights)
        status, model = self._propagate(wanted)
        if status is not Status.UNKNOWN:
            return self._row(status, model)
        soft = self._undecided(model, inputs, weights)
        if not soft:  # all models overrule the same
            status, model = self.check(wanted).status, self._solver.get_model()
            return self._row(status, model)
        status, model = self._propagate([*wanted, *soft])
        if status is Status.SAT:
            return self._row(status, model)
        self.top = self._cnf.n_variables + _REPAIRS
        try:
            return self._row(*cheapest_repair(self, wanted, soft))
        finally:
            self._forget()

    def core(
        self, inputs: Signs, weights: Sequence[float], outputs: Signs
    ) -> tuple[Status, Sequence[int]]:
        """The core that deletion from the heaviest input to the lightest ends with."""
        self._start()
        return blamed_columns(self, (self._inputs, self._outputs), inputs, weights, outputs)

    def check(self, literals: Sequence[int]) -> Answer:
        """Whether these literals can hold together, within the time limit."""
        solver = self._solver
        while True:
            if time.monotonic() > self.deadline:
                return Answer(Status.UNKNOWN)
            solver.conf_budget(_CONFLICTS)
            solver.prop_budget(_PROPAGATIONS)
            # With `expect_interrupt` PySAT leaves Ctrl-C to Python and lets other threads run.
            found = solver.solve_limited([*self._guard, *literals], expect_interrupt=True)
            if found:
                return Answer(Status.SAT)
            if found is False:
                return Answer(Status.UNSAT, core=solver.get_core() or ())

    def model(self) -> Any:
        """The model behind the last answer."""
        return self._solver.get_model()

    def signs(self, model: list[int], literals: Iterable[int]) -> list[int]:
        """1 for each literal that is true in a model, -1 for each other."""
        return [1 if model[abs(x) - 1] == x else -1 for x in literals]

    def add(self, clauses: Iterable[Sequence[int]]) -> None:
        """Adds clauses, until `_forget`."""
        if not self._guard:
            self._repairs += 1
            self._guard = [self._cnf.n_variables + self._repairs]
        for clause in clauses:
            self._solver.add_clause([*clause, -self._guard[0]])

    def _propagate(self, literals: list[int]) -> tuple[Status, set[int]]:
        """Unit propagation: UNSAT, SAT with the literals of the only model, or UNKNOWN."""
        consistent, found = self._solver.propagate(literals)
        if not consistent:
            return Status.UNSAT, set()
        whole = len(found) == self._open
        return Status.SAT if whole else Status.UNKNOWN, self._fixed.union(found)

    def _undecided(
        self, follows: set[int], inputs: Signs, weights: Sequence[float]
    ) -> dict[int, int]:
        """The soft literals of the inputs that propagation leaves open."""
        open_ = {i: x for i, x in enumerate(self._inputs) if x not in follows and -x not in follows}
        return soft_literals(open_, inputs, weights, self._one_hot)

    def _forget(self) -> None:
        """Drops the clauses added for one repair; their variables are free again.

        These clauses, and all that the solver learns from them, hold only if the guard does. With
        the guard false for good they are satisfied, and the solver drops them.
        """
        guard, self._guard = self._guard, []
        if guard:
            self._solver.add_clause([-guard[0]])

    def _start(self) -> None:
        used = self.top - self._cnf.n_variables - _REPAIRS
        if self._repairs == _REPAIRS or used > _COUNTERS:
            self._reopen()
        self.deadline = time.monotonic() + self._timeout_s

    def _reopen(self) -> None:
        self._solver = open_solver(self._cnf)
        self._repairs = 0
        self.top = 0

    def _row(self, status: Status, model: Any, proved: bool = True) -> Row:
        """The answer about a row; a model that follows by propagation is a set of literals."""
        if status is not Status.SAT:
            return Row(status, (), ())
        n, m = len(self._inputs), len(self._outputs)
        columns = self._inputs if self._inputs == self._outputs else self._cnf.columns
        if isinstance(model, set):
            signs = [1 if x in model else -1 for x in columns]
        else:
            signs = [1 if model[abs(x) - 1] == x else -1 for x in columns]
        return Row(status, signs[:n], signs[len(signs) - m :], proved)
