"""This file asks questions in processes of their own, which are bounded and thrown away."""

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

import numpy.ma  # noqa: F401 (numpy loads it when first needed, and then no file can be opened)
import torch

from smtlayer.errors import SMTLayerError
from smtlayer_playground.errors import BusyError, PlaygroundError, TooHardError
from smtlayer_playground.limits import Limits, shut_in

Work = Callable[[dict[str, Any], Limits], dict[str, Any]]
_START_SECONDS = 120.0  # the first process imports everything
_READY = b"ready"


@dataclass(frozen=True, eq=False)
class _Child:
    process: Any  # multiprocessing has no public type for a process of a context
    pipe: Connection


@final
class Sandbox:
    """Answers each question in a new process that is bounded by `Limits` and then ends.

    Processes are forked from a server that has imported the library already, and one always stands
    ready, so that a question costs milliseconds. Questions and answers are JSON: nothing that comes
    out of a process is unpickled.

    Args:
        work: Answers a question in the process: a function at the top level of a module.
        rehearsal: A question to answer before the limits are set, so that all is loaded.
        limits: What a question may take.
    """

    def __init__(self, work: Work, rehearsal: dict[str, Any], limits: Limits) -> None:
        self.limits = limits
        self._task = (work, rehearsal, limits)
        kind = "spawn" if sys.platform == "win32" else "forkserver"
        self._context: Any = multiprocessing.get_context(kind)
        if kind == "forkserver":
            self._context.set_forkserver_preload([__name__, work.__module__])
        self._places = threading.BoundedSemaphore(limits.at_once)
        self._lock = threading.Lock()
        self._spare: _Child | None = None
        self._running: set[_Child] = set()
        self._closed = False

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to one question.

        Raises:
            BusyError: If as many questions as may be are being worked on.
            TooHardError: If it took more time or memory than it may.
            PlaygroundError: If there is something wrong with the question.
        """
        if not self._places.acquire(blocking=False):
            raise BusyError(
                f"{self.limits.at_once} formulas are being worked on already. "
                f"Try again in a few seconds."
            )
        try:
            return self._ask(json.dumps(question).encode())
        finally:
            self._places.release()

    def prepare(self) -> None:
        """Starts a process that stands ready, if none does."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = self._start()

    def close(self) -> None:
        """Ends all processes at once."""
        with self._lock:
            self._closed = True
            children = [*self._running, *([self._spare] if self._spare else [])]
            self._spare = None
        for child in children:
            child.process.kill()

    def _ask(self, question: bytes) -> dict[str, Any]:
        child = self._take()
        try:
            self._receive(child, _START_SECONDS, len(_READY))
            child.pipe.send_bytes(question)
            answer = json.loads(self._receive(child, self.limits.seconds, self.limits.answer))
        except BrokenPipeError as error:
            raise _ended(child, self.limits) from error
        finally:
            self._end(child)
        self.prepare()
        if "error" in answer:
            raise PlaygroundError(str(answer["error"]))
        return dict(answer["answer"])

    def _take(self) -> _Child:
        with self._lock:
            if self._closed:
                raise BusyError("The server is ending.")
            child, self._spare = self._spare or self._start(), None
            self._running.add(child)
            return child

    def _start(self) -> _Child:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_child, args=(theirs, *self._task), daemon=True)
        process.start()
        theirs.close()
        return _Child(process, ours)

    def _receive(self, child: _Child, seconds: float, most: int) -> bytes:
        if not child.pipe.poll(seconds):
            raise TooHardError(
                f"The question took longer than {seconds:g} s and was ended. "
                f"Make the theory smaller, or set more of its inputs."
            )
        try:
            return child.pipe.recv_bytes(most)
        except (EOFError, OSError) as error:
            raise _ended(child, self.limits) from error

    def _end(self, child: _Child) -> None:
        child.process.kill()
        child.process.join()
        child.pipe.close()
        with self._lock:
            self._running.discard(child)


def _ended(child: _Child, limits: Limits) -> PlaygroundError:
    """Why a process ended without an answer."""
    child.process.join(1)
    if child.process.exitcode == -getattr(signal, "SIGXCPU", 0):
        return TooHardError("The question took too much time of the processor and was ended.")
    return TooHardError(
        f"The process that worked on it ended early. It may have needed more than "
        f"{limits.memory_mb} MB of memory, or nests too deep. Make the theory smaller."
    )


def _child(pipe: Connection, work: Work, rehearsal: dict[str, Any], limits: Limits) -> None:
    """The life of a process: gets ready, is shut in, answers one question."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    os.environ["SMTLAYER_CACHE"] = "off"  # nothing pasted is kept on disk
    torch.set_num_threads(1)
    with suppress(OSError):
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
    work(rehearsal, limits)
    shut_in(limits)
    with suppress(EOFError, BrokenPipeError):  # nobody asks any more
        pipe.send_bytes(_READY)
        question = json.loads(pipe.recv_bytes())
        pipe.send_bytes(_answered(work, question, limits))


def _answered(work: Work, question: dict[str, Any], limits: Limits) -> bytes:
    start = time.perf_counter()
    try:
        answer = work(question, limits)
        told = json.dumps({"answer": answer | {"ms": 1000 * (time.perf_counter() - start)}})
    except MemoryError:
        told = _error(f"The question needs more than {limits.memory_mb} MB of memory.")
    except RecursionError:
        told = _error("The formula nests too deep. Split it into several.")
    except (SMTLayerError, PlaygroundError) as error:
        told = _error(str(error))
    except Exception as error:  # whatever a hostile formula brings about is told, not raised
        told = _error(f"{type(error).__name__}: {error}")
    if len(told) > limits.answer:
        told = _error(f"The answer is longer than {limits.answer:,} bytes. Name fewer outputs.")
    return told.encode()


def _error(text: str) -> str:
    return json.dumps({"error": text[:2000]})
