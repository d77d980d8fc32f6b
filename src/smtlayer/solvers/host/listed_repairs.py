"""This file lists the few models that have wanted outputs, once, and repairs by the list."""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.forks import leave_behind
from smtlayer.solvers.base import Solver
from smtlayer.solvers.clauses.cnf import Cnf, facts, open_solver
from smtlayer.solvers.host.front import InFront, fill_rows
from smtlayer.solvers.results import Core, Solution, Status
from smtlayer.solvers.search.oracle import signed
from smtlayer.solvers.validation import check_question

_MOST = 32  # models with the wanted outputs; where there are more, no list is made
_OPEN = 256  # columns that the wanted outputs may leave open at once
_EFFORT = 200  # conflicts a search may come to
_LISTS = 500  # after so many lists that took a search the solver is opened anew
_LARGEST = 2.0**980  # weight that is compared here

_Models = NDArray[np.uint8]  # (K, bytes): a bit for each input, then for each output


@final
class Completing(InFront):
    """Repairs by the list of all models with the wanted outputs, where it is short.

    Labels come again in every epoch, and where they leave the inputs little freedom (the answers of
    a Sudoku leave its hints next to none) the models to choose from are the same each time. Each
    wanted row is looked at once; then the cheapest of its models is a sum over weights, for a whole
    batch at a time. Costs that are the same but for rounding, and all other questions, are left to
    the solver behind.

    Args:
        solver: Who is asked what no list answers.
        cnf: The clauses of its theory.
        size: How many lists are kept; the least recently used goes first.
    """

    def __init__(self, solver: Solver, cnf: Cnf, size: int) -> None:
        super().__init__(solver)
        self._cnf = cnf
        self._size = size
        self._lists: OrderedDict[bytes, _Models | None] = OrderedDict()  # None: not a short list
        self._start()

    def __len__(self) -> int:
        """How many wanted rows are remembered."""
        return len(self._lists)

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""
        return self._solver.solve(inputs)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """A minimal set of inputs that contradicts the wanted outputs."""
        return self._solver.core(inputs, weights, outputs)

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        if outputs is None:
            return self._solver.maximize(inputs, weights)
        check_question(self.name, self.theory, inputs, weights, outputs)
        wanted = outputs.to("cpu", torch.int8).numpy()
        lists = self._recall(wanted)
        short = [i for i, models in enumerate(lists) if models is not None]
        if not short:
            return self._solver.maximize(inputs, weights, outputs)
        signs = inputs.to("cpu", torch.int8).numpy()
        sizes = np.where(signs != 0, weights.detach().to("cpu", torch.float64).numpy(), 0.0)
        found = np.zeros((len(wanted), len(self._cnf.columns)), dtype=np.int8)
        models = [lists[i] for i in short]
        chosen, sure = _cheapest(models, signs[short], sizes[short], found.shape[1])
        found[short] = chosen
        listed = np.zeros(len(wanted), dtype=np.bool_)
        listed[short] = sure
        answer = self._solution(found, listed, signs, sizes, inputs.device)
        rest = torch.from_numpy(np.flatnonzero(~listed)).to(inputs.device)
        if len(rest):
            part = self._solver.maximize(inputs[rest], weights[rest], outputs[rest])
            fill_rows(answer, rest, part)
        return answer

    def _solution(
        self,
        found: NDArray[np.int8],
        listed: NDArray[np.bool_],
        signs: NDArray[np.int8],
        sizes: NDArray[np.float64],
        device: torch.device,
    ) -> Solution:
        """What the lists say; rows that they do not answer are to be filled in."""
        n = signs.shape[1]
        model = found.any(-1)
        cost = np.where(found[:, :n] * signs < 0, sizes, 0.0).sum(-1)
        status = np.where(model, Status.SAT, Status.UNSAT).astype(np.int8)
        arrays = (status, found[:, :n], found[:, n:], np.where(model, cost, np.inf), listed)
        parts = [torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays]
        return Solution(*parts)

    def _recall(self, wanted: NDArray[np.int8]) -> list[_Models | None]:
        """The list of models for each wanted row, None where there is none to be had."""
        if self._process != os.getpid():
            leave_behind(self._sat)
            self._start()
        found = []
        with self._lock:
            for row in wanted:
                key = row.tobytes()
                if key in self._lists:
                    self._lists.move_to_end(key)
                    self._hits += self._lists[key] is not None
                else:
                    self._lists[key] = self._list(row.tolist()) if row.any() else None
                found.append(self._lists[key])
            while len(self._lists) > self._size:
                self._lists.popitem(last=False)
        return found

    def _list(self, wanted: Sequence[int]) -> _Models | None:
        """All models with the wanted outputs, if propagation leaves little open."""
        literals = signed(self._cnf.columns[self.theory.n_inputs :], wanted)
        consistent, follows = self._sat.propagate(literals)
        if not consistent:
            return _packed([], len(self._cnf.columns))
        decided = self._fixed.union(follows)
        left = {abs(x) for x in self._cnf.columns if x not in decided and -x not in decided}
        if len(left) > _OPEN:
            return None
        whole = len(follows) == self._open
        models = [decided] if whole else self._search(literals, sorted(left))
        if models is None:
            return None
        signs = [[x in model for x in self._cnf.columns] for model in models]
        return _packed(signs, len(self._cnf.columns))

    def _search(self, literals: list[int], left: list[int]) -> list[set[int]] | None:
        """Models that differ in these variables, one after the other; None if they are many."""
        if self._searches == _LISTS:
            self._open_solver()
        self._searches += 1
        guard, solver = self._cnf.n_variables + self._searches, self._sat
        models: list[set[int]] = []
        while len(models) <= _MOST:
            solver.conf_budget(_EFFORT)
            answer = solver.solve_limited([guard, *literals], expect_interrupt=True)
            if not answer:
                break
            values = solver.get_model()
            models.append(set(values))
            solver.add_clause([-guard, *(-values[x - 1] for x in left)])
        solver.add_clause([-guard])
        return models if answer is False else None

    def _start(self) -> None:
        """Makes ready, also in a forked process: solvers and locks do not survive a fork."""
        self._process = os.getpid()
        self._lock = threading.Lock()
        known = facts(self._cnf.numbers, self._cnf.n_variables)
        self._open = self._cnf.n_variables - len(known)
        self._fixed = known
        self._open_solver()

    def _open_solver(self) -> None:
        self._sat = open_solver(self._cnf)
        self._searches = 0


