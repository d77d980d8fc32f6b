"""This file measures how long rows take and what a pool costs on top, to choose between them."""

import math
from typing import final

from smtlayer.solvers.host.questions import Kind

_CHUNK_S = 0.002  # work enough that handing it out hardly counts, little enough to share evenly
_LEAST_S = 0.0003  # less than this is not worth waking another worker for
_QUICK_S = 0.005  # rows short enough that waiting for the next ones counts
_NEWS = 0.2  # how much the last measurement counts
_FADE = 0.98  # an overhead that was measured once on a bad day is measured again some day


@final
class CostModel:
    """Running averages over the batches of one solver."""

    def __init__(self) -> None:
        self.dangerous = False  # a worker was lost: never again in the user's own process
        self._row_s: dict[Kind, float] = {}
        self._overhead_s: float | None = None

    def saw_rows(self, kind: Kind, rows: int, seconds: float) -> None:
        """Learns what rows of a kind cost."""
        self._row_s[kind] = _mixed(self._row_s.get(kind), seconds / rows)

    def saw_batch(self, wall_s: float, busy_s: float, workers: int) -> None:
        """Learns what a batch cost beyond the work, had the work been shared evenly."""
        self._overhead_s = _mixed(self._overhead_s, max(0.0, wall_s - busy_s / workers))

    def prefers_local(self, kind: Kind, rows: int, workers: int) -> bool:
        """Whether a batch is answered sooner without the pool."""
        if self.dangerous or self._overhead_s is None or kind not in self._row_s:
            return False
        work_s = rows * self._row_s[kind]
        here = work_s <= self._overhead_s + work_s / workers
        if here:
            self._overhead_s *= _FADE
        return here

    def quick(self, kind: Kind) -> bool:
        """Whether rows are so short that a worker should have the next ones at hand."""
        return self._row_s.get(kind, _QUICK_S) < _QUICK_S

    def knows(self, kind: Kind) -> bool:
        """Whether rows of a kind were ever timed."""
        return kind in self._row_s

    def share(self, kind: Kind, rows: int, workers: int) -> int:
        """The most rows of a batch to hand out at once, so that workers are done at about one time.

        Little work is handed out in one go, much in two or more, lest one worker gets all the hard
        rows.
        """
        row_s = max(self._row_s.get(kind, _CHUNK_S), 1e-9)
        fair = math.ceil(rows / workers)
        if fair * row_s < _CHUNK_S:
            return max(fair, math.ceil(_LEAST_S / row_s))
        return rows // (2 * workers)

    def chunk(self, kind: Kind, most: int) -> int:
        """How many rows to hand out at once; one at a time until it is known what they cost."""
        row_s = self._row_s.get(kind)
        if row_s is None:
            return 1
        return max(1, min(most, int(_CHUNK_S / max(row_s, 1e-9))))


def _mixed(mean: float | None, value: float) -> float:
    return value if mean is None else mean + _NEWS * (value - mean)
