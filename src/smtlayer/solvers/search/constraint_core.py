"""This file finds minimal sets of constraints that contradict each other, or given facts.

Each constraint f gets a mark m and becomes m => f, so that a solver that is asked about marks can
leave any of them out. What deletion leaves of a first contradiction is minimal; if time runs out on
the way, it is still a contradiction.
"""

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import z3

from smtlayer.errors import NotFiniteError, SolverCrashedError, TooLargeError
from smtlayer.forks import uses_z3
from smtlayer.solvers.base import Signs
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.results import Status
from smtlayer.solvers.sat import SatRow
from smtlayer.solvers.search.oracle import Oracle, signed
from smtlayer.solvers.z3 import Z3, Z3Row
from smtlayer.solvers.z3_calls import milliseconds
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix

_PATIENCE = 2  # a question may take so many times its share of the time that is left
_LEAST_S = 0.2


@dataclass(frozen=True, slots=True)
class Clash:
    """A set of constraints, and of wanted outputs, that cannot hold together with what is known."""

    status: Status  # of everything together; only UNSAT has a set
    formulas: tuple[int, ...] = ()  # places in `theory.formulas`
    outputs: tuple[int, ...] = ()  # columns of the wanted outputs
    minimal: bool = True  # proved: without any one of these the others can hold


@final
class Conflicts:
    """A theory that can do without any of its constraints.

    Args:
        theory: Whose constraints are asked about.
        by_bits: Whether to ask a SAT solver where the theory comes down to bits, which is faster
            where much is known; else, and otherwise, z3.
        timeout_s: Time limit of getting ready.

    Examples:
        >>> a, b, y = z3.Bools("a b y")
        >>> theory = Theory([y == a, z3.Or(a, b), z3.Implies(b, y)], inputs=[a, b], outputs=[y])
        >>> conflicts = Conflicts(theory)
        >>> conflicts.find(inputs=[-1, 1]).formulas
        (0, 2)
        >>> conflicts.find(outputs=[1]).status
        <Status.SAT: 1>
    """

    def __init__(self, theory: Theory, *, by_bits: bool = True, timeout_s: float = 10.0) -> None:
        self._sizes = (theory.n_inputs, theory.n_outputs)
        given, whole = len(theory.constraints), len(theory.formulas)
        self._order = [*range(given, whole), *range(given)]
        marked = _marked(theory)
        self._oracle, columns = _open(marked, by_bits, timeout_s)
        self._marks, facts = columns[: marked.n_inputs], columns[marked.n_inputs :]
        self._inputs, self._outputs = facts[: theory.n_inputs], facts[theory.n_inputs :]

    def find(self, inputs: Signs = (), outputs: Signs = (), timeout_s: float = 10.0) -> Clash:
        """A minimal set of constraints and wanted outputs that contradicts the inputs.

        Constraints are left out first, the last before the others, then what one-hot symbols add,
        then outputs: what says more by itself is more likely to stay.

        Args:
            inputs: Signs of the inputs that are known to hold, 0 for the others; () for none.
            outputs: Signs of the wanted outputs, likewise.
            timeout_s: Time limit. A set that could not be made smaller in time is not `minimal`.
        """
        fixed = signed(self._inputs, inputs or [0] * self._sizes[0])
        goal = outputs or [0] * self._sizes[1]
        wanted = {x * s: i for i, (x, s) in enumerate(zip(self._outputs, goal, strict=True)) if s}
        marks: dict[int, int] = {}
        for place in self._order:
            marks.setdefault(self._marks[place], place)  # some may share a literal
        self._oracle.deadline = time.monotonic() + timeout_s
        try:
            status, core, minimal = _smallest(self._oracle, fixed, [*wanted, *marks])
        except SolverCrashedError:
            return Clash(Status.UNKNOWN)
        return Clash(
            status,
            tuple(sorted(marks[x] for x in core if x in marks)),
            tuple(sorted(wanted[x] for x in core if x not in marks)),
            minimal,
        )


def _smallest(
    oracle: Oracle, fixed: Sequence[int], order: Sequence[int]
) -> tuple[Status, list[int], bool]:
    """The literals that deletion from the last to the first leaves, and whether all are needed."""
    deadline = oracle.deadline
    answer = oracle.check([*fixed, *order])
    if answer.status is not Status.UNSAT:
        return answer.status, [], True
    core, needed, open_ = set(answer.core), list[int](), [x for x in order if x in answer.core]
    while open_ and time.monotonic() < deadline:
        rest, open_ = open_, []  # what stays open is asked again, with more time for each
        while rest:
            literal = rest.pop()
            if literal not in core:
                continue
            oracle.deadline = _fair(deadline, 1 + len(rest))
            answer = oracle.check([*fixed, *needed, *open_, *rest])
            if answer.status is Status.UNSAT:
                core = set(answer.core)
                rest, open_ = ([x for x in some if x in core] for some in (rest, open_))
            elif answer.status is Status.SAT:
                needed.append(literal)
            else:
                open_.insert(0, literal)
    return Status.UNSAT, [*needed, *open_], not open_


def _fair(deadline: float, questions: int) -> float:
    """When to give up on a question, so that the others have their time as well."""
    now = time.monotonic()
    return min(deadline, now + max(_LEAST_S, _PATIENCE * (deadline - now) / questions))


@uses_z3
def _marked(theory: Theory) -> Theory:
    """The theory with a mark for each constraint as inputs, and its columns as outputs."""
    own = copy.deepcopy(theory)  # in a context of its own, so that threads cannot meet in it
    formulas, context = own.formulas, own.inputs[0].ctx
    stem = fresh_prefix(formulas, "mark")
    marks = [z3.Bool(f"{stem}_{i}", context) for i in range(len(formulas))]
    columns = (*own.inputs, *own.outputs)
    stem = fresh_prefix(formulas, "fact")
    facts = [z3.Bool(f"{stem}_{i}", context) for i in range(len(columns))]
    rules = [z3.Implies(mark, formula) for mark, formula in zip(marks, formulas, strict=True)]
    rules += [fact == column for fact, column in zip(facts, columns, strict=True)]
    return Theory(rules, inputs=marks, outputs=facts)


def _open(marked: Theory, by_bits: bool, timeout_s: float) -> tuple[Oracle, Sequence[int]]:
    """Who answers, with the literals of the marked theory's columns."""
    try:
        cnf = to_cnf(marked) if by_bits else None
    except (NotFiniteError, TooLargeError):  # z3 takes what Sat does not
        cnf = None
    if cnf is not None:
        return SatRow(cnf, marked.n_inputs, milliseconds(timeout_s)), cnf.columns
    row = Z3Row(marked, Z3())
    return row, row.columns
