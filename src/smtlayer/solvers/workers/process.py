"""This file holds one worker process, as its parent sees it."""

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

Stage = Literal["starting", "idle", "opening", "asked"]
# An idle machine starts a worker in a few seconds; a busy one must not be taken for a broken one.
START_S = 120
_BOOT = (
    "import sys; sys.path[:] = {}; from smtlayer.solvers.workers.worker import main; main({}, {})"
)


@final
class WorkerProcess:
    """A process of its own, what it is at, and when it should be done.

    A plain subprocess: multiprocessing would run the user's script again, and refuses to start
    processes inside the workers of a data loader.
    """

    def __init__(self, lifeline: int) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for side in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):  # a stopped process is no trap
                ours.setsockopt(socket.SOL_SOCKET, side, struct.pack("ll", START_S, 0))
            path = [str(folder) for folder in sys.path]
            self._process = _without_ctrl_c(
                [sys.executable, "-c", _BOOT.format(path, theirs.fileno(), lifeline)],
                (theirs.fileno(), lifeline),
            )
            self.connection: Connection[Message, Reply] = Connection(ours.detach())
        self.rows = range(0)  # that it is at
        self.ahead = range(0)  # that it was sent too, so that it need not wait for more
        self.knows = ""  # the key by which it answered last
        self.idle()
        self.expect("starting", START_S)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the process ended; minus a signal's number if by a signal."""
        return self._process.returncode

    def idle(self) -> None:
        """Notes that nothing is expected of it."""
        self.stage: Stage = "idle"
        self.deadline, self.rows, self.ahead = float("inf"), range(0), range(0)

    def expect(self, stage: Stage, seconds: float) -> None:
        """Notes what it is at, and how long that may take."""
        self.stage, self.deadline = stage, time.monotonic() + seconds

    def kill(self) -> None:
        """Ends the process, and takes back what the system holds for it."""
        self._process.kill()
        self._process.wait()
        self.connection.close()

    def disown(self) -> None:
        """In a forked child: closes its copies and leaves the process to the parent."""
        self._process.returncode = 0  # else it would be missed
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
