"""This file puts a memory in front of a solver, so that a question asked again costs nothing."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.solvers.base import Solver
from smtlayer.solvers.host.front import InFront
from smtlayer.solvers.results import Core, Solution, Status
from smtlayer.solvers.validation import check_count, check_question

_Rows = list[int]
_Records = NDArray[Any]  # structured: a field for each field of the answer


def remembering(solver: Solver, size: int) -> Solver:
    """The solver with a memory of `size` answers in front; with none if `size` is 0."""
    return Remembering(solver, size) if size else solver


def check_size(who: str, size: int) -> None:
    """Raises unless `size` answers can be kept."""
    check_count(who, "remember", size, least=0)


@final
class Remembering(InFront):
    """Answers rows from memory where it can, and asks another solver about the rest, on the host.

    What an answer hangs on is what it is remembered by:

    | question | remembered by |
    |---|---|
    | `solve` | inputs |
    | `core` | inputs, wanted outputs, the order of the observed inputs by weight (law 3) |
    | `maximize` | inputs, wanted outputs, the weights of the observed inputs |
    | `maximize` that overrules nobody | inputs, wanted outputs; `solve` remembers it too |

    UNKNOWN is not remembered, nor a repair that is not proved cheapest: next time there may be more
    time. A solver that is `deterministic` must give the same model to all questions that the last
    line takes for one, as those do that take the first of equals.

    Args:
        solver: Who is asked what is not remembered.
        size: How many answers are kept; the least recently used goes first.
    """

    def __init__(self, solver: Solver, size: int) -> None:
        super().__init__(solver)
        self.size = size
        check_count("Remembering", "size", size)
        self._memory: OrderedDict[bytes, bytes] = OrderedDict()
        self._locks: dict[int, threading.Lock] = {}
        n, m = solver.theory.n_inputs, solver.theory.n_outputs
        self._solution = np.dtype([
            ("status", "i1"), ("inputs", "i1", (n,)), ("outputs", "i1", (m,)), ("cost", "f8"),
            ("proved", "?"),
        ])  # fmt: skip
        self._core = np.dtype([("status", "i1"), ("inputs", "?", (n,))])

    def __len__(self) -> int:
        """How many answers are remembered."""
        return len(self._memory)

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""
        check_question(self.name, self.theory, inputs)
        signs = _signs(inputs)
        keys = _keys(b"model", signs, self._free(inputs))
        records = self._recall(keys)

        def ask(rows: _Rows) -> tuple[_Records, list[bytes]]:
            answer = _records(self._solver.solve(_pick(signs, rows)), self._solution)
            return answer, [keys[i] for i in rows]

        self._complete(records, keys, ask)
        return Solution(*_tensors(records, self._solution, inputs.device))

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        check_question(self.name, self.theory, inputs, weights, outputs)
        signs, sizes = _signs(inputs), _sizes(weights)
        wanted = self._free(inputs) if outputs is None else _signs(outputs)
        agreed = _keys(b"model", signs, wanted)
        # Where `solve` says UNSAT there may be a repair: only models count here.
        records = [r if r and r[0] == Status.SAT else None for r in self._recall(agreed)]
        keys = agreed
        if None in records:
            keys = _keys(b"repair", signs, wanted, _observed(sizes, signs, 0.0))
            repaired = self._recall(keys)
            records = [r or other for r, other in zip(records, repaired, strict=True)]

        def ask(rows: _Rows) -> tuple[_Records, list[bytes]]:
            some = None if outputs is None else _pick(wanted, rows)
            found = self._solver.maximize(_pick(signs, rows), _pick(sizes, rows), some)
            answer = _records(found, self._solution)
            overruled = (answer["inputs"] * signs[rows] < 0).any(-1)
            plain = (~overruled & (answer["status"] == Status.SAT)).tolist()
            return answer, [(agreed if p else keys)[i] for i, p in zip(rows, plain, strict=True)]

        self._complete(records, keys, ask)
        return Solution(*_tensors(records, self._solution, inputs.device))

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """A minimal set of inputs that contradicts the wanted outputs."""
        check_question(self.name, self.theory, inputs, weights, outputs)
        signs, sizes, wanted = _signs(inputs), _sizes(weights), _signs(outputs)
        order = np.argsort(-_observed(sizes, signs, -np.inf), axis=-1, kind="stable")
        keys = _keys(b"core", signs, wanted, order.astype(np.uint32))
        records = self._recall(keys)

        def ask(rows: _Rows) -> tuple[_Records, list[bytes]]:
            parts = [_pick(part, rows) for part in (signs, sizes, wanted)]
            return _records(self._solver.core(*parts), self._core), [keys[i] for i in rows]

        self._complete(records, keys, ask)
        return Core(*_tensors(records, self._core, inputs.device))

    def _free(self, inputs: Tensor) -> NDArray[np.int8]:
        return np.zeros((len(inputs), self.theory.n_outputs), dtype=np.int8)

    def _recall(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """What is remembered under each key."""
        memory = self._memory
        with self._lock():
            for key in keys:
                if key in memory:
                    memory.move_to_end(key)
            return [memory.get(key) for key in keys]

    def _complete(
        self,
        records: list[bytes | None],
        keys: Sequence[bytes],
        ask: Callable[[_Rows], tuple[_Records, list[bytes]]],
    ) -> None:
        """Fills in the records that are missing, in one question; rows with one key are one row."""
        first: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if records[i] is None:
                first.setdefault(key, i)
        if first:
            answer, homes = ask(list(first.values()))
            fresh = _split(answer)
            self._remember(answer, homes, fresh)
            by_key = dict(zip(first, fresh, strict=True))
            for i, record in enumerate(records):
                records[i] = by_key[keys[i]] if record is None else record
        with self._lock():
            self._hits += len(keys) - len(first)

    def _remember(self, answer: _Records, homes: Sequence[bytes], fresh: Sequence[bytes]) -> None:
        sure = answer["status"] != Status.UNKNOWN
        if answer.dtype == self._solution:
            sure &= answer["proved"]
        with self._lock():
            for key, record, keep in zip(homes, fresh, sure.tolist(), strict=True):
                if keep:
                    self._memory[key] = record
                    self._memory.move_to_end(key)
            while len(self._memory) > self.size:
                self._memory.popitem(last=False)

    def _lock(self) -> threading.Lock:
        """A lock for each process: one that was held at a fork is never let go in the child."""
        return self._locks.setdefault(os.getpid(), threading.Lock())


def _signs(signs: Tensor) -> NDArray[np.int8]:
    found: NDArray[np.int8] = signs.to("cpu", torch.int8).numpy()
    return found


def _sizes(weights: Tensor) -> NDArray[np.float64]:
    found: NDArray[np.float64] = weights.detach().to("cpu", torch.float64).numpy()
    return found


def _observed(
    weights: NDArray[np.float64], signs: NDArray[np.int8], free: float
) -> NDArray[np.float64]:
    """The weights as they count: those of free inputs are nobody's business."""
    return np.where(signs != 0, weights, free)


