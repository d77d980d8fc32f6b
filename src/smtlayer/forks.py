"""Forks while z3 works in other threads: these pause, so that z3 is usable in the child.

A child has a copy of all locks of z3 (of its allocator, its symbols, its timers) but only one
thread: a lock that another thread held at the fork is never released there. So a fork waits until
no thread of this library is inside z3. Long calls are stopped and asked again afterwards.
"""

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar, final

from smtlayer.errors import SolverCrashedError
from smtlayer.interrupts import CALLS, stoppable

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LOOK_S = 0.001
PATIENCE_S = 10.0  # how long a fork waits


@final
class _Work:
    """What one thread does with z3."""

    def __init__(self) -> None:
        self.paused = False


# Under the interpreter's lock each step below is seen by all threads in order: a thread makes
# itself known and then looks for forks, a fork makes itself known and then looks for threads.
_working: dict[int, _Work] = {}  # by thread
_forking: dict[int, bool] = {}  # by thread, whether all others have paused
_trapped = False  # whether this process was forked while another thread was inside z3


def uses_z3(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorates a function that calls z3: forks of other threads wait for it, or it for them.

    Raises:
        SolverCrashedError: In a child whose fork could not wait any longer; z3 might hang there.
    """

    @wraps(function)
    def working(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        thread = threading.get_ident()
        if thread in _working:
            return function(*args, **kwargs)
        try:
            _working[thread] = _Work()
            pause()
            return function(*args, **kwargs)
        finally:
            _working.pop(thread, None)

    return working


def pause() -> None:
    """Waits while another thread forks; to be called by `uses_z3` functions between z3 calls."""
    if _trapped:
        raise SolverCrashedError(
            f"This process was forked while another thread was inside z3, and that thread did not "
            f"pause within {PATIENCE_S:g} s, so z3 cannot be used here. Fork earlier, or start "
            f'processes by the "spawn" method.'
        )
    thread = threading.get_ident()
    if _forking and (work := _working.get(thread)):
        while _forking.keys() - {thread}:
            work.paused = True
            while _forking.keys() - {thread}:
                time.sleep(_LOOK_S)
            work.paused = False


def finish(interrupt: Callable[[], None], ask: Callable[[], _T]) -> _T:
    """What a long z3 call returns; a fork stops it, and it is called again.

    Args:
        interrupt: Makes z3 give up the call, from any thread.
        ask: The call; it raises if z3 gives up.
    """
    while True:
        pause()
        answer, _ = stoppable(interrupt, ask)
        if answer is not None:
            return answer


def leave_behind(thing: object) -> None:
    """Keeps a solver of the parent process from ever being freed in a forked child.

    Another thread may have been changing it at the fork, so not even its destructor is safe.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


@final
class PerProcess(Generic[_T]):
    """A value that each process makes for itself, such as a solver or a lock.

    Neither survives a fork: a child makes a new value at its first `get`, and the parent's value is
    never freed there.

    Args:
        make: Makes the value; called once per process, when it is first needed.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._values: dict[int, _T] = {}  # by process

    def get(self) -> _T:
        """The value of this process."""
        process = os.getpid()
        if process not in self._values:
            for value in self._values.values():
                leave_behind(value)
            self._values.setdefault(process, self._make())  # if two threads make one, one counts
        return self._values[process]


def _before_fork() -> None:
    """Stops z3 in all other threads and waits until they pause."""
    thread = threading.get_ident()
    _forking[thread] = False
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        busy = {t for t, work in list(_working.items()) if not work.paused} - _forking.keys()
        if not busy:
            _forking[thread] = True
            return
        for other in busy:
            if (call := CALLS.get(other)) is not None:
                call.stop()
        time.sleep(_LOOK_S)


def _after_fork_in_parent() -> None:
    _forking.pop(threading.get_ident(), None)


def _after_fork_in_child() -> None:
    global _trapped
    thread = threading.get_ident()
    _trapped = _trapped or not _forking.get(thread, False)
    _forking.clear()
    for other in _working.keys() - {thread}:
        del _working[other]


if sys.platform != "win32":
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
