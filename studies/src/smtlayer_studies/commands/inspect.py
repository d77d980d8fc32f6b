"""The command `smtlayer inspect`: shows examples of a run and explains their results."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console

from smtlayer_cli.waiting import Waiting
from smtlayer_studies.commands.complete import runs
from smtlayer_studies.commands.options import DataDir

_WIDEST = 100


def inspect(
    run: Path = typer.Argument(
        metavar="RUN", autocompletion=runs, help="Folder of a run, as `smtlayer train` writes it."
    ),
    row: list[int] = typer.Option(
        [0], metavar="N", help="Number of an example, from 0; may be given more than once."
    ),
    failed: bool = typer.Option(
        False, "--failed", help="The next example, from --row on, whose answer is wrong."
    ),
    corrected: bool = typer.Option(
        False, "--corrected",
        help="The next example, from --row on, that is correct only because the solver overruled "
        "inputs.",
    ),
    split: Literal["test", "validation", "train"] | None = typer.Option(
        None, help="Where examples are from [default: what the run was scored on]."
    ),
    runner_up: bool = typer.Option(False, "--runner-up", help="Also find the second-best answer."),
    picture: Path | None = typer.Option(
        None, metavar="FILE",
        help="Picture of all examples [default: RUN/inspect-row-N.png for each].",
    ),
    data_dir: DataDir = None,
    as_json: bool = typer.Option(
        False, "--json", help="Print a JSON list; a picture only with --picture."
    ),
) -> None:  # fmt: skip
    """Show examples of a trained run with their pictures, and explain their results.

    This shows what the network read and with what confidence, whether that satisfies the theory,
    what the solver overruled, and which inputs and constraints exclude the true answer.

    Examples:

    \b
        smtlayer inspect runs/mnist-addition-10/best --row 7
        smtlayer inspect runs/mnist-addition-10/best --failed --runner-up
        smtlayer inspect runs/mnist-addition-10/best --corrected --row 100 --json
    """
    from smtlayer_cli.pyplot import check_picture
    from smtlayer_studies.reports import example_report
    from smtlayer_studies.reports.paper import run_title
    from smtlayer_studies.reports.terminal import example_text
    from smtlayer_studies.runs.run_folder import RunFolder

    if picture is not None:
        check_picture(picture, "--picture")
    folder = RunFolder.read(run)
    example_report.require_layer(folder)
    kinds: list[example_report.Outcome] = ["failed"] if failed else []
    kinds += ["corrected"] if corrected else []
    with Waiting(f"loading {run}") as waiting:
        loaded = folder.load(data_dir)
        if kinds:
            waiting.update(f"searching {run} for examples: {' or '.join(kinds)}")
            find = example_report.find_example
            row = [find(loaded, one, kinds, split, waiting.count) for one in row]
        numbers = list(dict.fromkeys(row))
        waiting.update(f"explaining example {', '.join(map(str, numbers))} of {run}")
        name, examples = example_report.read_examples(loaded, numbers, split)
        found = example_report.explain_examples(loaded, name, examples, numbers, runner_up)
    if as_json:
        typer.echo(json.dumps([{"run": str(run), **one.to_dict()} for one in found], indent=1))
        if picture is not None:
            example_report.draw_reports(loaded, examples, found, picture)
        return
    console = Console()
    width, title = min(console.width, _WIDEST), run_title(folder.config)
    stem = f"inspect-{split}-row" if split else "inspect-row"
    draw = partial(example_report.draw_reports, loaded)
    for one in found:
        console.print(example_text(one, title, width), width=width, highlight=False)
        if picture is None:
            _draw(console, run / f"{stem}-{one.number}.png", partial(draw, one.examples, [one]))
    if picture is not None:
        _draw(console, picture, partial(draw, examples, found))


def _draw(console: Console, path: Path, draw: Callable[[Path], object]) -> None:
    from smtlayer.errors import MissingPackageError

    try:
        draw(path)
    except MissingPackageError as error:
        console.print(f"No picture: {error}\n", highlight=False)
    else:
        console.print(f"picture  {path}\n", highlight=False, soft_wrap=True)
