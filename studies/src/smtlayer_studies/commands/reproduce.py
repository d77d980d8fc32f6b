"""This file holds `smtlayer reproduce`: runs what is missing of the paper's table, and shows it."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from smtlayer.errors import MissingDataError
from smtlayer_cli.choices import chosen, seeds_of, split
from smtlayer_cli.complete import devices, several_methods, several_rows
from smtlayer_cli.errors import ExitCode
from smtlayer_cli.help import CommandPage, GroupPage
from smtlayer_cli.later import Later

if TYPE_CHECKING:
    from smtlayer_studies.reports import paper, render, result_tables, results_plot
    from smtlayer_studies.reports import results as records
    from smtlayer_studies.reports.results import Result
    from smtlayer_studies.runs import experiments, grid
    from smtlayer_studies.runs import options as checks
else:
    result_tables, paper = (
        Later("smtlayer_studies.reports.result_tables"),
        Later("smtlayer_studies.reports.paper"),
    )
    render, records = (
        Later("smtlayer_studies.reports.render"),
        Later("smtlayer_studies.reports.results"),
    )
    results_plot = Later("smtlayer_studies.reports.results_plot")
    experiments, grid = (
        Later("smtlayer_studies.runs.experiments"),
        Later("smtlayer_studies.runs.grid"),
    )
    checks = Later("smtlayer_studies.runs.options")

reproduce_app = typer.Typer(
    cls=GroupPage,
    help="Train the rows of the paper's table, and show ours beside it.",
    rich_markup_mode=None,
    add_completion=False,
)
_TRAINING, _FILES, _SHOWN = "What is trained", "Data and files", "The table"
_TIMED_EPOCHS = 5
_SMOKE = ("train.epochs=1", "train.rows=64", "train.test_rows=64")
_SOURCE = Path(__file__).parents[4]  # the checkout, where the package runs from one


class Format(StrEnum):
    """Ways to show the table."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    LATEX = "latex"
    HTML = "html"
    JSON = "json"


_SUFFIXES = {
    ".md": Format.MARKDOWN, ".tex": Format.LATEX, ".html": Format.HTML, ".json": Format.JSON,
}  # fmt: skip
_TEXT: dict[Format, Callable[[Sequence[Result]], str]] = {
    Format.MARKDOWN: lambda results: render.markdown(result_tables.tables(results)) + "\n",
    Format.LATEX: lambda results: render.latex(result_tables.tables(results)) + "\n",
    Format.HTML: lambda results: render.html(
        result_tables.tables(results), "smtlayer: the paper's table, reproduced"
    ),
    Format.JSON: lambda results: records.results_json(results) + "\n",
}


@reproduce_app.callback()
def _group() -> None:
    """Each table of the paper is a command of its own."""


