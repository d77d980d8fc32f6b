"""Counts of the rows that a layer processed, kept without synchronising a GPU."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.solvers import Solver

_COUNTS = (
    "sat", "unsat", "unknown", "unproved", "correct", "blamed", "without_gradient",
    "contradicted", "undecided", "impossible",
)  # fmt: skip


@final
class Stats:
    """Counts of rows since the layer was made or `reset` was called.

    | count | rows |
    |---|---|
    | `sat`, `unsat`, `unknown` | by the status of the forward pass |
    | `unproved` | among `sat`: the best repair in time, perhaps not the cheapest |
    | `correct` | whose outputs were what the loss wanted, in the backward pass |
    | `blamed` | whose outputs were not, so the blame rule searched for inputs to push |
    | `without_gradient` | with an incoming gradient of zero |
    | `contradicted` | whose wanted outputs no input allows, beside the facts |
    | `undecided` | on which the solver gave up in the backward pass |
    | `impossible` | of `log_prob`, `marginals`, `sample`: no model has the outputs and facts |
    | `cache_hits` | answered from a cache in either pass, for backends that have one |
    """

    def __init__(self) -> None:
        self.cache_hits = 0
        self.solver_seconds = 0.0
        """Seconds that this process spent in the solver: on a GPU, to launch the kernels."""
        self._totals: dict[tuple[tuple[str, ...], torch.device], Tensor] = {}
        self._plain: Counter[str] = Counter()
        self._paused = False

    def reset(self) -> None:
        """Sets all counts to zero."""
        for total in self._totals.values():
            total.zero_()  # in place: a captured graph adds to this tensor
        self._plain.clear()
        self.cache_hits, self.solver_seconds = 0, 0.0

    def count(self, rows: Mapping[str, int], seconds: float) -> None:
        """Counts rows that were answered on the host in some seconds."""
        self.solver_seconds += seconds
        if not self._paused:
            self._plain.update(rows)

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
            self.solver_seconds += time.perf_counter() - start
            if solver is not None and not self._paused:
                self.cache_hits += solver.cache_hits - hits

    def __getattr__(self, name: str) -> int:
        if name not in _COUNTS:
            known = ", ".join((*_COUNTS, "cache_hits"))
            raise AttributeError(f"Stats has no count {name!r}. It has {known}.")
        totals = (int(t[k.index(name)]) for (k, _), t in self._totals.items() if name in k)
        return self._plain[name] + sum(totals)

    @property
    def rows(self) -> int:
        """Rows of all forward passes."""
        return self.sat + self.unsat + self.unknown

    def as_dict(self) -> dict[str, float]:
        """All counts and `solver_seconds` as plain numbers."""
        names = ("rows", *_COUNTS, "cache_hits", "solver_seconds")
        return {name: getattr(self, name) for name in names}

    def __getstate__(self) -> dict[str, object]:
        """The counts as plain numbers, which load on any device and in any process."""
        counts: dict[tuple[str, ...], list[int]] = {}
        for (group, _), total in self._totals.items():
            before = counts.get(group, [0] * len(group))
            counts[group] = [a + b for a, b in zip(before, total.tolist(), strict=True)]
        return self.__dict__ | {"_totals": counts, "_paused": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        host, totals = torch.device("cpu"), state["_totals"].items()
        counts = {(group, host): torch.tensor(n, device=host) for group, n in totals}
        self.__dict__.update({"_plain": Counter()} | state | {"_totals": counts})

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value:g}" for name, value in self.as_dict().items())
        return f"Stats({parts})"
