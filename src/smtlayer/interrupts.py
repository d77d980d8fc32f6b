"""Ctrl-C while the library works: it stops the z3 call in progress and is never lost.

Python runs a signal's handler in the main thread, between two instructions. That leaves two gaps:
no handler runs while z3 works, and an exception that a handler raises inside a `__del__` (z3's
terms have one) is printed and dropped. `interruptible` closes both for the time of a call. A thread
that the signal wakes stops z3, so that the handler can run; and an exception of the handler that
was dropped is raised again. The handler is the user's, and need not raise anything.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar, final

import z3
from pysat._utils import MainThread

_P = ParamSpec("_P")
_T = TypeVar("_T")
_AGAIN_S = 0.01  # z3 ignores an interrupt that comes before it has begun


@final
class Call:
    """A z3 call in progress, which other threads may stop."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._over = False
        self.stopped = False

    def stop(self) -> None:
        """Makes z3 give up soon, unless the call is over: else it would stop the next call."""
        with self._lock:
            if not self._over:
                self.stopped = True
                with contextlib.suppress(z3.Z3Exception):  # an error of the call, seen from here
                    self._interrupt()

    def end(self) -> None:
        """Notes that the call is over."""
        with self._lock:
            self._over = True


CALLS: dict[int, Call] = {}  # by thread


def stoppable(interrupt: Callable[[], None], ask: Callable[[], _T]) -> tuple[_T | None, bool]:
    """The result of a z3 call, and whether Ctrl-C or a fork stopped it.

    Of a call that was stopped nothing is returned, not even an answer that z3 found just then: a
    context that was interrupted may refuse all but the next question.

    Args:
        interrupt: Makes z3 give up the call, from any thread: the interrupt of its context. That of
            a solver may come too early, and then z3 stops neither for it nor for a time limit.
        ask: The call.

    Raises:
        BaseException: What the handler of a press raises.
    """
    thread, call = threading.get_ident(), Call(interrupt)
    CALLS[thread] = call
    try:
        raise_pressed()
        answer = ask()
    except z3.Z3Exception:
        if not call.stopped:
            raise
        answer = None
    finally:
        CALLS.pop(thread, None)
        call.end()
    raise_pressed()
    return None if call.stopped else answer, call.stopped


