"""The command `smtlayer data`: shows the data files, and downloads missing ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table as RichTable

from smtlayer_studies.commands.complete import datasets

if TYPE_CHECKING:
    from smtlayer_cli.checks import Finding
    from smtlayer_studies.tasks.data import State
    from smtlayer_studies.tasks.data_files import DataFile

_COLOURS: dict[State, str] = {"ok": "green", "damaged": "red", "missing": "yellow"}


def data(
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER",
        help="Data folder [default: $SMTLAYER_DATA, else a folder in the user's cache].",
    ),
    download: str | None = typer.Option(
        None, metavar="NAME", autocompletion=datasets,
        help="Download the data set or file of this name, or 'all'.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:  # fmt: skip
    """Show which data files are there and what they are for, and download missing ones.

    Examples:

    \b
        smtlayer data
        smtlayer data --download mnist
        smtlayer data --data-dir /data/smtlayer --json
    """
    from smtlayer.errors import ConfigError
    from smtlayer_studies.tasks.data import data_folder, state
    from smtlayer_studies.tasks.data_files import FILES

    folder = data_folder(data_dir)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ConfigError(
            f"{folder} is a file; data need a folder. Name one with --data-dir or SMTLAYER_DATA."
        )
    if download is not None:
        _download(download, data_dir, quiet=as_json)
    states = {file: state(file, data_dir) for file in FILES.values()}
    if as_json:
        listed = [asdict(file) | {"state": found} for file, found in states.items()]
        typer.echo(json.dumps({"folder": folder and str(folder), "files": listed}))
    else:
        _show(folder, states, data_dir)


def _download(name: str, data_dir: Path | None, *, quiet: bool) -> None:
    """Downloads the files of that name; of "all", those that have an address."""
    from smtlayer_studies.tasks.data import files
    from smtlayer_studies.tasks.download import download

    wanted = [file for file in files(name) if file.urls or name != "all"]
    for file in wanted:
        if not file.urls:
            download(file.name, data_dir)  # raises the reason, before any bar is shown
    columns = (
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bars:
        for file in wanted:
            bar = bars.add_task(file.name, total=file.size)

            def show(done: int, _: int, bar: TaskID = bar) -> None:
                bars.update(bar, completed=done)

            download(file.name, data_dir, progress=show)
            bars.update(bar, completed=file.size)


def _show(folder: Path | None, states: dict[DataFile, State], data_dir: Path | None) -> None:
    if folder is None:
        typer.echo("There is no data folder: name one with --data-dir or SMTLAYER_DATA.")
    else:
        gone = "" if folder.is_dir() else ", which does not exist"
        typer.echo(f"The data folder is {folder}{gone}.")
    Console().print(_table(states))
    for dataset, group in groupby(states, key=lambda file: file.dataset):
        absent = [file for file in group if states[file] != "ok"]
        if absent:
            typer.echo(_advice(dataset, absent, data_dir))


def _table(states: dict[DataFile, State]) -> RichTable:
    table = RichTable()
    table.add_column("file", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("size", no_wrap=True, justify="right")
    table.add_column("for")
    table.add_column("licence")
    for file, found in states.items():
        state, size = f"[{_COLOURS[found]}]{found}[/]", f"{file.size / 1000:,.0f} kB"
        table.add_row(file.name, state, size, file.used_for, file.licence)
    return table


def _advice(dataset: str, absent: list[DataFile], data_dir: Path | None) -> str:
    """How to get the missing or damaged files of a data set."""
    from smtlayer_studies.tasks.data import download_command

    first = absent[0]
    if first.urls:
        how = f"download with: {download_command(dataset, data_dir)} ({first.origin})"
    else:
        paths = ", ".join(file.path for file in absent)
        how = f"put {paths} there by hand, as it has no public address ({first.origin})"
    return f"{dataset}: {how}. Without it: {first.without}."


def find_data() -> Iterator[Finding]:
    """Checks the data sets, for `smtlayer doctor`."""
    from smtlayer_cli.checks import Finding
    from smtlayer_studies.tasks.data import data_folder, state
    from smtlayer_studies.tasks.data_files import FILES

    folder = data_folder()
    if folder is None:
        text = "no data folder, as SMTLAYER_CACHE disables the default one"
        yield Finding("folder", "gap", text, "export SMTLAYER_DATA=FOLDER")
    else:
        gone = "" if folder.is_dir() else ", which does not exist"
        facts = {"folder": str(folder)}
        yield Finding("folder", "off" if gone else "ok", f"{folder}{gone}", "", facts)
    for dataset, group in groupby(FILES.values(), key=lambda file: file.dataset):
        files = list(group)
        yield _finding(dataset, files, {file.name: state(file) for file in files})


def _finding(dataset: str, files: list[DataFile], states: dict[str, State]) -> Finding:
    from smtlayer_cli.checks import Finding

    wrong = [file for file in files if states[file.name] != "ok"]
    if not wrong:
        return Finding(dataset, "ok", f"for {files[0].used_for}", "", states)
    kinds = {states[file.name] for file in wrong}
    names = ", ".join(f"{file.name} {states[file.name]}" for file in wrong)
    all_alike = len(wrong) == len(files) and len(kinds) == 1
    text = f"{kinds.pop() if all_alike else names}, for {wrong[0].used_for}. "
    text += f"Without it: {wrong[0].without}."
    remedy = f"smtlayer data --download {dataset}"
    if not wrong[0].urls:
        paths = ", ".join(file.path for file in wrong)
        remedy = f"Put {paths} there by hand (`smtlayer data` describes it)."
    return Finding(dataset, "gap", text, remedy, states)
