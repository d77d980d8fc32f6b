"""This file finds minimal sets of constraints that contradict each other, or what is known."""

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import z3

from smtlayer.solvers.base import Signs
from smtlayer.solvers.results import Status
from smtlayer.solvers.z3 import ask, status_of
from smtlayer.theory import Theory
from smtlayer.theory.symbols import unheard_of


@dataclass(frozen=True, slots=True)
class Clash:
    """A set of constraints that cannot hold together, if the status is UNSAT."""

    status: Status  # of all constraints, with the facts they were asked about
    formulas: tuple[int, ...] = ()  # places in `theory.formulas`
    minimal: bool = True  # proved: without any one of them the others can hold


@final
class Conflicts:
    """One theory in z3 that can leave out any of its constraints.

    Args:
        theory: Whose constraints are asked about.

    Example:
        >>> a, b, y = z3.Bools("a b y")
        >>> theory = Theory([y == a, z3.Or(a, b), z3.Implies(b, y)], inputs=[a, b], outputs=[y])
        >>> conflicts = Conflicts(theory)
        >>> conflicts.find(inputs=[-1, 1])
        Clash(status=<Status.UNSAT: 0>, formulas=(0, 2), minimal=True)
        >>> conflicts.find(outputs=[1]).status
        <Status.SAT: 1>
    """

    def __init__(self, theory: Theory) -> None:
        self._own = copy.deepcopy(theory)  # a context of its own: threads cannot meet in it
        formulas = self._own.formulas
        self._solver = z3.Solver(ctx=self._own.inputs[0].ctx)
        prefix = unheard_of(formulas, "constraint")
        self._marks = [z3.FreshBool(prefix, ctx=self._solver.ctx) for _ in formulas]
        self._place = {mark.get_id(): i for i, mark in enumerate(self._marks)}
        for mark, formula in zip(self._marks, formulas, strict=True):
            self._solver.add(z3.Implies(mark, formula))

    def find(self, inputs: Signs = (), outputs: Signs = (), timeout_s: float = 10.0) -> Clash:
        """A minimal set of constraints that contradict these facts.

        Args:
            inputs: Signs of the inputs that are known to hold, 0 for the others; () for none.
            outputs: Signs of the outputs, likewise.
            timeout_s: Time limit. A set that could not be made smaller in time is not `minimal`.
        """
        facts = [*_facts(self._own.inputs, inputs), *_facts(self._own.outputs, outputs)]
        deadline = time.monotonic() + timeout_s
        self._solver.push()
        try:
            self._solver.add(*facts)
            status = self._check(range(len(self._marks)), deadline)
            return (
                Clash(status, *self._smaller(deadline)) if status is Status.UNSAT else Clash(status)
            )
        finally:
            self._solver.pop()

    def _smaller(self, deadline: float) -> tuple[tuple[int, ...], bool]:
        """What deletion leaves of the conflict found last, and whether all of it is needed."""
        rest, needed, minimal = self._core(), list[int](), True
        while rest:
            place = rest.pop()
            status = self._check([*needed, *rest], deadline)
            if status is Status.UNSAT:
                found = set(self._core())
                rest = [i for i in rest if i in found]
                continue
            needed.append(place)
            minimal = minimal and status is Status.SAT
        return tuple(sorted(needed)), minimal

    def _core(self) -> list[int]:
        return sorted(self._place[mark.get_id()] for mark in self._solver.unsat_core())

    def _check(self, places: Sequence[int], deadline: float) -> Status:
        left_ms = int((deadline - time.monotonic()) * 1000)
        if left_ms <= 0:
            return Status.UNKNOWN
        try:
            return status_of(ask(self._solver, left_ms, *(self._marks[i] for i in places)))
        except z3.Z3Exception:  # it gave up, in its own way
            return Status.UNKNOWN


def _facts(columns: Sequence[Any], signs: Signs) -> list[Any]:
    return [
        column if sign > 0 else z3.Not(column)
        for column, sign in zip(columns, signs or [0] * len(columns), strict=True)
        if sign
    ]
