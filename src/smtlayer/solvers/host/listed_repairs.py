"""The stage that repairs by short lists of all models with the wanted outputs."""

import threading
from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from smtlayer.forks import PerProcess
from smtlayer.solvers.base import Status
from smtlayer.solvers.clauses.cnf import Cnf, facts, open_solver
from smtlayer.solvers.host.questions import Answers, Questions, Stage
from smtlayer.solvers.lru import Lru
from smtlayer.solvers.search.oracle import signed

_MOST = 32  # models with the wanted outputs; where there are more, no list is made
_OPEN = 256  # columns that propagation of the wanted outputs may leave undecided
_EFFORT = 200  # conflicts that the search for one model may take
_LISTS = 500  # searches, after which the SAT solver is opened anew
_LARGEST = 2.0**980  # weights above this are left to the next stage

_Models = NDArray[np.uint8]  # (K, bytes): one bit per input, then one per output


@final
class ListedRepairs:
    """Repairs by the list of all models with the wanted outputs, where it is short.

    Labels come again in every epoch. A label that leaves the inputs little freedom has few models,
    which are listed once; the cheapest of them is then found by sums of weights, for a whole batch
    at a time. Costs that differ by less than rounding errors, and all other questions, are left to
    the next stage. The `size` lists that were used last are kept.
    """

    def __init__(self, following: Stage, cnf: Cnf, n_inputs: int, size: int) -> None:
        self._following = following
        self._listers = PerProcess(lambda: _Lister(cnf, n_inputs))
        self._lists = Lru[bytes, _Models | None](size)  # by wanted outputs; None if not short

    def __len__(self) -> int:
        return len(self._lists)

    def answer(self, questions: Questions) -> Answers:
        """The cheapest listed models, completed by the answers of the next stage."""
        if questions.kind != "maximize" or not questions.outputs.any():
            return self._following.answer(questions)
        lists, hits = self._recall(questions.outputs)
        short = np.array([i for i, models in enumerate(lists) if models is not None], dtype=np.intp)
        if not len(short):
            return self._following.answer(questions)
        asked = questions if len(short) == len(lists) else questions.pick(short)
        n, m = asked.inputs.shape[1], asked.outputs.shape[1]
        models, sure = _cheapest([lists[i] for i in short], asked.inputs, asked.weights, n + m)
        if not sure.all():
            short, models = short[sure], models[sure]
        listed = Answers(
            np.where(models.any(-1), Status.SAT, Status.UNSAT).astype(np.int8),
            np.ascontiguousarray(models[:, :n]),
            np.ascontiguousarray(models[:, n:]),
            np.ones(len(models), dtype=np.bool_),
            hits=hits,
        )
        if len(short) == len(lists):
            return listed
        answers = Answers.unknown(questions).store(short, listed)
        rest = np.flatnonzero(~answers.proved)
        return answers.store(rest, self._following.answer(questions.pick(rest)))

    def _recall(self, wanted: NDArray[np.int8]) -> tuple[list[_Models | None], int]:
        """The list of models for each row, None where it is not short, and the cache hits."""
        found, hits, lister = [], 0, self._listers.get()
        with lister.lock:
            for row in wanted:
                key = row.tobytes()
                if key in self._lists:
                    models = self._lists.get(key)
                    hits += models is not None
                else:
                    models = lister.models(row.tolist()) if row.any() else None
                    self._lists[key] = models
                found.append(models)
        return found, hits


@final
class _Lister:
    """Lists the models with some wanted outputs, with one SAT solver, one thread at a time."""

    def __init__(self, cnf: Cnf, n_inputs: int) -> None:
        self.lock = threading.Lock()
        self._cnf, self._outputs = cnf, cnf.columns[n_inputs:]
        self._fixed = facts(cnf.numbers, cnf.n_variables)
        self._open = cnf.n_variables - len(self._fixed)
        self._open_solver()

    def models(self, wanted: Sequence[int]) -> _Models | None:
        """All models with the wanted outputs, if propagation leaves little open."""
        literals = signed(self._outputs, wanted)
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

    def _open_solver(self) -> None:
        self._sat = open_solver(self._cnf)
        self._searches = 0


def _packed(models: list[list[bool]], columns: int) -> _Models:
    return np.packbits(np.array(models, dtype=np.bool_).reshape(-1, columns), axis=-1)


def _cheapest(
    lists: Sequence[Any], signs: NDArray[np.int8], weights: NDArray[np.float64], columns: int
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """The model of least cost for each row, zeros without one, and whether it is the only such.

    A model that overrules a fact has an infinite cost, as if it were not listed.
    """
    counts = np.array([len(models) for models in lists])
    first, row = np.cumsum(counts) - counts, np.repeat(np.arange(len(lists)), counts)
    bits = np.unpackbits(np.concatenate(lists), axis=-1, count=columns)
    models = bits.astype(np.int8) * np.int8(2) - np.int8(1)  # (all models, n + m)
    n = signs.shape[1]
    weights = np.where(signs != 0, weights, 0.0)
    huge = np.where(weights < np.inf, weights, 0.0).max(-1) > _LARGEST  # sums could overflow
    sizes = np.where(huge[:, None], 0.0, weights)
    cost = np.where(models[:, :n] * signs[row] < 0, sizes[row], 0.0).sum(-1)
    table = np.full((len(lists), max(int(counts.max()), 1)), np.inf)  # (rows, models of a row)
    table[row, np.arange(len(row)) - first[row]] = cost
    best, least = table.argmin(-1), table.min(-1)
    slack = 1 + 4 * n * np.finfo(np.float64).eps
    close = (table <= (least * slack)[:, None]).sum(-1)
    found = np.zeros((len(lists), columns), dtype=np.int8)
    some, sure = least < np.inf, ((close == 1) | (least == 0)) & ~huge
    found[some & sure] = models[(first + best)[some & sure]]
    return found, sure | ~some
