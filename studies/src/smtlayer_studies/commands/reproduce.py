"""The options of `smtlayer reproduce`."""

from enum import StrEnum
from pathlib import Path

import typer

from smtlayer_cli.errors import ExitCode
from smtlayer_cli.help import PanelCommand
from smtlayer_studies.commands.complete import several_experiments, several_methods
from smtlayer_studies.commands.options import FILES, DataDir, Device

reproduce = typer.Typer(
    help="Train the experiments of the paper's table, and show our results beside the paper's.",
    rich_markup_mode=None,
    add_completion=False,
)
_TRAINING, _TABLE = "Training", "The table"


class Format(StrEnum):
    """Formats of the table."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    LATEX = "latex"
    HTML = "html"
    JSON = "json"


_SUFFIXES = {
    ".md": Format.MARKDOWN, ".tex": Format.LATEX, ".html": Format.HTML, ".json": Format.JSON,
}  # fmt: skip


@reproduce.callback()
def _group() -> None:
    """Each table of the paper is a command."""


@reproduce.command(cls=PanelCommand)
def table1(
    rows: str | None = typer.Option(
        None, metavar="NAMES", autocompletion=several_experiments, rich_help_panel=_TRAINING,
        help="Experiments: names or patterns with commas between them, as "
        "mnist-addition-*,liars-puzzle.",
    ),
    methods: str | None = typer.Option(
        None, metavar="NAMES", autocompletion=several_methods, rich_help_panel=_TRAINING,
        help="Methods, the same way: conventional,paper,best [default: all].",
    ),
    seeds: str | None = typer.Option(
        None, metavar="NUMBERS", rich_help_panel=_TRAINING,
        help="Seeds, as 0,1,2 or 0-4 [default: those of the experiment].",
    ),
    jobs: int = typer.Option(
        1, metavar="N", min=1, rich_help_panel=_TRAINING,
        help="Number of runs to train at the same time; several may share a GPU.",
    ),
    device: Device = "cpu",
    data_dir: DataDir = None,
    results: Path | None = typer.Option(
        None, metavar="FOLDER", rich_help_panel=FILES,
        help="Folder of records [default: results here, else in the checkout].",
    ),
    runs: Path = typer.Option(
        Path("runs/table1"), metavar="FOLDER", rich_help_panel=FILES,
        help="Folder of the runs, with logs and checkpoints.",
    ),
    records_only: bool = typer.Option(
        False, "--records-only", help="Train nothing; show the table of the records."
    ),
    as_json: bool = typer.Option(
        False, "--json", rich_help_panel=_TABLE, help="Print the table as JSON."
    ),
    form: Format | None = typer.Option(
        None, "--format", rich_help_panel=_TABLE,
        help="Format of the table [default: by the suffix of --out, else terminal].",
    ),
    out: Path | None = typer.Option(
        None, metavar="FILE", rich_help_panel=_TABLE,
        help="Write the table to this file.",
    ),
    plot: Path | None = typer.Option(
        None, metavar="FILE", rich_help_panel=_TABLE, help="Draw the table to this file."
    ),
    timing: bool = typer.Option(
        False, "--timing", rich_help_panel=_TRAINING,
        help="Also time epochs, one process at a time; the machine should be otherwise idle.",
    ),
    smoke: bool = typer.Option(
        False, "--smoke",
        help="Only test that everything works: a few steps each, seed 0, no record is kept.",
    ),
) -> None:  # fmt: skip
    """Test accuracy and seconds per epoch of each experiment: trains what has no record yet.

    Examples:

    \b
        smtlayer reproduce table1 --records-only
        smtlayer reproduce table1 --rows "visual-sudoku-*" --seeds 0-2
        smtlayer reproduce table1 --device cuda --jobs 8 --results mine
    """
    from smtlayer_studies.commands import reproduce_steps as steps

    suffix = "" if out is None else out.suffix
    form = Format.JSON if as_json else form or _SUFFIXES.get(suffix, Format.TERMINAL)
    selection, failed = steps.Selection(rows, methods, seeds), 0
    if smoke:
        failed = steps.smoke_test(selection, jobs=jobs, device=device, data_dir=data_dir)
        raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)
    folder = steps.results_folder(results, must_exist=records_only)
    if not records_only:
        failed = steps.train_missing(
            selection, folder, runs, jobs=jobs, device=device, data_dir=data_dir, timing=timing
        )
    found = steps.read_table(folder, selection, trained=not records_only)
    steps.show_table(found, form, out, plot)
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)
