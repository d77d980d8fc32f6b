"""This file holds `smtlayer doctor`: what works here, what is missing, and what to do about it."""

import json
import multiprocessing
import signal
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from smtlayer_cli import checks, selftest
from smtlayer_cli.checks import Finding, State
from smtlayer_cli.errors import ExitCode, wants_traces

_LIMIT_S = 120.0  # of one check; torch may be slow to come the first time
_MARKS: dict[State, tuple[str, str, str]] = {  # with and without Unicode, and the colour
    "ok": ("✓", "ok", "green"),
    "off": ("·", "-", "dim"),
    "gap": ("!", "!", "yellow"),
    "broken": ("✗", "X", "red"),
}


class Check(NamedTuple):
    """Something to look at, under a heading."""

    group: str
    name: str
    look: Callable[[], Iterable[Finding]]


CHECKS = (
    Check("Software", "Python", checks.python),
    *(Check("Software", package.pip, package.check) for package in checks.REQUIRED),
    Check("Software", "SAT solvers", checks.solvers),
    Check("Extras", "extras", checks.extras),
    Check("Machine", "CPU", checks.cpu),
    Check("Machine", "memory", checks.memory),
    Check("Machine", "CUDA", checks.cuda),
    Check("Machine", "MPS", checks.mps),
    Check("Data", "data", checks.data),
    Check("Cache", "theories", checks.cache),
    *(
        Check("Self-test", name, partial(selftest.backend, name))
        for name in ("Table", "Sat", "Z3", "Enumerate")
    ),
    Check("Self-test", "workers", selftest.workers),
)


def doctor(
    as_json: bool = typer.Option(False, "--json", help="One JSON object, for machines."),
    strict: bool = typer.Option(
        False, "--strict", help="Exit code 4 for gaps too, not only for what is broken."
    ),
) -> None:
    """See what is installed, which devices, data and caches there are, and whether all works.

    A theory is put through every backend, forward and backward, and through worker processes, and
    the answers are compared with the right ones. Nothing is changed. For each gap it says what to
    do: ✓ is fine, · is not there and need not be, ! is a gap, ✗ is broken.

    Examples:

        smtlayer doctor
        smtlayer doctor --strict --json
    """
    console, found = Console(highlight=False), list[tuple[str, Finding]]()
    waiting = nullcontext() if as_json else Console(stderr=True).status("looking")
    with waiting:
        for check, finding in examine(CHECKS):
            if not as_json:
                if not found or found[-1][0] != check.group:
                    console.print(Text(f"\n{check.group}", "bold"))
                _print(console, finding)
            found.append((check.group, finding))
    states = [finding.state for _, finding in found]
    if as_json:
        listed = [{"group": group} | asdict(finding) for group, finding in found]
        typer.echo(json.dumps({"works": "broken" not in states, "findings": listed}))
    else:
        console.print(Text(f"\n{_verdict(states)}"))
    if "broken" in states or (strict and "gap" in states):
        raise typer.Exit(ExitCode.UNMET)


def examine(asked: Sequence[Check], limit_s: float = _LIMIT_S) -> Iterator[tuple[Check, Finding]]:
    """What the checks find, each as soon as it is known.

    They run in a process of their own: one that crashes, or takes longer than the limit, is a
    finding too, and the others go on in a new process.
    """
    left = list(asked)
    while left:
        receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
        process = multiprocessing.get_context("spawn").Process(target=_look, args=(left, sender))
        process.start()
        sender.close()
        try:
            while left and (found := _received(receiver, limit_s)) is not None:
                check = left.pop(0)
                yield from ((check, finding) for finding in found)
            if left:
                yield left[0], _lost(left.pop(0), process, limit_s)
        finally:
            process.kill()
            process.join()
            receiver.close()


def _look(asked: Sequence[Check], sender: Connection) -> None:
    """The work of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    for check in asked:
        try:
            found = list(check.look())
        except Exception as error:
            if wants_traces():
                traceback.print_exc()
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            remedy = "`smtlayer --debug doctor` shows where that comes from."
            found = [Finding(check.name, "broken", said, remedy)]
        sender.send(found)
    sender.close()


def _received(receiver: Connection, limit_s: float) -> list[Finding] | None:
    """What came in time; None if nothing did, or the process ended."""
    if not receiver.poll(limit_s):
        return None
    try:
        found: list[Finding] = receiver.recv()
    except EOFError:
        return None
    return found


def _lost(check: Check, process: BaseProcess, limit_s: float) -> Finding:
    """What to say of a check that gave no answer."""
    process.join(1.0)  # it may be about to end
    code = process.exitcode
    if code is None:
        said = f"no answer within {limit_s:g} s"
    elif code < 0:
        said = f"the process crashed ({signal.Signals(-code).name})"
    else:
        said = f"the process ended (exit code {code})"
    remedy = "Install the packages above again; if that does not help, report it."
    return Finding(check.name, "broken", said, remedy)


def _print(console: Console, finding: Finding) -> None:
    mark, plain, colour = _MARKS[finding.state]
    try:
        mark.encode(console.encoding)
    except UnicodeEncodeError:
        mark = plain
    indent, width = 17, min(console.width, 100)
    name = f"{finding.name} ".ljust(indent - 4)
    lines = textwrap.wrap(
        f"{name}{finding.said}", width - 4, subsequent_indent=" " * (indent - 4),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    console.print(Text.assemble((f"{mark:>2} ", colour), f" {lines[0]}"), soft_wrap=True)
    for line in lines[1:]:
        console.print(Text(f"    {line}"), soft_wrap=True)
    if finding.remedy:
        for line in textwrap.wrap(
            finding.remedy, width - indent, initial_indent="> ", subsequent_indent="  ",
            break_long_words=False, break_on_hyphens=False,
        ):  # fmt: skip
            console.print(Text(" " * indent + line, "cyan"), soft_wrap=True)


def _verdict(states: Sequence[State]) -> str:
    broken, gaps = states.count("broken"), states.count("gap")
    if broken:
        return f"Not all works: {broken} of {len(states)} findings are bad, with remedies above."
    if gaps:
        them = "a gap has its" if gaps == 1 else f"{gaps} gaps have their"
        return f"smtlayer works; {them} remedy above."
    return "smtlayer works."
