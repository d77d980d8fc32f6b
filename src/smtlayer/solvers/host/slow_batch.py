"""The warning about a batch that takes long, while it is being answered."""

import time
import warnings
from collections.abc import Callable
from typing import final

from smtlayer.errors import SlowBatchWarning
from smtlayer.solvers.host.questions import Kind, Questions

Report = Callable[[int, float], None]

_AFTER_S = 2.0


@final
class SlowBatches:
    """Warns of batches that take more than two seconds, once per kind of query."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._clock = name, clock
        self._warned: set[Kind] = set()

    def watch(self, questions: Questions) -> Report:
        """A function to call with the rows answered so far, and the seconds that solvers worked.

        The second number keeps the start of worker processes from being counted.
        """
        start = self._clock()

        def answered(rows: int, busy_s: float) -> None:
            if rows and questions.kind not in self._warned:
                seconds = min(busy_s, self._clock() - start)
                if seconds > _AFTER_S:
                    self._warned.add(questions.kind)
                    self._warn(questions, rows, seconds)

        return answered

    def _warn(self, questions: Questions, rows: int, seconds: float) -> None:
        total, whole_s = len(questions), seconds / rows * len(questions)
        rate = f"; at this rate the batch takes {whole_s:.0f} s" if rows < total else ""
        warnings.warn(
            f"{self._name}.{questions.kind} took {seconds:.1f} s for {rows} of {total} rows{rate}. "
            f"If the theory fits Circuit() or Table(), they answer a whole batch at once; a lower "
            f"timeout_ms limits each row, and workers share the rows. This warning is given once.",
            SlowBatchWarning,
            stacklevel=3,
        )
