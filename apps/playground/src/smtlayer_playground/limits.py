"""This file says how much a pasted formula may take, and shuts a process in those limits."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """How much one question about a pasted theory may take.

    Args:
        text: Characters of a script.
        names: Inputs, and likewise outputs, that may be named.
        columns: Columns of all inputs, and likewise of all outputs.
        seconds: Time on the clock.
        memory_mb: Megabytes beyond what the library itself needs; enforced on Linux.
        answer: Bytes of an answer.
        at_once: Questions that are worked on at the same time.
    """

    text: int = 20_000
    names: int = 32
    columns: int = 64
    seconds: float = 5.0
    memory_mb: int = 512
    answer: int = 200_000
    at_once: int = 2


def shut_in(limits: Limits) -> None:
    """Bounds this process for good: memory, processor time, and no file can be opened or written.

    What is open stays open: the pipe to the parent. Without files no program can be started either.
    Systems that lack such limits are left with the parent's clock.
    """
    if sys.platform == "win32":
        return
    import resource

    bounds = {
        resource.RLIMIT_CPU: int(limits.seconds) + 2,  # after the parent's clock
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    if sys.platform == "linux":
        bounds[resource.RLIMIT_AS] = _address_space() + (limits.memory_mb << 20)
    for kind, most in bounds.items():
        resource.setrlimit(kind, (most, most))


def _address_space() -> int:
    """Bytes of address space that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")