def interruptible(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorates a function that Ctrl-C ends by the exception that its handler raises.

    Other threads, calls inside such a call, and processes that ignore SIGINT or leave it to the
    system just call the function.
    """

    @wraps(function)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        guard = guard_presses()
        try:
            guard.held = False
            return function(*args, **kwargs)
        finally:
            guard.held = True
            guard.leave()

    return guarded


def guard_presses() -> "Guard":
    """The guard of an interruptible call, for functions that `interruptible` cannot decorate.

    It holds presses back until `held` is False. Python runs no handler between the statements of
    this pattern, so that a press is neither lost nor leaves the guard in place:

        guard = guard_presses()
        try:
            guard.held = False
            ...
        finally:
            guard.held = True
            guard.leave()
    """
    if _guard is not None or threading.current_thread() is not threading.main_thread():
        return _IDLE
    handler = signal.getsignal(signal.SIGINT)
    return Guard(handler) if callable(handler) else _IDLE  # or ignored, or not set from Python


def raise_pressed() -> None:
    """Raises the exception of an earlier handler, if it was dropped."""
    main = threading.current_thread() is threading.main_thread()
    if main and _guard is not None and _guard.raised is not None:
        raise _guard.raised


@final
class Guard:
    """Takes over from the user's handler of Ctrl-C during an interruptible call, unless `idle`."""

    def __init__(
        self, handler: Callable[[int, FrameType | None], Any], *, idle: bool = False
    ) -> None:
        global _guard, _watch
        self.held = True  # whether presses wait
        self._handler = handler
        self._waiting = 0
        self.raised: BaseException | None = None  # by the handler; raised again if it was dropped
        self._unraisable = sys.unraisablehook
        self._in_main_thread = vars(MainThread)["check"]
        if idle:
            return
        try:
            _watch = _watch or _Watch()
            signal.signal(signal.SIGINT, self._note)
        except (OSError, RuntimeError, ValueError):
            return  # no more files or threads; or an interpreter in another one, without signals
        _guard = self
        self._wakeup = _watch.attach()
        sys.unraisablehook = self._report
        # In the main thread PySAT takes SIGINT over, and raises another error.
        MainThread.check = staticmethod(bool)  # which returns False

    def leave(self) -> None:
        """Restores the user's handler, and runs it for presses that waited."""
        failure = sys.exc_info()[1]
        if self.raised is not None and failure is not None:
            traceback.clear_frames(failure.__traceback__)  # frees what z3 left half-built
        self.restore()
        error, self.raised = self.raised, None
        while self._waiting:
            self._waiting -= 1
            self._handler(signal.SIGINT, None)
        if error is not None and sys.exc_info()[1] is not error:
            raise error

    def restore(self) -> None:
        """Restores everything that other code has not changed since."""
        global _guard
        if _guard is not self:
            return
        MainThread.check = self._in_main_thread
        if sys.unraisablehook == self._report:
            sys.unraisablehook = self._unraisable
        with contextlib.suppress(ValueError, OSError):  # that descriptor has been closed since
            signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        if _watch is not None:
            _watch.receive(last=True)
        _guard = None
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self._handler)  # last: from here on it may raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.held:
            self._waiting += 1
            return
        try:
            self._handler(number, frame)
        except BaseException as error:
            self.raised = error
            raise

    def _report(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Hides errors of destructors that an exception which is raised again has caused."""
        of_z3 = getattr(unraisable.object, "__module__", None) == z3.AstRef.__module__
        if self.raised is None or not (of_z3 or unraisable.exc_value is self.raised):
            self._unraisable(unraisable)


@final
class _Watch:
    """A thread that signals wake, so that it can stop the z3 call of the main thread."""

    def __init__(self) -> None:
        self._inbox, self._outbox = socket.socketpair()
        self._inbox.setblocking(False)
        self._outbox.setblocking(False)
        self._lock = threading.Lock()
        self._forward_to = -1  # the descriptor that signals wake otherwise
        self._thread = threading.Thread(target=self._run, name="smtlayer-ctrl-c", daemon=True)
        self._thread.start()

    def attach(self) -> int:
        """Has signals wake the thread; returns the descriptor that they woke before, or -1."""
        with self._lock:
            outbox = self._outbox.fileno()
            self._forward_to = signal.set_wakeup_fd(outbox, warn_on_full_buffer=False)
            return self._forward_to

    def close(self, *, join: bool) -> None:
        """Ends the thread, which a forked child does not have."""
        self._outbox.close()  # its end of the line reads as closed
        if join:
            self._thread.join()
        self._inbox.close()

    def _run(self) -> None:
        main = threading.main_thread().ident
        while True:
            select.select([self._inbox], [], [])
            call = CALLS.get(main or 0)
            received = self.receive()
            if received is None:
                return
            if signal.SIGINT in received:
                # Another call there means that Python has run the handler in between.
                while call is not None and CALLS.get(main or 0) is call:
                    call.stop()
                    time.sleep(_AGAIN_S)

    def receive(self, last: bool = False) -> bytes | None:
        """The numbers of signals that came; None at the end.

        They are also written to the descriptor that signals woke before; not any more after the
        `last` call.
        """
        with self._lock:
            descriptor = self._forward_to
            if last:
                self._forward_to = -1
            try:
                received = self._inbox.recv(4096)
            except BlockingIOError:
                return b""
            if descriptor != -1 and received:
                with contextlib.suppress(OSError):
                    os.write(descriptor, received)
            return received or None


_guard: Guard | None = None
_IDLE = Guard(signal.default_int_handler, idle=True)
_watch: _Watch | None = None


def _before_fork() -> None:
    """Ends an idle thread, so that a process without other threads may fork without a warning."""
    global _watch
    main = threading.current_thread() is threading.main_thread()  # else a guard might begin now
    if _watch is not None and _guard is None and main:
        _watch.close(join=True)
        _watch = None


def _after_fork_in_child() -> None:
    """Restores the handlers in a child, whose main thread may be another."""
    global _watch
    CALLS.clear()
    watch, _watch = _watch, None  # another thread may hold its lock
    if _guard is not None:
        _guard.restore()
    if watch is not None:
        watch.close(join=False)


if sys.platform != "win32":
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
