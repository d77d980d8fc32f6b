"""This file turns what goes wrong into one line for people and an exit code for machines."""

import io
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from smtlayer.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingDataError,
    MissingPackageError,
    SMTLayerError,
)

# click has more than one home, so its errors are known by what typer shows of them.
_ClickError: type[Any] = typer.BadParameter.__mro__[2]
_BEFORE_A_COMMAND = ("--debug", "--version", "--install-completion", "--show-completion")
_NARROWEST = 20  # characters of a line that tables can do with


class ExitCode(IntEnum):
    """What the command line ends with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    MISSING = 3
    UNMET = 4
    BUG = 70
    STOPPED = 130
    NO_READER = 141


MEANINGS = {
    ExitCode.OK: "Success.",
    ExitCode.FAILED: "The work failed.",
    ExitCode.USAGE: "An option, an argument or a configuration cannot be used as given.",
    ExitCode.MISSING: "Something is missing: data, a run, a package.",
    ExitCode.UNMET: "A check failed.",
    ExitCode.BUG: "A bug in smtlayer.",
    ExitCode.STOPPED: "Stopped by Ctrl-C.",
    ExitCode.NO_READER: "The reader of the output stopped early, as in a pipe to head.",
}


def exit_code_of(call: Callable[[], object]) -> int:
    """Calls, says in one line on stderr what went wrong, and returns the exit code."""
    _never_fail_to_print()
    _leave_room_to_print()
    try:
        ended = call()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.STOPPED
    except BrokenPipeError:
        return _no_reader()
    except SystemExit as end:
        return _no_reader() if isinstance(end.__context__, BrokenPipeError) else _code(end.code)
    except Exception as error:
        return _told(error)
    return _code(ended)


def end_quietly_at_ctrl_c() -> None:
    """What Ctrl-C leaves half made, such as a context of z3, is not to complain as it goes."""

    def stop(number: int, frame: FrameType | None) -> None:
        if not wants_traces():
            sys.unraisablehook = lambda _: None
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # nobody has other plans
        signal.signal(signal.SIGINT, stop)


def _never_fail_to_print() -> None:
    """A terminal that lacks a character gets a question mark; what was closed swallows all."""
    if sys.stdout is None:  # as in smtlayer cache >&-
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (kept)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _leave_room_to_print() -> None:
    """Makes `COLUMNS` a width that tables can have, here and in processes that are started."""
    width = shutil.get_terminal_size().columns  # passes over what is no width
    if "COLUMNS" in os.environ or width < _NARROWEST:
        os.environ["COLUMNS"] = str(max(width, _NARROWEST))


def wants_traces() -> bool:
    """Whether the environment's `SMTLAYER_DEBUG`, which --debug sets, asks for traces."""
    said = os.environ.get("SMTLAYER_DEBUG", "").strip().lower()
    return said not in ("", "0", "false", "no", "off")


def _code(ended: object) -> int:
    if isinstance(ended, str):  # sys.exit with a message
        print(ended, file=sys.stderr)
        return ExitCode.FAILED
    return ended if isinstance(ended, int) else ExitCode.OK


def _no_reader() -> int:
    """Python flushes once more when it ends: that may go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.NO_READER


def _told(error: Exception) -> int:
    if isinstance(error, typer.Abort):
        return ExitCode.STOPPED
    if wants_traces():
        traceback.print_exception(error)
    code, text = _code_and_text(error)
    print(f"smtlayer: {' '.join(text.split())}", file=sys.stderr)
    return code


def _code_and_text(error: Exception) -> tuple[ExitCode, str]:
    if isinstance(error, _ClickError):
        return ExitCode.USAGE, _usage(error)
    if isinstance(error, MissingDataError | MissingPackageError):
        return ExitCode.MISSING, str(error)
    if isinstance(error, ArgumentError | ArgumentTypeError):
        return ExitCode.USAGE, str(error)
    if isinstance(error, SMTLayerError):
        return ExitCode.FAILED, str(error)
    kind = type(error).__name__
    if kind in ("MemoryError", "OutOfMemoryError"):  # the second is torch's, for a GPU
        return ExitCode.FAILED, (
            f"There is too little memory ({str(error) or kind}). Smaller batches need less: "
            f"--set train.batch_size=32. So do fewer workers or jobs."
        )
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f" {error.filename}"
        return ExitCode.FAILED, (
            f"The system refused{place}: {error.strerror.lower()}. Check the path, its permissions "
            f"and the space left there."
        )
    if _raised_by_us(error):
        return ExitCode.USAGE, str(error)
    how = "The trace is above: report" if wants_traces() else "Run again with --debug and report"
    text = str(error).rstrip(".")
    return ExitCode.BUG, f"{kind}: {text}. This is a bug in smtlayer. {how} what it shows."


def _raised_by_us(error: Exception) -> bool:
    """Whether our own code says that it was given something wrong, by a `raise` of its own."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = any(part.startswith("smtlayer") for part in Path(last.filename).parts)
    wrong = isinstance(error, ValueError | TypeError | NotImplementedError)
    return wrong and ours and (last.line or "").startswith("raise ")


def _usage(error: Any) -> str:
    """What click complains of, and where to look; `error` is of no one type."""
    text = str(error.format_message()).replace("Value error, ", "").strip().rstrip(".")
    command = "smtlayer" if error.ctx is None else error.ctx.command_path
    if command != "smtlayer" and any(text.endswith(f": {name}") for name in _BEFORE_A_COMMAND):
        return f"{text}. It comes before the command, as in: smtlayer --debug train."
    end = "" if text.endswith("?") else "."
    return f"{text}{end}{_came(error, text)} See: {command} --help"


def _came(error: Any, text: str) -> str:
    """What was given, if the message does not tell: pydantic's for numbers do not."""
    if type(error.__cause__).__name__ != "ValidationError":
        return ""
    given = error.__cause__.errors()[0]["input"]
    return "" if repr(given) in text or "Got " in text else f" Got {given}."
