"""Counts of the rows that a layer processed, kept without synchronising a GPU."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.solvers import Solver

_COUNTS = (
    "sat", "unsat", "unknown", "unproved", "correct", "blamed", "without_gradient",
    "contradicted", "undecided", "cache_hits",
)  # fmt: skip


@final
class Stats:
    """Counts of rows since the layer was made or `reset` was called.

    | count | rows |
    |---|---|
    | `sat`, `unsat`, `unknown` | by the status of the forward pass |
    | `unproved` | among `sat`: the best repair in time, perhaps not the cheapest |
    | `correct` | whose outputs were what the loss wanted, in the backward pass |
    | `blamed` | whose outputs were not, so that the blame rule looked for inputs to push |
    | `without_gradient` | with an incoming gradient of zero |
    | `contradicted` | whose wanted outputs no input allows |
    | `undecided` | on which the solver gave up in the backward pass |
    | `cache_hits` | answered from a cache in either pass, for backends that have one |

    `solver_seconds` is the time that this process spends in the solver: on a GPU, the time to
    launch the kernels.
    """

    def __init__(self) -> None:
        self._totals: dict[tuple[tuple[str, ...], torch.device], Tensor] = {}
        self._seconds = 0.0
        self._hits = 0
        self._paused = False

    def reset(self) -> None:
        """Sets all counts to zero."""
        for total in self._totals.values():
            total.zero_()  # in place: a captured graph adds to this tensor
        self._seconds = 0.0
        self._hits = 0

    def add(self, masks: Mapping[str, Tensor]) -> None:
        """Counts the true entries of each mask, on their device until the counts are read."""
        counts = torch.stack(list(masks.values())).sum(-1)
        key = (tuple(masks), counts.device)
        if key not in self._totals:
            with torch.inference_mode(False):  # else training could not add to it
                self._totals[key] = torch.zeros(len(masks), dtype=torch.int64, device=counts.device)
        if not self._paused:
            self._totals[key].add_(counts)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Counts nothing inside the block."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    @contextmanager
    def clock(self, solver: Solver | None = None) -> Iterator[None]:
        """Adds the time of the block to `solver_seconds`, and the solver's cache hits in it."""
        start, hits = time.perf_counter(), 0 if solver is None else solver.cache_hits
        try:
            yield
        finally:
            self._seconds += time.perf_counter() - start
            if solver is not None and not self._paused:
                self._hits += solver.cache_hits - hits

    @property
    def solver_seconds(self) -> float:
        """Seconds spent in the solver."""
        return self._seconds

    def __getattr__(self, name: str) -> int:
        if name not in _COUNTS:
            raise AttributeError(f"Stats has no count {name!r}. It has {', '.join(_COUNTS)}.")
        return self._count(name)

    @property
    def rows(self) -> int:
        """Rows of all forward passes."""
        return self._count("sat") + self._count("unsat") + self._count("unknown")

    def _count(self, name: str) -> int:
        if name == "cache_hits":
            return self._hits
        found = [t[k.index(name)] for (k, _), t in self._totals.items() if name in k]
        return int(sum(int(value) for value in found))

    def as_dict(self) -> dict[str, float]:
        """All counts and `solver_seconds` as plain numbers."""
        counts: dict[str, float] = {"rows": self.rows}
        counts |= {name: self._count(name) for name in _COUNTS}
        return counts | {"solver_seconds": self._seconds}

    def __getstate__(self) -> dict[str, object]:
        """The counts as plain numbers, which load on any device and in any process."""
        names = {names for names, _ in self._totals}
        counts = {group: [self._count(name) for name in group] for group in names}
        return {"counts": counts, "seconds": self._seconds, "hits": self._hits}

    def __setstate__(self, state: dict[str, Any]) -> None:
        host = torch.device("cpu")
        counts = {
            (group, host): torch.tensor(n, device=host) for group, n in state["counts"].items()
        }
        seconds, hits = state["seconds"], state["hits"]
        self.__dict__.update(_totals=counts, _seconds=seconds, _hits=hits, _paused=False)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value:g}" for name, value in self.as_dict().items())
        return f"Stats({parts})"
