"""A line that shows what a command is working on, if that takes long."""

import threading
from collections.abc import Callable
from typing import Any, Self, final

from rich.console import Console

_DELAY_SECONDS = 2.0


@final
class Waiting:
    """A context that shows its work after two seconds: a moving line, or one line in a log.

    Args:
        what: Description of the work, as "evaluating runs/demo/best".
        console: Where to show it; by default stderr.
        delay: Seconds until it is shown.
        timer: Calls a function after some seconds, as `threading.Timer` does.

    Examples:
        >>> import sys
        >>> with Waiting("reading records", Console(file=sys.stdout), delay=0) as waiting:
        ...     waiting.count(1, 2)
        reading records ...
    """

    def __init__(
        self,
        what: str,
        console: Console | None = None,
        *,
        delay: float = _DELAY_SECONDS,
        timer: Callable[[float, Callable[[], None]], Any] = threading.Timer,
    ) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(), TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[counted]}"), TimeElapsedColumn(),
        )  # fmt: skip
        self._progress = Progress(*columns, console=console or Console(stderr=True), transient=True)
        self._task = self._progress.add_task(what, total=None, counted="")
        self._delay, self._timer = delay, timer(delay, self._show)
        self._timer.daemon = True  # a command that ends need not wait for it
        self._lock, self._over, self._started = threading.Lock(), False, False

    def __enter__(self) -> Self:
        if self._delay > 0:
            self._timer.start()
        else:
            self._show()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._started:
                self._progress.stop()

    def update(self, what: str) -> None:
        """Replaces the description, and resets the count."""
        self._progress.update(self._task, description=what, counted="")

    def count(self, done: int, total: int) -> None:
        """Shows how much of the work is done."""
        self._progress.update(self._task, counted=f"{done:,} of {total:,}")

    def _show(self) -> None:
        console = self._progress.console
        with self._lock:
            if not self._over and console.is_terminal:
                self._started = True
                self._progress.start()
            elif not self._over:
                what = self._progress.tasks[0].description
                console.print(f"{what} ...", highlight=False, markup=False, soft_wrap=True)
