"""Resource limits for pasted theories."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Limits for requests about a pasted theory.

    Args:
        text: Characters of the SMT-LIB text.
        names: Names of inputs, and of outputs.
        columns: Columns of all inputs, and of all outputs.
        seconds: Wall-clock time.
        memory_mb: Megabytes in addition to what the library needs; enforced on Linux.
        answer: Bytes of an answer.
        concurrent: Requests that run at the same time, and processes that wait for more requests.
        idle: Seconds that a process waits for more requests about the same text.
    """

    text: int = 20_000
    names: int = 32
    columns: int = 64
    seconds: float = 5.0
    memory_mb: int = 512
    answer: int = 200_000
    concurrent: int = 2
    idle: float = 20.0


def restrict_process(limits: Limits) -> None:
    """Limits memory and processor time of this process for good, and forbids it to open files.

    Open files stay open, such as the pipe to the parent. Without files no program can be started.
    On systems without such limits, only the parent's timeout applies.
    """
    if sys.platform == "win32":
        return
    import resource

    bounds = {
        resource.RLIMIT_CPU: int(limits.seconds) + 2,  # after the parent's timeout
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    if sys.platform == "linux":
        bounds[resource.RLIMIT_AS] = _address_space() + (limits.memory_mb << 20)
    for kind, limit in bounds.items():
        resource.setrlimit(kind, (limit, limit))


def _address_space() -> int:
    """Bytes of address space that this process uses."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")
