"""This file holds `smtlayer inspect RUN`: shows rows of a run, and explains what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from rich.console import Console

from smtlayer.errors import MissingPackageError
from smtlayer_cli.complete import runs
from smtlayer_cli.later import Later
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    from smtlayer import pyplot
    from smtlayer_studies.reports import example_report, paper, terminal
    from smtlayer_studies.runs import run_folder
    from smtlayer_studies.tasks.examples import Examples
else:
    example_report, terminal = (
        Later("smtlayer_studies.reports.example_report"),
        Later("smtlayer_studies.reports.terminal"),
    )
    paper = Later("smtlayer_studies.reports.paper")
    run_folder, pyplot = Later("smtlayer_studies.runs.run_folder"), Later("smtlayer.pyplot")

_WIDEST = 100


def inspect(
    run: Path = typer.Argument(
        metavar="RUN", autocompletion=runs, help="Folder of a run, as `smtlayer train` writes it."
    ),
    row: list[int] = typer.Option(
        [0], metavar="N", help="Number of a row, from 0; may be given more than once."
    ),
    failed: bool = typer.Option(
        False, "--failed", help="The next row, from --row on, whose answer is wrong."
    ),
    corrected: bool = typer.Option(
        False, "--corrected",
        help="The next row, from --row on, that is right only because the solver overruled inputs.",
    ),
    split: Literal["test", "validation", "train"] | None = typer.Option(
        None, help="Where rows are from [default: what the run was scored on]."
    ),
    runner_up: bool = typer.Option(
        False, "--runner-up", help="Look for the next best answer, too."
    ),
    picture: Path | None = typer.Option(
        None, metavar="FILE", help="PNG with all rows [default: RUN/inspect-row-N.png for each]."
    ),
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER", help="Data folder [default: $SMTLAYER_DATA]."
    ),
    as_json: bool = typer.Option(
        False, "--json", help="A JSON list, for machines; a picture only with --picture."
    ),
) -> None:  # fmt: skip
    """Show rows of a trained run with their pictures, and explain what came of them.

    What the network read and how certain it was, whether that fits the theory, what the solver
    overruled, and which inputs and constraints rule the true answer out.

    Examples:

        smtlayer inspect runs/mnist-addition-10/best --row 7
        smtlayer inspect runs/mnist-addition-10/best --failed --runner-up
        smtlayer inspect runs/mnist-addition-10/best --corrected --row 100 --json
    """
    if picture is not None:
        pyplot.check_picture(picture, "--picture")
    folder = run_folder.RunFolder.read(run)
    example_report.require_layer(folder)
    kinds: list[example_report.Outcome] = ["failed"] if failed else []
    kinds += ["corrected"] if corrected else []
    with Waiting(f"loading {run}") as waiting:
        found = folder.load(data_dir)
        if kinds:
            waiting.say(f"searching {run} for rows: {' or '.join(kinds)}")
            row = [
                example_report.find_example(found, one, kinds, split, waiting.count) for one in row
            ]
        numbers = list(dict.fromkeys(row))
        waiting.say(f"explaining row {', '.join(map(str, numbers))} of {run}")
        name, examples = example_report.read_examples(found, numbers, split)
        rows = example_report.explain_examples(found, name, examples, numbers, runner_up)
    if as_json:
        typer.echo(json.dumps([{"run": str(run), **one.to_dict()} for one in rows], indent=1))
        if picture is not None:
            example_report.draw_reports(found, examples, rows, picture)
        return
    console = Console()
    width, title = min(console.width, _WIDEST), paper.run_title(folder.config)
    for one in rows:
        console.print(terminal.example_text(one, title, width), width=width, highlight=False)
        if picture is None:
            stem = f"inspect-{split}-row" if split else "inspect-row"
            _draw(console, found, one.examples, [one], run / f"{stem}-{one.number}.png")
    if picture is not None:
        _draw(console, found, examples, rows, picture)


def _draw(
    console: Console,
    run: run_folder.LoadedRun,
    examples: Examples,
    rows: Sequence[example_report.ExampleReport],
    path: Path,
) -> None:
    try:
        example_report.draw_reports(run, examples, rows, path)
    except MissingPackageError as error:
        console.print(f"No picture: {error}\n", highlight=False)
    else:
        console.print(f"picture  {path}\n", highlight=False, soft_wrap=True)
