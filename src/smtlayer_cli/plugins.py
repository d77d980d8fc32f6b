"""Plugins: the commands, checks and problems that an installed distribution adds to `smtlayer`.

A distribution names its `Plugin` in the entry-point group `smtlayer.plugins`. Every call of
`smtlayer` imports the modules of all plugins, so they must not import torch or smtlayer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smtlayer.lab import LabProblem
    from smtlayer_cli.checks import Finding

GROUP = "smtlayer.plugins"
# The extra that installs a command which is not in this distribution.
_STUDIES = ("train", "evaluate", "reproduce", "inspect", "report", "data", "bench")
EXTRA_OF = dict.fromkeys(_STUDIES, "studies") | {"demo": "demo"}


class Panel(StrEnum):
    """The headings of `smtlayer --help`, in order."""

    START = "Start here"
    TRAIN = "Train"
    MEASURE = "Compare and measure"
    LOOK = "Look at results"
    KEEP = "Data and cache"


@dataclass(frozen=True)
class Command:
    """A command that is imported when it is called.

    Args:
        name: Its name.
        panel: The heading that it is listed under.
        help: Its line in that list.
        target: The function or Typer app, as `module:name`. The module declares the options; it
            must not import torch, as `smtlayer COMMAND --help` and completion import it.
    """

    name: str
    panel: Panel
    help: str
    target: str


@dataclass(frozen=True)
class Check:
    """A check of `smtlayer doctor`: a function that can be pickled, and where it is listed."""

    group: str
    name: str
    find: Callable[[], Iterable[Finding]]


@dataclass(frozen=True)
class Plugin:
    """What a distribution adds to the command line.

    Args:
        commands: Its commands.
        examples: Examples for `smtlayer --help`, each with its meaning.
        environment: Environment variables, each with its meaning.
        checks: Checks for `smtlayer doctor`.
        lab_problems: Problems for `smtlayer lab`: functions of the name that they are listed under.
    """

    commands: tuple[Command, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    checks: tuple[Check, ...] = ()
    lab_problems: Mapping[str, Callable[[str], LabProblem]] = field(default_factory=dict)


@cache
def plugins() -> tuple[Plugin, ...]:
    """The plugins of all installed distributions, by the names of their entry points."""
    from importlib.metadata import entry_points

    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found.append(entry.load())
        except Exception as error:  # the other commands, above all doctor, still work
            print(f"smtlayer: The plugin {entry.value} is broken: {error}.", file=sys.stderr)
    return tuple(found)


def lab_problems() -> dict[str, Callable[[str], LabProblem]]:
    """The problems of `smtlayer lab` by name."""
    return {name: make for plugin in plugins() for name, make in plugin.lab_problems.items()}


def install_command(extra: str) -> str:
    """The command that installs an extra, with the distributions of this repository it needs."""
    folders = " ./studies ./benchmarks" if extra in ("studies", "demo") else ""
    folders += " ./apps/playground" if extra == "demo" else ""
    return f'pip install ".[{extra}]"{folders} # in a checkout of smtlayer'
