"""The command `smtlayer cache`: shows or deletes the compiled theories on disk."""

from __future__ import annotations

import json
import time
from itertools import groupby
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table as RichTable

if TYPE_CHECKING:
    from smtlayer.solvers.store import Entry, Store


def cache(
    clear: bool = typer.Option(False, "--clear", help="Delete all of them."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object, for machines."),
) -> None:
    """Show the compiled theories kept on disk, or delete them.

    They only save the time to compile a theory again: deleting them is always safe.

    Examples:

    \b
        smtlayer cache
        smtlayer cache --clear
        smtlayer cache --json
    """
    from smtlayer.solvers.store import default_store

    store = default_store()
    before = store.entries()
    files = store.clear() if clear else 0
    entries = store.entries() if clear else before
    freed = _total(before) - _total(entries)
    if as_json:
        typer.echo(json.dumps(_as_dict(store, entries) | {"deleted": files, "freed": freed}))
    elif store.folder is None:
        typer.echo(
            "Compiled theories are not kept on disk: SMTLAYER_CACHE disables that. Unset it, or "
            "set it to a folder."
        )
    elif clear and (files or not store.problem()):
        plural = "" if files == 1 else "s"
        typer.echo(f"Deleted {files} file{plural}, {_size(freed)}, from {store.folder}.")
    else:
        _show(store, entries)


def _as_dict(store: Store, entries: list[Entry]) -> dict[str, object]:
    return {
        "folder": None if store.folder is None else str(store.folder),
        "problem": store.problem(),
        "entries": [entry._asdict() for entry in entries],
    }


def _total(entries: list[Entry]) -> int:
    return sum(entry.bytes for entry in entries)


def _show(store: Store, entries: list[Entry]) -> None:
    typer.echo(f"Compiled theories are kept in {store.folder}.")
    problem = store.problem()
    if problem:
        typer.echo(f"Nothing can be written there: {problem}.")
    if entries:
        Console().print(_table(entries))
    else:
        typer.echo("There are none yet.")
    if entries and not problem:
        typer.echo("Delete them with: smtlayer cache --clear")


def _table(entries: list[Entry]) -> RichTable:
    table = RichTable()
    for heading in ("kind", "theories", "size", "last used", "other versions"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for kind, group in groupby(entries, key=lambda entry: entry.kind):
        bundles = list(group)
        table.add_row(
            kind,
            f"{len(bundles):,}",
            _size(_total(bundles)),
            _age(time.time() - max(entry.mtime for entry in bundles)),
            f"{sum(not entry.current for entry in bundles):,}",
        )
    return table


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


def _age(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"
