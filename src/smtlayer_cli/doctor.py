"""The command `smtlayer doctor`: what works here, what is missing, and how to fix it."""

import json
import multiprocessing
import signal
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import typer
from rich.console import Console
from rich.text import Text

from smtlayer_cli import checks, selftest
from smtlayer_cli.checks import Finding, State
from smtlayer_cli.errors import ExitCode, wants_traces
from smtlayer_cli.plugins import Check, plugins

_LIMIT_S = 120.0  # per check; the first import of torch may be slow
_MARKS: dict[State, tuple[str, str, str]] = {  # with and without Unicode, and the colour
    "ok": ("✓", "ok", "green"),
    "off": ("·", "-", "dim"),
    "gap": ("!", "!", "yellow"),
    "broken": ("✗", "X", "red"),
}


def all_checks() -> list[Check]:
    """The checks of this package and of the plugins, in the order of the output."""
    needed, backends = checks.required().items(), ("Table", "Circuit", "Sat", "Z3", "Enumerate")
    return [
        Check("Software", "Python", checks.python),
        *(
            Check("Software", name, partial(checks.package, name, oldest))
            for name, oldest in needed
        ),
        Check("Software", "SAT solvers", checks.solvers),
        Check("Extras", "extras", checks.extras),
        Check("Machine", "CPU", checks.cpu),
        Check("Machine", "memory", checks.memory),
        Check("Machine", "CUDA", checks.cuda),
        Check("Machine", "MPS", checks.mps),
        *(check for plugin in plugins() for check in plugin.checks),
        Check("Cache", "theories", checks.cache),
        *(Check("Self-test", name, partial(selftest.backend, name)) for name in backends),
        Check("Self-test", "workers", selftest.workers),
    ]


def doctor(
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    strict: bool = typer.Option(
        False, "--strict", help="Exit code 4 for gaps as well, not only for broken parts."
    ),
) -> None:
    """Show what is installed, which devices, data and caches there are, and whether all works.

    It runs a small theory through every backend, forward and backward, and through worker
    processes, and compares the results with the correct ones. Nothing is changed. Each gap is
    listed with its remedy: ✓ works, · is optional and missing, ! is a gap, ✗ is broken.

    Examples:

    \b
        smtlayer doctor
        smtlayer doctor --strict --json
    """
    console, found = Console(highlight=False), list[tuple[str, Finding]]()
    waiting = nullcontext() if as_json else Console(stderr=True).status("checking")
    with waiting:
        for check, finding in run_checks(all_checks()):
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


def run_checks(
    listed: Sequence[Check], limit_s: float = _LIMIT_S
) -> Iterator[tuple[Check, Finding]]:
    """The findings of the checks, each as soon as it is known.

    They run in a child process. A check that crashes it, or takes longer than the limit, is a
    finding as well, and the others continue in a new process.
    """
    left = list(listed)
    while left:
        spawn = multiprocessing.get_context("spawn")
        receiver, sender = spawn.Pipe(duplex=False)
        process = spawn.Process(target=_send_findings, args=(left, sender))
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


def _send_findings(listed: Sequence[Check], sender: Connection) -> None:
    """The work of the child process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    for check in listed:
        try:
            found = list(check.find())
        except Exception as error:
            if wants_traces():
                traceback.print_exc()
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            remedy = "`smtlayer --debug doctor` shows the traceback."
            found = [Finding(check.name, "broken", text, remedy)]
        sender.send(found)
    sender.close()


def _received(receiver: Connection, limit_s: float) -> list[Finding] | None:
    """The findings of the next check; None at the time limit, or if the process ended."""
    if not receiver.poll(limit_s):
        return None
    try:
        found: list[Finding] = receiver.recv()
    except EOFError:
        return None
    return found


def _lost(check: Check, process: BaseProcess, limit_s: float) -> Finding:
    """The finding for a check that did not return."""
    process.join(1.0)  # it may just be ending
    code = process.exitcode
    if code is None:
        text = f"no answer within {limit_s:g} s"
    elif code < 0:
        text = f"the process crashed ({signal.Signals(-code).name})"
    else:
        text = f"the process ended (exit code {code})"
    remedy = "Install the packages above again. If that does not help, report it."
    return Finding(check.name, "broken", text, remedy)


def _print(console: Console, finding: Finding) -> None:
    mark, plain, colour = _MARKS[finding.state]
    try:
        mark.encode(console.encoding)
    except UnicodeEncodeError:
        mark = plain
    indent, width = 17, min(console.width, 100)
    name = f"{finding.name} ".ljust(indent - 4)
    lines = textwrap.wrap(
        f"{name}{finding.text}", width - 4, subsequent_indent=" " * (indent - 4),
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
        return f"{broken} of {len(states)} checks failed; the remedies are above."
    if gaps:
        count = "1 gap" if gaps == 1 else f"{gaps} gaps"
        return f"smtlayer works, with {count}; the remedies are above."
    return "smtlayer works."
