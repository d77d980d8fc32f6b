"""The command `smtlayer report`: writes one web page about trained runs."""

from pathlib import Path

import typer

from smtlayer_cli.waiting import Waiting
from smtlayer_studies.commands.options import DataDir, RunFolders


def report(
    runs: RunFolders,
    out: Path | None = typer.Option(
        None, metavar="FILE", help="The page [default: report.html in the first folder]."
    ),
    data_dir: DataDir = None,
) -> None:  # fmt: skip
    """Write one web page about trained runs, which opens offline.

    The page has the scores beside the paper's, learning curves, statistics of the solver, a
    confusion matrix of the symbols, explained examples that the solver corrected or that failed,
    and the configuration. Several runs are shown side by side.

    Examples:

    \b
        smtlayer report runs/mnist-addition-10/best
        smtlayer report runs/mnist-addition-10 --out both.html
    """
    from smtlayer_studies.reports.page import write_report
    from smtlayer_studies.runs.run_folder import read_runs

    if out is not None:
        _check_file(out)
    folders = [run.path for run in read_runs(runs, _leave_out)]
    target = out or runs[0] / "report.html"
    with Waiting(f"writing {target}") as waiting:
        written = write_report(
            folders, target, data_dir=data_dir,
            on_run=lambda label: waiting.update(f"evaluating {label}"),
        )  # fmt: skip
    size = written.stat().st_size / 1024
    typer.echo(f"wrote {written} ({size:,.0f} KiB, {len(folders)} run{'s'[: len(folders) > 1]})")


def _leave_out(path: Path, error: Exception) -> None:
    """Reports on stderr that a run among others is left out, and why."""
    typer.echo(f"Left out {path}: {error}", err=True)


def _check_file(out: Path) -> None:
    """Raises an error unless a file can be written there."""
    from smtlayer.errors import ConfigError

    if out.is_dir():
        raise ConfigError(f"{out} is a folder; --out expects a file, as in {out / 'report.html'}.")
    there = next(path for path in out.parents if path.exists())
    if not there.is_dir():
        raise ConfigError(f"{there} is a file, and {out} needs a folder there. Choose another.")
