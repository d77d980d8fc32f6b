"""Runs the command line, in a new process as a user would, or faster in this one."""

import contextlib
import io
import os
import subprocess
import sys
from unittest.mock import patch

import typer

from smtlayer_cli.app import app
from smtlayer_cli.errors import exit_code_of

COMMAND = (sys.executable, "-m", "smtlayer_cli")
PLAIN = {"NO_COLOR": "1", "COLUMNS": "80"}


def smtlayer(*words, **environment):
    """What a command printed, and its exit code. None takes a variable out of the environment.

    It runs in this process, which spares an import of torch and z3 for every call. Signals, closed
    streams and what is imported need `smtlayer_process`.
    """
    out, errors = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, _environment(environment), clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        code = exit_code_of(
            lambda: app([*map(str, words)], prog_name="smtlayer", standalone_mode=False)
        )
    return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())


def parsed(*words):
    """The context of a command, with its options read; it does not run."""
    command, left = typer.main.get_command(app), list(words)
    while hasattr(command, "commands"):
        command = command.commands[left.pop(0)]
        command = command.imported() if hasattr(command, "imported") else command
    return command.make_context("smtlayer", left)


def smtlayer_process(*words, **environment):
    """The same in a new process."""
    return _done([*COMMAND, *map(str, words)], _environment(environment))


def python(code, **environment):
    """The same of a program."""
    return _done([sys.executable, "-c", code], os.environ | environment)


def _done(command, environment):
    # A time limit so that a process that hangs fails its test; a busy machine does not miss it.
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env=environment
    )


def _environment(changes):
    given = os.environ | PLAIN | changes
    return {name: value for name, value in given.items() if value is not None}
