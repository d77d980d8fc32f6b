"""Minimal sets of constraints that contradict each other, or given signs.

Each constraint f gets a selector s and becomes s => f, so that a solver can leave out any of them.
Deletion makes a first contradiction minimal; if time runs out, the set is still a contradiction.
"""

import copy
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import final

import z3

from smtlayer.errors import NotFiniteError, SolverCrashedError, TooLargeError
from smtlayer.forks import uses_z3
from smtlayer.solvers.base import Signs, Status
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.sat import SatRow
from smtlayer.solvers.search.oracle import Oracle, signed
from smtlayer.solvers.z3 import Z3, Z3Row
from smtlayer.solvers.z3_calls import milliseconds
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix
from smtlayer.theory.values import shortened, text_of

_PATIENCE = 2  # a query may take so many times its share of the remaining time
_LEAST_S = 0.2


@dataclass(frozen=True, slots=True)
class ConstraintRef:
    """A constraint of a theory, or what a one-hot symbol adds to it."""

    index: int | None  # position in `theory.constraints`; None for a one-hot symbol
    name: str | None  # given by the user
    text: str

    @classmethod
    def of(cls, theory: Theory, place: int) -> "ConstraintRef":
        """Describes the formula at a position in `theory.formulas`."""
        given = len(theory.constraints)
        if place < given:
            return cls(place, theory.constraint_names[place], text_of(theory.formulas[place]))
        symbol = [s for s in theory.symbols if s.domain is not None][place - given]
        return cls(None, None, f"{symbol.name} is one of {', '.join(map(str, symbol.values))}")

    @property
    def label(self) -> str:
        """Its name, or else its text, shortened."""
        return self.name or shortened(self.text)

    @property
    def position(self) -> str:
        """Its index, and its name if it has one: `2` or `2 'digits differ'`."""
        return f"{self.index}" if self.name is None else f"{self.index} {self.name!r}"


@dataclass(frozen=True, slots=True)
class ConstraintCore:
    """A set of constraints, wanted outputs and facts that contradicts the given inputs."""

    status: Status  # of everything together; the set is empty unless it is UNSAT
    formulas: tuple[int, ...] = ()  # positions in `theory.formulas`
    outputs: tuple[int, ...] = ()  # columns of the wanted outputs
    minimal: bool = True  # whether it is proved that each member is needed
    facts: tuple[int, ...] = ()  # columns of the facts


@final
class ConstraintCores:
    """Finds constraint cores of a theory.

    Args:
        theory: The theory.
        by_bits: Whether to use a SAT solver if the theory is finite, which is faster if many inputs
            are known; otherwise z3.
        timeout_s: Time limit of the preparation.

    Examples:
        >>> a, b, y = z3.Bools("a b y")
        >>> theory = Theory([y == a, z3.Or(a, b), z3.Implies(b, y)], inputs=[a, b], outputs=[y])
        >>> cores = ConstraintCores(theory)
        >>> cores.find(inputs=[-1, 1]).formulas
        (0, 2)
        >>> cores.find(outputs=[1]).status
        <Status.SAT: 1>
    """

    def __init__(self, theory: Theory, *, by_bits: bool = True, timeout_s: float = 10.0) -> None:
        given, whole = len(theory.constraints), len(theory.formulas)
        self._order = [*range(given, whole), *range(given)]
        self._oracle, literals = _open(_with_selectors(theory), by_bits, timeout_s)
        self._selectors, columns = literals[:whole], literals[whole:]
        self._inputs, self._outputs = columns[: theory.n_inputs], columns[theory.n_inputs :]

    def find(
        self,
        inputs: Signs = (),
        outputs: Signs = (),
        timeout_s: float = 10.0,
        *,
        facts: Signs = (),
    ) -> ConstraintCore:
        """A minimal set of constraints, wanted outputs and facts that contradicts the inputs.

        Deletion starts with the constraints, the last one first, then the formulas of one-hot
        symbols, then facts, then outputs: members that explain more are more likely to stay.

        Args:
            inputs: Signs of the known inputs, 0 for the others; () for none.
            outputs: Signs of the wanted outputs, 0 for the others; () for none.
            timeout_s: Time limit. A set that could not be minimized in time is not `minimal`.
            facts: Signs of further inputs, of which the set needs only some; () for none.
        """
        fixed = signed(self._inputs, inputs or [0] * len(self._inputs))
        goal = outputs or [0] * len(self._outputs)
        wanted = {x * s: i for i, (x, s) in enumerate(zip(self._outputs, goal, strict=True)) if s}
        pairs = zip(self._inputs, facts or [0] * len(self._inputs), strict=True)
        certain = {x * s: i for i, (x, s) in enumerate(pairs) if s and x * s not in wanted}
        selectors: dict[int, int] = {}
        for place in self._order:
            selectors.setdefault(self._selectors[place], place)  # some may share a literal
        self._oracle.deadline = time.monotonic() + timeout_s
        try:
            order = [*wanted, *certain, *selectors]
            status, core, minimal = _smallest(self._oracle, fixed, order)
        except SolverCrashedError:
            return ConstraintCore(Status.UNKNOWN)
        return ConstraintCore(
            status,
            tuple(sorted(selectors[x] for x in core if x in selectors)),
            tuple(sorted(wanted[x] for x in core if x in wanted)),
            minimal,
            tuple(sorted(certain[x] for x in core if x in certain)),
        )


