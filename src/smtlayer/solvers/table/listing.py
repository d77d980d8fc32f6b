"""Solvers that enumerate models and count their work."""

import copy
from collections.abc import Iterable, Sequence
from typing import Protocol, final

import z3
from pysat.solvers import Minisat22

from smtlayer.forks import pause
from smtlayer.interrupts import raise_pressed
from smtlayer.solvers.clauses.cnf import Cnf
from smtlayer.solvers.z3_calls import OutOfWorkError, ask_counted
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix

_SLICE = 500_000  # propagations between two checks for Ctrl-C: a fraction of a second
_QUERY = 1000  # steps that a query to z3 counts in addition to z3's own
_FORBIDDEN = 0.25  # and per model that was forbidden before it


class UndecidedError(Exception):
    """The solver cannot decide a query, for the given reason."""


class Lister(Protocol):
    """An incremental solver over the columns of a theory."""

    @property
    def literals(self) -> Sequence[int]:
        """One literal per column, without known equivalents and negations of earlier ones."""

    @property
    def max_work(self) -> int:
        """The largest number of steps of all queries together."""

    def check(self, literals: Sequence[int] = ()) -> bool:
        """Whether a model remains in which these literals are true.

        Raises:
            OutOfWorkError: If the work limit is reached.
            UndecidedError: If the solver does not know.
        """

    def values(self) -> set[int]:
        """The literals of columns that are true in the model of the last query."""

    def signs(self) -> list[int]:
        """The signs of all columns in that model."""

    def forbid(self) -> None:
        """Rules out that model and all that agree with it on the columns."""


@final
class ClauseLister:
    """A SAT solver for finite theories, tens of thousands of models per second. See `Lister`."""

    def __init__(self, cnf: Cnf, max_work: int) -> None:
        self.max_work = max_work
        self.literals = [*dict.fromkeys(abs(x) for x in cnf.columns)]
        self._cnf = cnf
        self._solver = Minisat22(bootstrap_with=cnf.clauses)

    def add(self, clauses: Iterable[Sequence[int]]) -> None:
        """Adds clauses, which may have new variables."""
        self._solver.append_formula(clauses)

    def check(self, literals: Sequence[int] = ()) -> bool:
        """See `Lister`."""
        answer = None
        while answer is None:
            left = self.max_work - self._solver.accum_stats()["propagations"]
            if left <= 0:
                raise OutOfWorkError
            pause()
            raise_pressed()
            self._solver.prop_budget(min(left, _SLICE))
            # With `expect_interrupt` PySAT leaves Ctrl-C to Python and lets other threads run.
            answer = self._solver.solve_limited(list(literals), expect_interrupt=True)
        return bool(answer)

    def values(self) -> set[int]:
        """See `Lister`."""
        return {x * s for x, s in zip(self.literals, self._read(self.literals), strict=True)}

    def signs(self) -> list[int]:
        """See `Lister`."""
        return self._read(self._cnf.columns)

    def forbid(self) -> None:
        """See `Lister`."""
        values = self._read(self.literals)
        self._solver.add_clause([-x * s for x, s in zip(self.literals, values, strict=True)])

    def _read(self, literals: Sequence[int]) -> list[int]:
        model = self._solver.get_model() or []
        # A variable in no clause has no value: both are models.
        model.extend(range(len(model) + 1, self._cnf.n_variables + 1))
        return [1 if model[abs(x) - 1] * x > 0 else -1 for x in literals]


@final
class TermLister:
    """z3 for any theory, about a thousand models per second. See `Lister`.

    A step is one of z3's resource units. Each query counts a thousand more, and still more the
    longer the list is: z3 does not count that work.
    """

    def __init__(self, theory: Theory, max_work: int) -> None:
        own = copy.deepcopy(theory)  # z3 counts work by context
        columns = (*own.inputs, *own.outputs)
        context = own.inputs[0].ctx
        prefix = fresh_prefix(own.formulas, "column")
        self.max_work = max_work
        self.literals = range(1, len(columns) + 1)
        self._forbidden = 0
        self._counted = 0.0  # steps in addition to z3's own
        self._terms = [z3.FreshBool(prefix, ctx=context) for _ in columns]
        self._false = [z3.Not(term) for term in self._terms]
        self._solver = z3.SimpleSolver(ctx=context)
        self._solver.add(*own.formulas)
        self._solver.add(*(x == column for x, column in zip(self._terms, columns, strict=True)))

    def check(self, literals: Sequence[int] = ()) -> bool:
        """See `Lister`."""
        terms = [self._terms[x - 1] if x > 0 else self._false[-x - 1] for x in literals]
        self._counted += _QUERY + _FORBIDDEN * self._forbidden
        answer = ask_counted(self._solver, self.max_work - self._counted, *terms)
        if answer == z3.unknown:
            raise UndecidedError(self._solver.reason_unknown().removeprefix("(").removesuffix(")"))
        return bool(answer == z3.sat)

    def values(self) -> set[int]:
        """See `Lister`."""
        return {x * s for x, s in zip(self.literals, self.signs(), strict=True)}

    def signs(self) -> list[int]:
        """See `Lister`."""
        model = self._solver.model()
        values = (model.eval(x, model_completion=True) for x in self._terms)
        return [1 if z3.is_true(value) else -1 for value in values]

    def forbid(self) -> None:
        """See `Lister`."""
        self._forbidden += 1
        pairs = zip(self._terms, self._false, self.signs(), strict=True)
        self._solver.add(z3.Or([false if sign > 0 else true for true, false, sign in pairs]))
