"""A worker process, as its parent sees it."""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from typing import Literal, final

from smtlayer.solvers.workers.worker import Message, Reply

State = Literal["starting", "idle", "opening", "asked"]
# An idle machine starts a worker in a few seconds; a busy one may take much longer.
START_S = 120
_BOOT = (
    "import sys; sys.path[:] = {}; from smtlayer.solvers.workers.worker import main; main({}, {})"
)


@final
class WorkerProcess:
    """A process, its state, and the deadline of its task.

    A plain subprocess, because multiprocessing would run the user's script again, and refuses to
    start processes inside the workers of a data loader.
    """

    def __init__(self, lifeline: int) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            # A process that is stopped must not block this one.
            for side in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                ours.setsockopt(socket.SOL_SOCKET, side, struct.pack("ll", START_S, 0))
            path = [str(folder) for folder in sys.path]
            self._process = _without_ctrl_c(
                [sys.executable, "-c", _BOOT.format(path, theirs.fileno(), lifeline)],
                (theirs.fileno(), lifeline),
            )
            self.connection: Connection[Message, Reply] = Connection(ours.detach())
        self.rows = range(0)  # that it answers now
        self.ahead = range(0)  # that it answers next; sent early, so that it need not wait
        self.knows = ""  # the key of the row solver that answered last
        self.idle()
        self.expect("starting", START_S)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process; negative for the signal that ended it."""
        return self._process.returncode

    def idle(self) -> None:
        """Notes that it has nothing to do."""
        self.state: State = "idle"
        self.deadline, self.rows, self.ahead = float("inf"), range(0), range(0)

    def expect(self, state: State, seconds: float) -> None:
        """Notes what it is doing, and how long that may take."""
        self.state, self.deadline = state, time.monotonic() + seconds

    def kill(self) -> None:
        """Ends the process and frees its resources."""
        self._process.kill()
        self._process.wait()
        self.connection.close()

    def disown(self) -> None:
        """Closes the copies of handles in a forked child, and leaves the process to the parent."""
        self._process.returncode = 0  # else it would be reported as still running
        self.connection.close()


def _without_ctrl_c(command: list[str], descriptors: tuple[int, ...]) -> "subprocess.Popen[bytes]":
    """Starts a process that Ctrl-C in the terminal does not reach, not even while it starts.

    The process inherits that SIGINT is blocked. In this process a press waits meanwhile.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        return subprocess.Popen(
            command,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
