"""Completion of experiments, methods, data sets and folders of runs, without importing torch."""

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer

from smtlayer_cli.complete import starting_with
from smtlayer_studies.tasks.data_files import FILES
from smtlayer_studies.tasks.registry import find_experiments, short_names

_SHARED = (
    "title", "seeds", "sample", "task", "pretrain", "train", "layer", "restarts", "members",
)  # fmt: skip
_TABLE_METHODS = ("conventional", "conventional-same-budget", "paper", "best", "no-shift")
_MOST_FOLDERS = 500  # that are searched for runs


def experiments(incomplete: str) -> list[str]:
    """Names of experiments."""
    return starting_with(incomplete, [*short_names(), *find_experiments()])


def several_experiments(incomplete: str) -> list[str]:
    """Names of experiments, with commas between them."""
    return _after_comma(incomplete, find_experiments())


def methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Methods of the experiment on the command line."""
    # Before an option without a value, the parser leaves the arguments unparsed.
    name = str(ctx.args[0] if ctx.args else ctx.params.get("experiment"))
    try:
        path = Path(name) if name.endswith(".toml") else find_experiments()[name]
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, KeyError, ValueError):  # no such file, or not a TOML file
        return starting_with(incomplete, _TABLE_METHODS)
    return starting_with(incomplete, [key for key in data if key not in _SHARED])


def several_methods(incomplete: str) -> list[str]:
    """Methods of any experiment, with commas between them."""
    return _after_comma(incomplete, _TABLE_METHODS)


def datasets(incomplete: str) -> list[str]:
    """Data sets that can be downloaded."""
    return starting_with(
        incomplete, ["all", *dict.fromkeys(f.dataset for f in FILES.values() if f.urls)]
    )


def runs(incomplete: str) -> list[str]:
    """Folders of runs in `runs`, or in the folder that is being typed."""
    start = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    if "runs".startswith(incomplete.partition("/")[0]) and start == Path():
        start = Path("runs")
    return starting_with(incomplete, sorted(str(folder) for folder in _run_folders(start)))


def _after_comma(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in starting_with(last, names)]


def _run_folders(start: Path) -> Iterator[Path]:
    """Folders with a record, breadth first, until too many folders have been searched."""
    waiting = [start]
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        folder = waiting.pop(0)
        with suppress(OSError):
            inside = sorted(folder.iterdir())
            if any(path.name == "record.json" for path in inside):
                yield folder
            waiting += [path for path in inside if path.is_dir() and path.name[0] != "."]
