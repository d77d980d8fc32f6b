"""The main function of a worker process: it opens row solvers and answers chunks of rows."""

import contextlib
import fcntl
import os
import pickle
import select
import signal
import sys
import threading
from enum import Enum
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch

from smtlayer.errors import SolverCrashedError
from smtlayer.solvers.host.questions import Answers, Questions
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.lru import Lru
from smtlayer.solvers.workers.row_solvers import OPENED, RowSolverSpec


class Ask(NamedTuple):
    """A chunk of questions for the row solver with this key."""

    key: str
    questions: Questions


class Notice(Enum):
    """What a worker replies if it has no answers."""

    READY = "it has started, or has opened the row solver that it was sent"
    MISSING = "it has no row solver with the key of the question"


Message = Ask | RowSolverSpec
Reply = Notice | Answers | SolverCrashedError


def send(connection: "Connection[Any, Any]", message: Message | Reply) -> None:
    """Sends a message, faster than `connection.send`, which copies a table of reducers first."""
    connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def main(connection: int, lifeline: int) -> None:
    """Answers the messages on the first descriptor; exits when the second is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _die_with_parent(lifeline)
    torch.set_num_threads(1)
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has gone
        _serve(Connection(connection))
    os._exit(0)  # without destructors of solvers, some of which crash


def _serve(connection: "Connection[Reply, Message]") -> None:
    opened = Lru[str, InProcess](OPENED)
    send(connection, Notice.READY)
    while True:
        message = connection.recv()
        try:
            reply = _reply(message, opened)
        except SolverCrashedError as error:
            reply = error
        send(connection, reply)


def _reply(message: Message, opened: Lru[str, InProcess]) -> Reply:
    if isinstance(message, RowSolverSpec):
        opened[message.key] = message.open()
        return Notice.READY
    rows = opened.get(message.key)
    return Notice.MISSING if rows is None else rows.answer(message.questions)


def _die_with_parent(lifeline: int) -> None:
    """Ends this process when the parent's end of the pipe closes, however busy it is."""
    if sys.platform == "linux":  # by a signal, since a solver may hold the interpreter's lock
        own = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY)  # not the siblings'
        fcntl.fcntl(own, fcntl.F_SETFL, os.O_ASYNC)
        fcntl.fcntl(own, fcntl.F_SETOWN, os.getpid())
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(1)
    threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _watch(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written: it returns when the pipe closes
    os._exit(1)
