"""Runs the command line as a person would: in a process of its own."""

import os
import subprocess
import sys

COMMAND = (sys.executable, "-m", "smtlayer")


def smtlayer(*words, stdin=None, cwd=None, timeout=120, **environment):
    """What a command printed, and its exit code. None takes a variable out of the environment."""
    given = os.environ | {"NO_COLOR": "1", "COLUMNS": "80"} | environment
    return subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd,
        timeout=timeout, env={name: value for name, value in given.items() if value is not None},
    )  # fmt: skip


def python(code, *, timeout=120, **environment):
    """The same of a program."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        timeout=timeout, env=os.environ | environment,
    )  # fmt: skip
