"""Queries to z3 under a limit of time or counted work, safe under forks and Ctrl-C."""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import z3

from smtlayer.forks import pause, uses_z3
from smtlayer.interrupts import interruptible, stoppable
from smtlayer.solvers.base import Status

_P = ParamSpec("_P")
_T = TypeVar("_T")
MOST_WORK = 2**32 - 1  # the largest resource limit that z3 accepts
LONGEST_S = 1e6  # the longest wait, 11 days: z3 and the system count milliseconds as integers
_CLOCK_S = 0.02  # how early z3 may report that a time limit was reached
_handling: "WeakKeyDictionary[Any, bool]" = WeakKeyDictionary()  # solvers: whether of Ctrl-C


class OutOfWorkError(Exception):
    """The work limit was reached."""


class StoppedError(Exception):
    """A fork stopped z3 during a query: the solver's state and its count of work are void."""


def restarting(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorates a function that makes a z3 solver and counts its work: a fork restarts it."""

    @wraps(function)
    def restarted(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        while True:
            with suppress(StoppedError):
                return function(*args, **kwargs)

    return restarted


@interruptible
@uses_z3
def ask(solver: Any, timeout_ms: int, *assumptions: Any) -> Any:
    """z3's answer within a time limit.

    Ctrl-C stops z3 and raises the exception of its handler. A fork in another thread also stops z3;
    the query is then repeated.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    foreign = leave_ctrl_c_to_python(solver)
    while True:
        pause()
        solver.set("timeout", timeout_ms)
        answer, stopped = stoppable(solver.ctx.interrupt, lambda: solver.check(*assumptions))
        left_ms = milliseconds(deadline - time.monotonic())
        if answer in (z3.sat, z3.unsat) or left_ms <= 0:
            return answer or z3.unknown
        if not stopped:
            # z3 reports "canceled" for Ctrl-C and for the time limit alike
            early = time.monotonic() < deadline - _CLOCK_S
            if foreign and early and "cancel" in solver.reason_unknown():
                raise KeyboardInterrupt
            return answer
        timeout_ms = left_ms


def ask_counted(solver: Any, max_work: float, *assumptions: Any) -> Any:
    """z3's answer if its context has used at most `max_work` resource units by then.

    Raises:
        OutOfWorkError: If it would take more.
        StoppedError: If a fork in another thread stopped z3.
    """
    most = math.ceil(min(max_work, MOST_WORK))
    left = most - steps(solver)
    if left <= 0:
        raise OutOfWorkError
    foreign = leave_ctrl_c_to_python(solver)
    pause()
    solver.set("rlimit", left)
    answer, stopped = stoppable(solver.ctx.interrupt, lambda: solver.check(*assumptions))
    if answer in (z3.sat, z3.unsat):
        return answer
    if stopped:
        raise StoppedError
    if steps(solver) >= most:
        raise OutOfWorkError
    if foreign and "cancel" in solver.reason_unknown():  # z3 reports the same for the limit
        raise KeyboardInterrupt
    return answer


def leave_ctrl_c_to_python(solver: Any) -> bool:
    """Keeps z3 from handling SIGINT, as it loses presses, unless the thread is foreign to Python.

    The backward pass of a GPU runs in a foreign thread, while the main thread waits inside PyTorch,
    where Python cannot handle signals. Returns whether the thread is foreign.
    """
    foreign = isinstance(threading.current_thread(), threading._DummyThread)
    if _handling.get(solver) is not foreign:
        solver.set("ctrl_c", foreign)
        _handling[solver] = foreign
    return foreign


def status_of(answer: Any) -> Status:
    """z3's answer as a status."""
    if answer == z3.unknown:
        return Status.UNKNOWN
    return Status.SAT if answer == z3.sat else Status.UNSAT


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, rounded up and bounded.

    Examples:
        >>> milliseconds(1.5), milliseconds(1e-9), milliseconds(float("inf"))
        (1500, 1, 1000000000)
    """
    return math.ceil(min(seconds, LONGEST_S) * 1000)


def steps(solver: Any) -> int:
    """The resource units that z3 has used in the solver's context, the same on every machine."""
    context = solver.ctx.ref()
    found = z3.Z3_solver_get_statistics(context, solver.solver)
    z3.Z3_stats_inc_ref(context, found)
    try:
        for i in reversed(range(z3.Z3_stats_size(context, found))):
            if z3.Z3_stats_get_key(context, found, i) == "rlimit count":
                return int(z3.Z3_stats_get_uint_value(context, found, i))
    finally:
        z3.Z3_stats_dec_ref(context, found)
    return 0
