"""The stage that finds rows whose inputs plainly contradict each other, a batch at a time."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.base import Status
from smtlayer.solvers.clauses.cnf import Cnf, open_solver
from smtlayer.solvers.host.questions import Answers, Questions, Stage
from smtlayer.solvers.search.soft import one_hot_columns
from smtlayer.theory import Theory

_MOST = 100_000  # pairs; where there are more, looking at them takes longer than asking
_EFFORT = 3_000_000  # literals that may follow from single inputs, in all: a fraction of a second


def clash_filter(following: Stage, cnf: Cnf, theory: Theory) -> Stage:
    """A filter of the theory's clashes before a stage; the stage alone if there are none."""
    found = clashes(cnf, theory)
    return ClashFilter(following, found) if len(found.pairs) or len(found.columns) else following


@dataclass(frozen=True, slots=True, eq=False)
class Clashes:
    """Values of inputs that cannot hold together.

    Number i means that input i is true, number n + i that it is false.
    """

    pairs: NDArray[np.intp]  # (K, 2) numbers; one that cannot hold at all is paired with itself
    columns: NDArray[np.intp]  # of inputs of which one must be true, group by group
    starts: NDArray[np.intp]  # where in `columns` each group begins


def clashes(cnf: Cnf, theory: Theory) -> Clashes:
    """Pairs that unit propagation finds, and the columns of each one-hot symbol as a group."""
    groups = [np.array(columns) for columns in one_hot_columns(theory)]
    sizes = np.array([len(group) for group in groups], dtype=np.intp)
    columns = np.concatenate([*groups, np.zeros(0, dtype=np.intp)])
    return Clashes(_pairs(cnf, theory.n_inputs), columns, np.cumsum(sizes) - sizes)


def _pairs(cnf: Cnf, n_inputs: int) -> NDArray[np.intp]:
    """Readings of which one rules out the other, (K, 2)."""
    reading: dict[int, int] = {}  # by literal; of inputs that share one only the first
    for i, literal in enumerate(cnf.columns[:n_inputs]):
        reading.setdefault(literal, i)
        reading.setdefault(-literal, n_inputs + i)
    solver = open_solver(cnf)
    found: set[tuple[int, int]] = set()
    effort = 0
    for literal, one in reading.items():
        consistent, follows = solver.propagate([literal])
        others = [reading[-x] for x in follows if -x in reading and x != literal]
        for other in others if consistent else [one]:
            found.add((min(one, other), max(one, other)))
        effort += len(follows)
        if effort > _EFFORT or len(found) > _MOST:
            break
    solver.delete()
    few = sorted(found) if len(found) <= _MOST else []
    return np.array(few, dtype=np.intp).reshape(-1, 2)


@final
class ClashFilter:
    """Answers UNSAT to `solve` for rows with a clash, and asks the next stage about the others.

    Inputs that contradict a theory often do so plainly: two symbols that must differ have the same
    value, or a one-hot symbol has two values or none. Such rows need no solver.
    """

    def __init__(self, following: Stage, found: Clashes) -> None:
        self._following = following
        self._one, self._other = np.ascontiguousarray(found.pairs.T)
        self._columns, self._starts = found.columns, found.starts

    def answer(self, questions: Questions) -> Answers:
        """UNSAT for rows with a clash, and the answers of the next stage for the others."""
        if questions.kind != "solve":
            return self._following.answer(questions)
        clash = self._clash(questions.inputs)
        if not clash.any():
            return self._following.answer(questions)
        answers = Answers.unknown(questions)
        answers.status[clash], answers.proved[clash] = Status.UNSAT, True
        rest = np.flatnonzero(~clash)
        if not len(rest):
            return answers
        return answers.store(rest, self._following.answer(questions.pick(rest)))

    def _clash(self, signs: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which rows have a clash, (B,); eight rows go into a byte."""
        true, false = signs > 0, signs < 0
        held = np.packbits(np.concatenate([true, false], axis=-1), axis=0)  # (B / 8, 2n)
        both = [np.bitwise_or.reduce(eight[self._one] & eight[self._other]) for eight in held]
        clash = np.unpackbits(np.array(both, dtype=np.uint8), count=len(signs)).astype(np.bool_)
        if len(self._starts):
            none = np.logical_and.reduceat(false[:, self._columns], self._starts, axis=-1)
            clash |= none.any(-1)
        return clash
