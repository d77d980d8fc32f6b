"""This file completes what is typed: rows, methods, rules, devices, tasks, folders of runs.

Nothing here imports torch, for people wait with a finger on TAB. Tests compare what is offered with
what the library knows.
"""

import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer

import smtlayer_studies

_FOLDER = Path(smtlayer_studies.__file__).parent / "experiments"
_SHARED = ("title", "seeds", "sample", "task", "pretrain", "train", "layer", "restarts")
_SHORT = ("mnist-addition", "visual-algebra", "visual-sudoku")
_TABLE_METHODS = ("conventional", "conventional-same-budget", "paper", "best", "no-shift")
_MOST_FOLDERS = 500  # looked into for runs
LAB_TASKS = (
    "mnist-addition-10", "mnist-addition-100", "visual-algebra", "visual-algebra-as-printed",
    "liars-puzzle", "liars-puzzle-as-printed",
)  # fmt: skip


def row_names(incomplete: str) -> list[str]:
    """Rows of the table."""
    return _begin([*_SHORT, *_rows()], incomplete)


def several_rows(incomplete: str) -> list[str]:
    """Rows of the table, with commas between."""
    return _after_comma(_rows(), incomplete)


def methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Methods of the row that was named."""
    # Before an option without its value, the parser leaves arguments as it found them.
    named = str(ctx.args[0] if ctx.args else ctx.params.get("experiment"))
    names: tuple[str, ...] = _TABLE_METHODS
    with suppress(OSError, tomllib.TOMLDecodeError):
        names = _methods(named if named.endswith(".toml") else _FOLDER / f"{named}.toml")
    return _begin(names, incomplete)


def several_methods(incomplete: str) -> list[str]:
    """Methods of any row, with commas between."""
    return _after_comma(_TABLE_METHODS, incomplete)


def rules(incomplete: str) -> list[str]:
    """Blame rules of one word."""
    return _begin(("core", "maxsmt", "sample", "marginal"), incomplete)


def devices(incomplete: str) -> list[str]:
    """Kinds of devices, whether or not they are there."""
    return _begin(("cpu", "cuda"), incomplete)


def lab_tasks(incomplete: str) -> list[str]:
    """Tasks that the laboratory knows; anything else is a file."""
    return _begin(LAB_TASKS, incomplete)


def datasets(incomplete: str) -> list[str]:
    """Data sets that can be fetched."""
    return _begin(("all", "mnist"), incomplete)


def runs(incomplete: str) -> list[str]:
    """Folders of runs in `runs`, or in the folder that is being typed."""
    start = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    if "runs".startswith(incomplete.partition("/")[0]) and start == Path():
        start = Path("runs")
    return _begin(sorted(str(folder) for folder in _run_folders(start)), incomplete)


def _begin(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _after_comma(names: Iterable[str], incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _begin(names, last)]


def _rows() -> list[str]:
    def by_share(name: str) -> tuple[str, int]:
        task, _, share = name.rpartition("-")
        return (task, int(share)) if share.isdecimal() else (name, 0)

    return sorted((path.stem for path in _FOLDER.glob("*.toml")), key=by_share)


def _methods(path: str | Path) -> tuple[str, ...]:
    data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    return tuple(key for key in data if key not in _SHARED)


def _run_folders(start: Path) -> Iterator[Path]:
    """Folders with a record, from here down; no more than a person would wait for."""
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
