"""Runs untrusted requests in restricted processes that are soon discarded."""

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, final

import numpy.ma  # noqa: F401 (numpy imports it on first use, when files can no longer be opened)
import torch

from smtlayer.errors import SMTLayerError
from smtlayer_playground.errors import BusyError, PlaygroundError, TooHardError
from smtlayer_playground.limits import Limits, restrict_process

Work = Callable[[dict[str, Any], Limits], dict[str, Any]]
_START_SECONDS = 120.0  # the first process imports everything
_READY = b"ready"
# A process is kept until its requests took so long. It must be less than the processor time that a
# process has beyond the limit of one request, see `restrict_process`.
_KEPT_SECONDS = 1.0


@dataclass(eq=False)
class _Child:
    process: Any  # multiprocessing has no public type for a process of a context
    pipe: Connection
    ready: bool = False
    seconds: float = 0.0  # that its requests took
    timer: threading.Timer | None = None  # ends it if no request comes


class _ExitError(Exception):
    """A process exited before it answered."""


@final
class Sandbox:
    """Runs each request in a process that is restricted by `Limits`.

    Processes are forked from a server that has imported the library, and a spare one is always
    ready, so a request takes milliseconds. A process answers requests about one text only. It is
    kept for the next one if the caller says so, for a short time and under the same limits, and
    discarded otherwise. Requests and answers are JSON; the parent does not unpickle data from a
    restricted process.

    Args:
        work: The function that answers a request, at the top level of a module.
        warm_up: A request to answer before the limits are set, so that all modules are loaded.
        limits: The limits of a request.
    """

    def __init__(self, work: Work, warm_up: dict[str, Any], limits: Limits) -> None:
        self.limits = limits
        self._args = (work, warm_up, limits)
        kind = "spawn" if sys.platform == "win32" else "forkserver"
        self._context: Any = multiprocessing.get_context(kind)
        if kind == "forkserver":
            self._context.set_forkserver_preload([__name__, work.__module__])
        self._slots = threading.BoundedSemaphore(limits.concurrent)
        self._lock = threading.Lock()
        self._spare: _Child | None = None
        self._running: set[_Child] = set()
        self._kept: dict[str, _Child] = {}  # by text, the oldest first
        self._closed = False

    def run(self, request: dict[str, Any], keep: str | None = None) -> dict[str, Any]:
        """Answers one request.

        Args:
            request: The request.
            keep: The text of the request, if its process may answer later requests with the same
                text; None to discard it.

        Raises:
            BusyError: If `limits.concurrent` requests are running.
            TooHardError: If the request exceeds the limits on time or memory.
            PlaygroundError: If the request is invalid.
        """
        if not self._slots.acquire(blocking=False):
            raise BusyError(
                f"{self.limits.concurrent} theories are being solved already. "
                f"Try again in a few seconds."
            )
        try:
            return self._run(json.dumps(request).encode(), keep)
        finally:
            self._slots.release()

    def prepare(self) -> None:
        """Starts the spare process, if there is none."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = self._start()

    def close(self) -> None:
        """Kills all processes."""
        with self._lock:
            self._closed = True
            children = [*self._running, *([self._spare] if self._spare else [])]
            children += self._kept.values()
            self._spare, self._kept = None, {}
        for child in children:
            if child.timer is not None:
                child.timer.cancel()
            child.process.kill()

    def _run(self, request: bytes, keep: str | None) -> dict[str, Any]:
        child = self._take(keep)
        was_kept = child.ready
        try:
            answer = self._ask(child, request)
        except _ExitError as error:
            if was_kept:  # it may have used up its limits before
                return self._run(request, keep)
            raise _exit_error(child, self.limits) from error
        finally:
            self._end(child, keep)
        self.prepare()
        if "error" in answer:
            raise PlaygroundError(str(answer["error"]))
        return dict(answer["answer"])

    def _ask(self, child: _Child, request: bytes) -> dict[str, Any]:
        """The answer of a process, which is then ready for another request."""
        if not child.ready:
            self._receive(child, _START_SECONDS, len(_READY))
        child.ready, start = False, time.monotonic()
        try:
            child.pipe.send_bytes(request)
        except OSError as error:
            raise _ExitError from error
        answer = json.loads(self._receive(child, self.limits.seconds, self.limits.answer))
        child.seconds += time.monotonic() - start
        child.ready = "error" not in answer
        return dict(answer)

    def _take(self, keep: str | None) -> _Child:
        with self._lock:
            if self._closed:
                raise BusyError("The server is shutting down.")
            child = None if keep is None else self._kept.pop(keep, None)
            if child is None:
                child, self._spare = self._spare or self._start(), None
            elif child.timer is not None:
                child.timer.cancel()
            self._running.add(child)
            return child

    def _start(self) -> _Child:
        pipe, child_end = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(child_end, *self._args), daemon=True)
        process.start()
        child_end.close()
        return _Child(process, pipe)

    def _receive(self, child: _Child, seconds: float, max_bytes: int) -> bytes:
        if not child.pipe.poll(seconds):
            raise TooHardError(
                f"Solving took longer than {seconds:g} s and was stopped. "
                f"Make the theory smaller, or set more of its inputs."
            )
        try:
            return child.pipe.recv_bytes(max_bytes)
        except (EOFError, OSError) as error:
            raise _ExitError from error

    def _end(self, child: _Child, keep: str | None) -> None:
        """Keeps a process that has answered, or discards it."""
        with self._lock:
            self._running.discard(child)
            discarded = [child]
            if keep is not None and child.ready and child.seconds < _KEPT_SECONDS:
                discarded = [] if self._closed else self._keep(child, keep)
        for one in discarded:
            _discard(one)

    def _keep(self, child: _Child, text: str) -> list[_Child]:
        """Keeps a process for its text, and returns those that it replaces."""
        replaced = [self._kept.pop(text)] if text in self._kept else []
        if len(self._kept) >= self.limits.concurrent:
            replaced.append(self._kept.pop(next(iter(self._kept))))
        self._kept[text] = child
        child.timer = threading.Timer(self.limits.idle, self._expire, (child, text))
        child.timer.daemon = True
        child.timer.start()
        return replaced

    def _expire(self, child: _Child, text: str) -> None:
        with self._lock:
            if self._kept.get(text) is not child:
                return
            del self._kept[text]
        _discard(child)


def _discard(child: _Child) -> None:
    if child.timer is not None:
        child.timer.cancel()
    child.process.kill()
    child.process.join()
    child.pipe.close()


def _exit_error(child: _Child, limits: Limits) -> PlaygroundError:
    """The reason why a process exited without an answer."""
    child.process.join(1)
    if child.process.exitcode == -getattr(signal, "SIGXCPU", 0):
        return TooHardError("Solving took too much processor time and was stopped.")
    return TooHardError(
        f"The solving process exited early. The theory may need more than {limits.memory_mb} MB of "
        f"memory, or be nested too deeply. Make it smaller."
    )


def _serve(pipe: Connection, work: Work, warm_up: dict[str, Any], limits: Limits) -> None:
    """Runs in the child process: warms up, sets the limits, and answers requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills this process
    os.environ["SMTLAYER_CACHE"] = "off"  # no pasted text is written to disk
    torch.set_num_threads(1)
    with suppress(OSError):
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
    work(warm_up, limits)
    restrict_process(limits)
    with suppress(EOFError, BrokenPipeError):  # the parent has exited
        pipe.send_bytes(_READY)
        while True:  # until the parent kills this process
            pipe.send_bytes(_reply(work, json.loads(pipe.recv_bytes()), limits))


def _reply(work: Work, request: dict[str, Any], limits: Limits) -> bytes:
    start = time.perf_counter()
    try:
        answer = work(request, limits)
        reply = json.dumps({"answer": answer | {"ms": 1000 * (time.perf_counter() - start)}})
    except MemoryError:
        reply = _error(f"Solving needs more than {limits.memory_mb} MB of memory.")
    except RecursionError:
        reply = _error("The formula is nested too deeply. Split it into several.")
    except (SMTLayerError, PlaygroundError) as error:
        reply = _error(str(error))
    except Exception as error:  # a hostile formula may cause any error
        reply = _error(f"{type(error).__name__}: {error}")
    if len(reply) > limits.answer:
        reply = _error(f"The answer is longer than {limits.answer:,} bytes. Name fewer outputs.")
    return reply.encode()


def _error(text: str) -> str:
    return json.dumps({"error": text[:2000]})
