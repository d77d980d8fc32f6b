"""Measured costs of rows and of the pool, by which to choose between pool and this process."""

import math
from typing import final

from smtlayer.solvers.host.questions import Kind

_CHUNK_S = 0.002  # work per chunk: much more than sending it costs, yet small enough to share
_LEAST_S = 0.0003  # work below which waking another worker does not pay
_QUICK_S = 0.005  # time per row below which waiting for the next chunk matters
_NEWS = 0.2  # weight of the last measurement
_FADE = 0.98  # per use; so that an overhead measured on a busy machine is measured again


@final
class CostModel:
    """Running averages over the batches of one solver."""

    def __init__(self) -> None:
        self.dangerous = False  # whether a worker was lost: then rows never run in this process
        self._row_s: dict[Kind, float] = {}
        self._overhead_s: float | None = None

    def saw_rows(self, kind: Kind, rows: int, seconds: float) -> None:
        """Records the cost of rows of a kind."""
        self._row_s[kind] = _mixed(self._row_s.get(kind), seconds / rows)

    def saw_batch(self, wall_s: float, busy_s: float, workers: int) -> None:
        """Records the cost of a batch beyond its evenly shared work."""
        self._overhead_s = _mixed(self._overhead_s, max(0.0, wall_s - busy_s / workers))

    def prefers_local(self, kind: Kind, rows: int, workers: int) -> bool:
        """Whether a batch is answered sooner without the pool."""
        if self.dangerous or self._overhead_s is None or kind not in self._row_s:
            return False
        work_s = rows * self._row_s[kind]
        local = work_s <= self._overhead_s + work_s / workers
        if local:
            self._overhead_s *= _FADE
        return local

    def quick(self, kind: Kind) -> bool:
        """Whether rows are so short that a worker should get the next chunk early."""
        return self._row_s.get(kind, _QUICK_S) < _QUICK_S

    def knows(self, kind: Kind) -> bool:
        """Whether rows of a kind have been timed."""
        return kind in self._row_s

    def share(self, kind: Kind, rows: int, workers: int) -> int:
        """The largest chunk of a batch with which workers finish at about the same time.

        A worker gets little work in one chunk, and much work in two or more, in case one chunk has
        all the hard rows.
        """
        row_s = max(self._row_s.get(kind, _CHUNK_S), 1e-9)
        fair = math.ceil(rows / workers)
        if fair * row_s < _CHUNK_S:
            return max(fair, math.ceil(_LEAST_S / row_s))
        return rows // (2 * workers)

    def chunk(self, kind: Kind, most: int) -> int:
        """Number of rows per chunk, at most `most`; 1 until their cost is known."""
        row_s = self._row_s.get(kind)
        if row_s is None:
            return 1
        return max(1, min(most, int(_CHUNK_S / max(row_s, 1e-9))))


def _mixed(mean: float | None, value: float) -> float:
    return value if mean is None else mean + _NEWS * (value - mean)