def _smallest(
    oracle: Oracle, fixed: Sequence[int], order: Sequence[int]
) -> tuple[Status, list[int], bool]:
    """The core that deletion from the last literal to the first leaves; whether it is minimal."""
    deadline = oracle.deadline
    answer = oracle.check([*fixed, *order])
    if answer.status is not Status.UNSAT:
        return answer.status, [], True
    core, needed, open_ = set(answer.core), list[int](), [x for x in order if x in answer.core]
    while open_ and time.monotonic() < deadline:
        rest, open_ = open_, []  # open ones are tried again, with more time for each
        while rest:
            literal = rest.pop()
            if literal not in core:
                continue
            now = time.monotonic()
            share_s = _PATIENCE * (deadline - now) / (1 + len(rest))  # leaves time for the others
            oracle.deadline = min(deadline, now + max(_LEAST_S, share_s))
            answer = oracle.check([*fixed, *needed, *open_, *rest])
            if answer.status is Status.UNSAT:
                core = set(answer.core)
                rest, open_ = ([x for x in some if x in core] for some in (rest, open_))
            elif answer.status is Status.SAT:
                needed.append(literal)
            else:
                open_.insert(0, literal)
    return Status.UNSAT, [*needed, *open_], not open_


@uses_z3
def _with_selectors(theory: Theory) -> Theory:
    """The theory with one selector per formula as inputs, and its columns as outputs."""
    own = copy.deepcopy(theory)  # in a separate z3 context, which no other thread uses
    formulas, context = own.formulas, own.inputs[0].ctx
    stem = fresh_prefix(formulas, "selector")
    selectors = [z3.Bool(f"{stem}_{i}", context) for i in range(len(formulas))]
    columns = (*own.inputs, *own.outputs)
    stem = fresh_prefix(formulas, "column")
    named = [z3.Bool(f"{stem}_{i}", context) for i in range(len(columns))]
    rules = [z3.Implies(s, formula) for s, formula in zip(selectors, formulas, strict=True)]
    rules += [x == column for x, column in zip(named, columns, strict=True)]
    return Theory(rules, inputs=selectors, outputs=named)


def _open(theory: Theory, by_bits: bool, timeout_s: float) -> tuple[Oracle, Sequence[int]]:
    """A solver of the theory, and the literals of its columns."""
    if by_bits:
        with suppress(NotFiniteError, TooLargeError):  # z3 takes what Sat does not
            cnf = to_cnf(theory)
            return SatRow(cnf, theory.n_inputs, milliseconds(timeout_s)), cnf.columns
    row = Z3Row(theory, Z3())
    return row, row.columns