def _packed(models: list[list[bool]], columns: int) -> _Models:
    return np.packbits(np.array(models, dtype=np.bool_).reshape(-1, columns), axis=-1)


def _cheapest(
    lists: Sequence[Any], signs: NDArray[np.int8], weights: NDArray[np.float64], columns: int
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """The model of least cost for each row, zeros without one, and whether that is beyond doubt."""
    counts = np.array([len(models) for models in lists])
    first, row = np.cumsum(counts) - counts, np.repeat(np.arange(len(lists)), counts)
    bits = np.unpackbits(np.concatenate(lists), axis=-1, count=columns)
    models = bits.astype(np.int8) * np.int8(2) - np.int8(1)  # (all models, n + m)
    n = signs.shape[1]
    huge = weights.max(-1) > _LARGEST  # sums could overflow
    sizes = np.where(huge[:, None], 0.0, weights)
    cost = np.where(models[:, :n] * signs[row] < 0, sizes[row], 0.0).sum(-1)
    table = np.full((len(lists), max(int(counts.max()), 1)), np.inf)  # (rows, models of a row)
    table[row, np.arange(len(row)) - first[row]] = cost
    best, least = table.argmin(-1), table.min(-1)
    slack = 1 + 4 * n * np.finfo(np.float64).eps
    close = (table <= (least * slack)[:, None]).sum(-1)
    found = np.zeros((len(lists), columns), dtype=np.int8)
    some, sure = counts > 0, ((close == 1) | (least == 0)) & ~huge
    found[some & sure] = models[(first + best)[some & sure]]
    return found, sure | ~some
