"""A line that shows what a command is working on, if that takes long."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, final

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
        self._what = what
        self._console = console or Console(stderr=True)
        self._delay = delay
        self._make_timer = timer
        self._timer: Any = None
        self._lock = threading.Lock()
        self._over = False
        self._counted: tuple[int, int] | None = None
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        if self._delay <= 0:
            self._show()
            return self
        self._timer = self._make_timer(self._delay, self._show)
        self._timer.daemon = True  # a command that ends need not wait for it
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown[0].stop()

    def update(self, what: str) -> None:
        """Replaces the description, and resets the count."""
        with self._lock:
            self._what, self._counted = what, None
            self._refresh()

    def count(self, done: int, total: int) -> None:
        """Shows how much of the work is done."""
        with self._lock:
            self._counted = done, total
            self._refresh()

    def _refresh(self) -> None:
        if self._shown is None:
            return
        progress, task = self._shown
        done, total = self._counted or (0, None)
        counted = "" if total is None else f"{done:,} of {total:,}"
        progress.update(
            task, description=self._what, completed=done, total=total, counted=counted,
            visible=True,
        )  # fmt: skip

    def _show(self) -> None:
        with self._lock:
            if self._over:
                return
            if not self._console.is_terminal:
                self._console.print(
                    f"{self._what} ...", highlight=False, markup=False, soft_wrap=True
                )
                return
            self._shown = self._line()
            self._refresh()
            self._shown[0].start()

    def _line(self) -> "tuple[Progress, TaskID]":
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(), TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[counted]}"), TimeElapsedColumn(),
        )  # fmt: skip
        progress = Progress(*columns, console=self._console, transient=True)
        return progress, progress.add_task(self._what, total=None, counted="")