def _keys(kind: bytes, *parts: NDArray[Any]) -> list[bytes]:
    """A digest of each row: 16 bytes, where the weights alone may take kilobytes."""
    rows = np.hstack([np.ascontiguousarray(part).view(np.uint8) for part in parts])
    return [blake2b(row, digest_size=16, person=kind).digest() for row in rows]


def _pick(values: NDArray[Any], rows: _Rows) -> Tensor:
    """Some rows, on the host, where they already are."""
    return torch.from_numpy(values if len(rows) == len(values) else values[rows])


def _records(answer: Solution | Core, kind: np.dtype[Any]) -> _Records:
    """An answer as one record a row."""
    records = np.empty(len(answer.status), dtype=kind)
    for name in kind.fields or ():
        records[name] = getattr(answer, name).cpu().numpy()
    return records


def _split(records: _Records) -> list[bytes]:
    whole, size = records.tobytes(), records.dtype.itemsize
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _tensors(
    records: Sequence[bytes | None], kind: np.dtype[Any], device: torch.device
) -> Iterator[Tensor]:
    """The fields of all records, each as a tensor, in the order of the answer's own fields."""
    whole = np.frombuffer(b"".join(filter(None, records)), dtype=kind)
    return (torch.from_numpy(whole[name].copy()).to(device) for name in kind.fields or ())