@reproduce_app.command(cls=CommandPage)
def table1(
    rows: str | None = typer.Option(
        None, metavar="NAMES", autocompletion=several_rows, rich_help_panel=_TRAINING,
        help="Rows, as names or patterns with commas between: mnist-addition-*,liars-puzzle.",
    ),
    methods: str | None = typer.Option(
        None, metavar="NAMES", autocompletion=several_methods, rich_help_panel=_TRAINING,
        help="Methods, the same way: conventional,paper,best [default: all of a row].",
    ),
    seeds: str | None = typer.Option(
        None, metavar="NUMBERS", rich_help_panel=_TRAINING,
        help="Seeds, as 0,1,2 or 0-4 [default: those of the experiment; of records, all].",
    ),
    jobs: int = typer.Option(
        1, metavar="N", min=1, rich_help_panel=_TRAINING,
        help="Trainings at a time; several may share a GPU.",
    ),
    device: str = typer.Option(
        "cpu", metavar="NAME", autocompletion=devices, rich_help_panel=_TRAINING,
        help="For example cuda.",
    ),
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER", rich_help_panel=_FILES,
        help="Data folder [default: $SMTLAYER_DATA].",
    ),
    results: Path | None = typer.Option(
        None, metavar="FOLDER", rich_help_panel=_FILES,
        help="Folder of records [default: results here, else in the checkout].",
    ),
    runs: Path = typer.Option(
        Path("runs/table1"), metavar="FOLDER", rich_help_panel=_FILES,
        help="Folder of runs: logs, checkpoints.",
    ),
    records_only: bool = typer.Option(
        False, "--records-only", help="Train nothing; the table from the records."
    ),
    as_json: bool = typer.Option(
        False, "--json", rich_help_panel=_SHOWN, help="The table as JSON, for machines."
    ),
    form: Format | None = typer.Option(
        None, "--format", rich_help_panel=_SHOWN,
        help="[default: as the name of --out ends, else terminal]",
    ),
    out: Path | None = typer.Option(
        None, metavar="FILE", rich_help_panel=_SHOWN,
        help="Write the table here, not to the terminal.",
    ),
    plot: Path | None = typer.Option(
        None, metavar="FILE", rich_help_panel=_SHOWN, help="Draw the table to this file."
    ),
    timing: bool = typer.Option(
        False, "--timing", rich_help_panel=_TRAINING,
        help="Time epochs too, one process at a time: leave the machine alone meanwhile.",
    ),
    smoke: bool = typer.Option(
        False, "--smoke",
        help="Only see that all works: a few steps each, seed 0, no record is kept.",
    ),
) -> None:  # fmt: skip
    """Test accuracy and seconds per epoch of each row: trains what has no record yet.

    Examples:

        smtlayer reproduce table1 --records-only
        smtlayer reproduce table1 --rows "visual-sudoku-*" --seeds 0-2
        smtlayer reproduce table1 --device cuda --jobs 8 --results mine
    """
    shape = Format.JSON if as_json else form or _by_suffix(out)
    if smoke:
        raise typer.Exit(_smoke(_selection(rows, methods), jobs, _options(device, data_dir)))
    folder = _results_folder(results, must_exist=records_only)
    failed, selection = 0, dict[str, tuple[str, ...]]()
    if not records_only:
        checks.check_device(device)
        selection = _selection(rows, methods)
        options = _options(device, data_dir)
        wanted = grid.train_jobs(selection, _seeds(selection, seeds), runs, options)
        failed += _run(_missing(wanted, folder), jobs, folder)
        if timing:
            timings = grid.timing_jobs(selection, _TIMED_EPOCHS, runs, options)
            failed += _run(_missing(timings, folder), 1, folder)
    found = _found(folder, rows, methods, seeds, selection)
    _show(found, shape, out)
    if plot is not None:
        _say(f"plot   {results_plot.draw_table(found, plot)}")
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)


def _by_suffix(out: Path | None) -> Format:
    return _SUFFIXES.get(out.suffix, Format.TERMINAL) if out else Format.TERMINAL


def _options(device: str, data_dir: Path | None) -> tuple[str, ...]:
    return ("--device", device, *(("--data-dir", str(data_dir)) if data_dir else ()))


def _selection(rows: str | None, methods: str | None) -> dict[str, tuple[str, ...]]:
    """The methods to run of each row that was chosen; a row may lack some."""
    names = chosen("--rows", split(rows), experiments.experiment_names())
    has = {name: experiments.load_experiment(name).methods for name in names}
    known = tuple(dict.fromkeys(method for some in has.values() for method in some))
    wanted = chosen("--methods", split(methods), known)
    return {name: tuple(m for m in some if m in wanted) for name, some in has.items()}


def _seeds(rows: Iterable[str], given: str | None) -> dict[str, Sequence[int]]:
    """The seeds to run of each row: those given, else its own."""
    if given is not None:
        return dict.fromkeys(rows, seeds_of(given))
    return {row: experiments.load_experiment(row).seeds for row in rows}


def _results_folder(given: Path | None, must_exist: bool) -> Path:
    """The first folder `results` with records: here, up the tree, in the checkout we run from."""
    if given is not None:
        return given
    here = Path.cwd()
    checkouts = [folder for folder in (here, *here.parents, _SOURCE) if _is_checkout(folder)]
    kept = [folder / "studies" / "results" for folder in checkouts]
    places = [here / "results", *kept]
    for place in places:
        if records.holds_records(place):
            return place
    if must_exist:
        looked = ", ".join(str(place) for place in dict.fromkeys(places))
        raise MissingDataError(
            f"The table needs records of runs, as results/ROW/METHOD-seedN.json. There are none "
            f"in {looked}: name their folder with --results, or train without --records-only."
        )
    return kept[0] if kept else here / "results"


