"""This file holds `smtlayer data`: which data files are there, and how to get the others."""

from __future__ import annotations

import json
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
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table as RichTable

from smtlayer.errors import ConfigError
from smtlayer_cli.complete import datasets
from smtlayer_cli.later import Later

if TYPE_CHECKING:
    from smtlayer_studies.tasks import data as registry
    from smtlayer_studies.tasks import download as network
    from smtlayer_studies.tasks.data import DataFile, State
else:
    registry, network = (
        Later("smtlayer_studies.tasks.data"),
        Later("smtlayer_studies.tasks.download"),
    )

_COLOURS: dict[State, str] = {"ok": "green", "damaged": "red", "missing": "yellow"}


def data(
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER",
        help="Data folder; by default $SMTLAYER_DATA, else one in the user's cache.",
    ),
    download: str | None = typer.Option(
        None, metavar="NAME", autocompletion=datasets,
        help="Fetch a data set or a file of this name, or 'all'.",
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON object, for machines."),
) -> None:  # fmt: skip
    """Show which data files are there, what they are for, and fetch those that can be had.

    Examples:

        smtlayer data
        smtlayer data --download mnist
        smtlayer data --data-dir /data/smtlayer --json
    """
    folder = registry.data_folder(data_dir)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ConfigError(
            f"{folder} is a file; data need a folder. Name one with --data-dir or SMTLAYER_DATA."
        )
    if download is not None:
        _download(download, data_dir, quiet=as_json)
    states = {file: registry.state(file, data_dir) for file in registry.FILES.values()}
    if as_json:
        listed = [asdict(file) | {"state": found} for file, found in states.items()]
        typer.echo(json.dumps({"folder": folder and str(folder), "files": listed}))
    else:
        _show(folder, states, data_dir)


def _download(name: str, data_dir: Path | None, *, quiet: bool) -> None:
    """Fetches the files of that name; of "all", those that can be had."""
    wanted = [file for file in registry.files(name) if file.urls or name != "all"]
    for file in wanted:
        if not file.urls:
            network.download(file.name, data_dir)  # says why it cannot be had, before any bar
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bars:
        for file in wanted:
            bar = bars.add_task(file.name, total=file.size)
            network.download(
                file.name,
                data_dir,
                progress=lambda done, _, bar=bar: bars.update(bar, completed=done),  # type: ignore[misc]
            )
            bars.update(bar, completed=file.size)


def _show(folder: Path | None, states: dict[DataFile, State], data_dir: Path | None) -> None:
    if folder is None:
        typer.echo("There is no data folder: name one with --data-dir or SMTLAYER_DATA.")
    else:
        gone = "" if folder.is_dir() else ", which does not exist"
        typer.echo(f"Data are looked for in {folder}{gone}.")
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
        table.add_row(
            file.name,
            f"[{_COLOURS[found]}]{found}[/]",
            f"{file.size / 1000:,.0f} kB",
            file.used_for,
            file.licence,
        )
    return table


def _advice(dataset: str, absent: list[DataFile], data_dir: Path | None) -> str:
    """What to do about files that are not as they should be, all of one data set."""
    first = absent[0]
    if first.urls:
        how = f"fetch with: {registry.download_command(dataset, data_dir)} ({first.origin})"
    else:
        paths = ", ".join(file.path for file in absent)
        how = f"put {paths} there by hand; no public place has it ({first.origin})"
    return f"{dataset}: {how}. Without it: {first.without}."
