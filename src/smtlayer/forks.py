"""Safe forks while other threads are inside z3, so that z3 can be used in the child.

A child has a copy of all locks of z3 (of its allocator, its symbols, its timers) but only one
thread: a lock that another thread held at the fork is never released there. So a fork waits until
no thread of this library is inside z3. Long calls are interrupted and repeated after the fork.
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
_POLL_S = 0.001
PATIENCE_S = 10.0  # longest time that a fork waits


# With the interpreter's lock all threads see each step below in order: a thread registers and then
# checks for forks, a fork registers and then checks for threads.
_working: dict[int, bool] = {}  # by thread that uses z3: whether it has paused
_forking: dict[int, bool] = {}  # by thread: whether all others have paused
_trapped = False  # whether this process was forked while another thread was inside z3


def uses_z3(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorates a function that calls z3: it and the forks of other threads wait for each other.

    Raises:
        SolverCrashedError: In a child whose fork waited in vain; z3 might hang there.
    """

    @wraps(function)
    def working(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        thread = threading.get_ident()
        if thread in _working:
            return function(*args, **kwargs)
        try:
            _working[thread] = False
            pause()
            return function(*args, **kwargs)
        finally:
            _working.pop(thread, None)

    return working


def pause() -> None:
    """Waits while another thread forks; `uses_z3` functions call it between calls of z3."""
    if _trapped:
        raise SolverCrashedError(
            f"This process was forked while another thread was inside z3, and that thread did not "
            f"pause within {PATIENCE_S:g} s, so z3 cannot be used here. Fork earlier, or start "
            f'processes by the "spawn" method.'
        )
    thread = threading.get_ident()
    if _forking and thread in _working:
        while _forking.keys() - {thread}:
            _working[thread] = True
            while _forking.keys() - {thread}:
                time.sleep(_POLL_S)
            _working[thread] = False


def finish(interrupt: Callable[[], None], ask: Callable[[], _T]) -> _T:
    """The result of a long z3 call, which is repeated if a fork interrupts it; see `stoppable`."""
    while True:
        pause()
        answer, _ = stoppable(interrupt, ask)
        if answer is not None:
            return answer


def leave_behind(thing: object) -> None:
    """Keeps an object of the parent process from ever being freed in a forked child.

    Another thread may have been changing it at the fork, so even its destructor is not safe.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


@final
class PerProcess(Generic[_T]):
    """A value that does not survive a fork, such as a solver or a lock: each process makes its own.

    A child makes a new value at its first `get`, and never frees that of its parent.

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
    """Interrupts z3 in all other threads and waits until they pause."""
    thread = threading.get_ident()
    _forking[thread] = False
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        busy = {t for t, paused in list(_working.items()) if not paused} - _forking.keys()
        if not busy:
            _forking[thread] = True
            return
        for other in busy:
            if (call := CALLS.get(other)) is not None:
                call.stop()
        time.sleep(_POLL_S)


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