def _is_checkout(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file() and (folder / "src" / "smtlayer").is_dir()


def _target(job: grid.Job, folder: Path) -> Path:
    """Where results keep what a job leaves; both name it by row, method and seed."""
    return folder / job.done.parents[1].name / f"{job.done.parent.name}.json"


def _missing(jobs: Sequence[grid.Job], folder: Path) -> list[grid.Job]:
    """Jobs without a record in results yet."""
    left = [job for job in jobs if not _target(job, folder).exists()]
    if len(left) < len(jobs):
        _say(f"{len(jobs) - len(left)} of {len(jobs)} runs have a record in {folder} already.")
    return left


def _run(jobs: Sequence[grid.Job], at_once: int, folder: Path | None) -> int:
    """Runs jobs with a progress bar, keeps their records, and returns how many failed."""
    if not jobs:
        return 0
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"), TimeElapsedColumn(),
        TextColumn("{task.fields[running]}", style="dim"),
    )  # fmt: skip
    console = Console(stderr=True)
    with _ended_by_sigterm(), Progress(*columns, console=console) as bar:
        task = bar.add_task("runs", total=len(jobs), running="", failed=0)

        def on_change(progress: grid.Progress) -> None:
            if folder and progress.latest and not progress.latest.failed:
                _keep(progress.latest.job, folder)
            names = ", ".join(job.name for job in progress.running)
            done = len(progress.outcomes)
            bar.update(task, completed=done, running=names, failed=progress.failed)
            if progress.latest and not console.is_terminal:  # a log has no bars
                latest = progress.latest
                _say(f"{done}/{len(jobs)} {latest.job.name}: {latest.state}", console)

        outcomes = grid.run_jobs(jobs, at_once, on_change)
    for outcome in outcomes:
        if outcome.failed:
            _say(f"\n{outcome.job.name} failed: {outcome.reason}. Log: {outcome.job.log}", console)
            _say(outcome.tail, console)
    return sum(outcome.failed for outcome in outcomes)


def _keep(job: grid.Job, folder: Path) -> None:
    """Copies what a job left into the results, unless no table would show it."""
    target = _target(job, folder)
    reason = (
        records.left_out(records.read_record(job.done)) if job.done.name == "record.json" else ""
    )
    if reason:
        _say(f"{job.name} is not put into {folder}: {reason}.")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    shutil.copyfile(job.done, part)
    part.replace(target)


def _smoke(selection: Mapping[str, Sequence[str]], jobs: int, options: Sequence[str]) -> int:
    """A few steps of everything in a folder that is kept only if something failed."""
    folder = Path(tempfile.mkdtemp(prefix="smtlayer-smoke-"))
    settings = [part for setting in _SMOKE for part in ("--set", setting)]
    wanted = grid.train_jobs(selection, _seeds(selection, "0"), folder, (*options, *settings))
    failed = _run(wanted, jobs, None)
    typer.echo(f"{len(wanted) - failed} of {len(wanted)} runs work.")
    if not failed:
        shutil.rmtree(folder)
    return int(failed > 0)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Being told to end leaves no process behind, as Ctrl-C does not."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _found(
    folder: Path,
    rows: str | None,
    methods: str | None,
    seeds: str | None,
    selection: Mapping[str, Sequence[str]],
) -> list[Result]:
    """Results of what was chosen, by the records in a folder and what was to be trained."""
    kept = records.read_results(folder)
    for reason, count in Counter(map(records.left_out, kept.records)).items():
        if reason:
            _say(f"Left out of {folder}: {count} records, {reason}.")
    real = [record for record in kept.records if not records.left_out(record)]
    known = tuple(dict.fromkeys([*paper.EXPERIMENTS, *(record["experiment"] for record in real)]))
    names = chosen("--rows", split(rows), known)
    of_rows = [record for record in real if record["experiment"] in names]
    trained = [method for some in selection.values() for method in some]  # all may have failed
    ways = dict.fromkeys([*records.METHODS, *trained, *(record["method"] for record in real)])
    wanted = chosen("--methods", split(methods), tuple(ways))
    numbers = None if seeds is None else seeds_of(seeds)
    picked = [
        record
        for record in of_rows
        if record["method"] in wanted and (numbers is None or record["seed"] in numbers)
    ]
    if not picked:
        raise MissingDataError(
            "The table needs records of the rows, methods and seeds chosen, scored on real test "
            f"data. There are none in {folder}: train them, or choose others."
        )
    return records.results_of(picked, kept.timings)


def _show(results: Sequence[Result], shape: Format, out: Path | None) -> None:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    if shape is not Format.TERMINAL:
        text = _TEXT[shape](results)
        if out is None:
            sys.stdout.write(text)
        else:
            out.write_text(text, encoding="utf-8")
    elif out is None:
        _print_tables(results, Console())
    else:
        with out.open("w", encoding="utf-8") as file:
            _print_tables(results, Console(file=file))
    if out is not None:
        _say(f"table  {out}")


def _print_tables(results: Sequence[Result], console: Console) -> None:
    for table in result_tables.tables(results):
        if not console.is_terminal:  # a file is as wide as the table
            console.width = max(console.width, render.terminal_width(table))
        console.print(render.terminal(table, console.width))


def _say(text: str, console: Console | None = None) -> None:
    """For people: never on stdout, which may be read by a machine."""
    (console or Console(stderr=True)).print(Text(text), soft_wrap=True)
