"""Exit codes of the command line, and errors as one line on stderr."""

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
from typing import Any, Self

import typer

# Typer brings its own copy of click or uses the package, depending on its version; either way
# this is the base class of click's errors.
_ClickError: type[Any] = typer.BadParameter.__mro__[2]
_BEFORE_A_COMMAND = ("--debug", "--version", "--install-completion", "--show-completion")
_NARROWEST = 20  # columns, the least that tables need


class ExitCode(IntEnum):
    """Exit codes of the command line, with their meanings."""

    meaning: str

    OK = 0, "Success."
    FAILED = 1, "The work failed."
    USAGE = 2, "An option, an argument or a configuration cannot be used as given."
    MISSING = 3, "Something is missing: data, a run, a package."
    UNMET = 4, "A check failed."
    BUG = 70, "A bug in smtlayer."
    STOPPED = 130, "Stopped by Ctrl-C."
    NO_READER = 141, "The reader of the output stopped early, as in a pipe to head."

    def __new__(cls, code: int, meaning: str) -> Self:
        """A code with its meaning."""
        member = int.__new__(cls, code)
        member._value_, member.meaning = code, meaning
        return member


def exit_code_of(call: Callable[[], object]) -> int:
    """Calls a function, prints its error as one line on stderr, and returns the exit code."""
    _tolerate_streams()
    _ensure_width()
    try:
        result = call()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.STOPPED
    except BrokenPipeError:
        return _no_reader()
    except SystemExit as end:
        return _no_reader() if isinstance(end.__context__, BrokenPipeError) else _code(end.code)
    except Exception as error:
        return _report(error)
    return _code(result)


def quiet_ctrl_c() -> None:
    """After Ctrl-C, objects that were only half constructed print no errors when they are freed."""

    def stop(number: int, frame: FrameType | None) -> None:
        if not wants_traces():
            sys.unraisablehook = lambda _: None
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # no other handler is set
        signal.signal(signal.SIGINT, stop)


def wants_traces() -> bool:
    """Whether `SMTLAYER_DEBUG`, which --debug sets, asks for tracebacks."""
    value = os.environ.get("SMTLAYER_DEBUG", "").strip().lower()
    return value not in ("", "0", "false", "no", "off")


def _tolerate_streams() -> None:
    """Replaces closed streams by the null device, and characters that a stream lacks by `?`."""
    if sys.stdout is None:  # as in smtlayer cache >&-
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (kept)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _ensure_width() -> None:
    """Sets `COLUMNS` to a width that tables can have, also for child processes."""
    width = shutil.get_terminal_size().columns  # ignores values that are not a width
    if "COLUMNS" in os.environ or width < _NARROWEST:
        os.environ["COLUMNS"] = str(max(width, _NARROWEST))


def _code(result: object) -> int:
    if isinstance(result, str):  # sys.exit with a message
        print(result, file=sys.stderr)
        return ExitCode.FAILED
    return result if isinstance(result, int) else ExitCode.OK


def _no_reader() -> int:
    """Redirects stdout to the null device, as Python flushes it once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.NO_READER


def _report(error: Exception) -> int:
    if isinstance(error, typer.Abort):
        return ExitCode.STOPPED
    if wants_traces():
        traceback.print_exception(error)
    code, text = (
        (ExitCode.USAGE, _usage(error)) if isinstance(error, _ClickError) else _code_and_text(error)
    )
    print(f"smtlayer: {' '.join(text.split())}", file=sys.stderr)
    return code


def _code_and_text(error: Exception) -> tuple[ExitCode, str]:
    try:
        from torch import OutOfMemoryError

        from smtlayer import errors as ours
    except Exception as broken:  # a broken installation of torch may raise anything
        text = f"smtlayer cannot be imported ({type(broken).__name__}: {broken})."
        return ExitCode.MISSING, f"{text} See: smtlayer doctor"
    if isinstance(error, ours.MissingDataError | ours.MissingPackageError):
        return ExitCode.MISSING, str(error)
    if isinstance(error, ours.ArgumentError | ours.ArgumentTypeError):
        return ExitCode.USAGE, str(error)
    if isinstance(error, ours.SMTLayerError):
        return ExitCode.FAILED, str(error)
    kind = type(error).__name__
    if isinstance(error, MemoryError | OutOfMemoryError):
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
    how = "The trace is above: report" if wants_traces() else "Run again with --debug and report"
    text = str(error).rstrip(".")
    return ExitCode.BUG, f"{kind}: {text}. This is a bug in smtlayer. {how} what it shows."


def _usage(error: Any) -> str:
    """The message of a click error, and where to find help; its type depends on Typer's version."""
    # Typer reads values by pydantic.
    problems: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if problems and problems[0]["type"] == "value_error":
        error.message = str(problems[0]["ctx"]["error"])
    elif problems:  # messages about numbers lack the value
        error.message = f"{problems[0]['msg']}. Got {problems[0]['input']}"
    text = str(error.format_message()).strip().rstrip(".")
    command = "smtlayer" if error.ctx is None else error.ctx.command_path
    option = getattr(error, "option_name", None)
    if command != "smtlayer" and option in _BEFORE_A_COMMAND:
        return f"{text}. It comes before the command, as in: smtlayer {option} train."
    return f"{text}{'' if text.endswith('?') else '.'} See: {command} --help"
