"""This file holds `smtlayer report RUN...`: one web page on trained runs, which opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from smtlayer.errors import ConfigError, SMTLayerError
from smtlayer_cli.complete import runs as run_folders
from smtlayer_cli.later import Later
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    from smtlayer_studies.reports import page
    from smtlayer_studies.runs import run_folder
else:
    page = Later("smtlayer_studies.reports.page")
    run_folder = Later("smtlayer_studies.runs.run_folder")


def report(
    runs: list[Path] = typer.Argument(
        metavar="RUN", autocompletion=run_folders,
        help="Folders of runs, as `smtlayer train` writes them, or folders that hold some.",
    ),
    out: Path | None = typer.Option(
        None, metavar="FILE", help="The page [default: report.html in the first folder]."
    ),
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER", help="Data folder [default: $SMTLAYER_DATA]."
    ),
) -> None:  # fmt: skip
    """Write one web page on trained runs, which opens offline.

    Scores, the paper's beside them, curves, what the solver did, which symbols are taken for which,
    rows that the solver corrected and rows that failed, each explained, and the configuration.
    Several runs stand side by side.

    Examples:

        smtlayer report runs/mnist-addition-10/best
        smtlayer report runs/mnist-addition-10 --out both.html
    """
    if out is not None:
        _check_file(out)
    folders = [run.path for run in run_folder.read_runs(runs, _leave_out)]
    target = out or runs[0] / "report.html"
    with Waiting(f"writing {target}") as waiting:
        written = page.write_report(
            folders, target, data_dir=data_dir,
            on_run=lambda label: waiting.say(f"looking at {label}"),
        )  # fmt: skip
    size = written.stat().st_size / 1024
    typer.echo(f"wrote {written} ({size:,.0f} KiB, {len(folders)} run{'s'[: len(folders) > 1]})")


def _leave_out(path: Path, error: SMTLayerError) -> None:
    """Says on stderr that a run among others is left out, and why."""
    typer.echo(f"Left out {path}: {error}", err=True)


def _check_file(out: Path) -> None:
    """Raises unless a file can be written there."""
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; --out expects a file, as in {out / 'report.html'}.")
    there = next(path for path in out.parents if path.exists())
    if not there.is_dir():
        raise ConfigError(f"{there} is a file, and {out} needs a folder there. Choose another.")
