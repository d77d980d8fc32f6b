"""The warning about a batch that takes long, while it is being answered."""

import time
import warnings
from collections.abc import Callable
from typing import ClassVar, final

from smtlayer.errors import SlowBatchWarning
from smtlayer.solvers.host.questions import Kind, Questions

Report = Callable[[int, float], None]


@final
class SlowBatches:
    """Warns of batches that take more than two seconds, once per kind of query."""

    after_s: ClassVar[float] = 2.0

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self.clock = name, clock
        self._warned: set[Kind] = set()

    def watch(self, questions: Questions) -> Report:
        """A function to call with the rows answered so far, and the seconds that solvers worked.

        The second number keeps the start of worker processes from being counted.
        """
        start = self.clock()

        def answered(rows: int, busy_s: float) -> None:
            seconds = min(busy_s, self.clock() - start)
            if rows and seconds > self.after_s:
                self.warn(questions, rows, seconds)

        return answered

    def warn(self, questions: Questions, rows: int, seconds: float) -> None:
        """Warns that some rows of a batch took long, unless it has warned of this kind before."""
        if questions.kind in self._warned:
            return
        self._warned.add(questions.kind)
        total, whole_s = len(questions), seconds / rows * len(questions)
        rate = f"; at this rate the batch takes {whole_s:.0f} s" if rows < total else ""
        warnings.warn(
            f"{self._name}.{questions.kind} took {seconds:.1f} s for {rows} of {total} rows{rate}. "
            f"If the theory fits Circuit() or Table(), they answer a whole batch at once; a lower "
            f"timeout_ms limits each row, and workers share the rows. This warning is given once.",
            SlowBatchWarning,
            stacklevel=3,
        )
