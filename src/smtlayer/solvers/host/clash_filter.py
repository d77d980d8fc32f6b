"""This file refuses rows at sight whose inputs clash, a whole batch at a time."""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.solvers.base import Solver
from smtlayer.solvers.clauses.cnf import Cnf, open_solver
from smtlayer.solvers.host.front import InFront, fill_rows
from smtlayer.solvers.results import Core, Solution, Status
from smtlayer.solvers.validation import check_question
from smtlayer.theory import Theory

_MOST = 100_000  # pairs; where there are more, looking at them takes longer than asking
_EFFORT = 3_000_000  # literals that may follow from single inputs, in all: a fraction of a second


def refusing(solver: Solver, cnf: Cnf) -> Solver:
    """The solver with its theory's clashes in front; by itself if there are none."""
    found = clashes(cnf, solver.theory)
    return Clashing(solver, found) if len(found.pairs) or len(found.columns) else solver


@dataclass(frozen=True, slots=True, eq=False)
class Clashes:
    """What inputs cannot say together.

    Reading i says that input i is true, reading n + i that it is false.
    """

    pairs: NDArray[np.intp]  # (K, 2) readings; one that cannot hold at all is there with itself
    columns: NDArray[np.intp]  # of inputs of which one must be true, group by group
    starts: NDArray[np.intp]  # where in `columns` each group begins


def clashes(cnf: Cnf, theory: Theory) -> Clashes:
    """Pairs that unit propagation finds, and the columns of each one-hot symbol as a group."""
    one_hot = [symbol for symbol in theory.input_symbols if symbol.kind == "one-hot"]
    groups = [np.arange(symbol.columns.start, symbol.columns.stop) for symbol in one_hot]
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
class Clashing(InFront):
    """Says UNSAT of rows with a clash in them; all else is left to the solver behind.

    Readings that contradict a theory often do so plainly: one digit twice in a row of a Sudoku, a
    cell with two digits or none. No solver has to be asked about that.

    Args:
        solver: Who is asked about the other rows.
        found: What cannot be said together.
    """

    def __init__(self, solver: Solver, found: Clashes) -> None:
        super().__init__(solver)
        self._one, self._other = np.ascontiguousarray(found.pairs.T)
        self._columns, self._starts = found.columns, found.starts

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""
        check_question(self.name, self.theory, inputs)
        clash = self._clash(inputs.to("cpu", torch.int8).numpy())
        if not clash.any():
            return self._solver.solve(inputs)
        rows, device = len(clash), inputs.device
        answer = Solution(
            torch.full((rows,), Status.UNSAT, dtype=torch.int8, device=device),
            torch.zeros(rows, self.theory.n_inputs, dtype=torch.int8, device=device),
            torch.zeros(rows, self.theory.n_outputs, dtype=torch.int8, device=device),
            torch.full((rows,), torch.inf, dtype=torch.float64, device=device),
            torch.ones(rows, dtype=torch.bool, device=device),
        )
        if not clash.all():
            rest = torch.from_numpy(np.flatnonzero(~clash)).to(device)
            fill_rows(answer, rest, self._solver.solve(inputs[rest]))
        return answer

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        return self._solver.maximize(inputs, weights, outputs)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """A minimal set of inputs that contradicts the wanted outputs."""
        return self._solver.core(inputs, weights, outputs)

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
