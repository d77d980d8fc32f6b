"""The steps of `smtlayer reproduce`: training what has no record yet, and showing the table."""

import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from smtlayer.errors import MissingDataError
from smtlayer_studies.commands.choices import matching, parse_seeds, split
from smtlayer_studies.commands.reproduce import Format
from smtlayer_studies.reports import paper, render, result_tables, results_plot
from smtlayer_studies.reports import results as records
from smtlayer_studies.reports.results import Result
from smtlayer_studies.runs import experiments, grid
from smtlayer_studies.runs.run_options import check_device

_TIMED_EPOCHS = 5
_SMOKE = ("train.epochs=1", "train.rows=64", "train.test_rows=64", "members.budget=100")
_SOURCE = Path(__file__).parents[4]  # the checkout, if the package runs from one
_FORMATS: Mapping[Format, Callable[[Sequence[Result]], str]] = {
    Format.MARKDOWN: lambda results: render.markdown(result_tables.tables(results)) + "\n",
    Format.LATEX: lambda results: render.latex(result_tables.tables(results)) + "\n",
    Format.HTML: lambda results: render.html(
        result_tables.tables(results), "smtlayer: the paper's table, reproduced"
    ),
    Format.JSON: lambda results: records.results_json(results) + "\n",
}


@dataclass(frozen=True)
class Selection:
    """The experiments, methods and seeds that options choose; None for all."""

    experiments: str | None
    methods: str | None
    seeds: str | None

    def methods_by_experiment(self) -> dict[str, tuple[str, ...]]:
        """The methods to train of each experiment; an experiment may lack some."""
        known = tuple(dict.fromkeys([*paper.EXPERIMENTS, *experiments.experiment_names()]))
        patterns = split(self.experiments) or tuple(paper.EXPERIMENTS)
        names = matching("--rows", patterns, known)
        has = {name: experiments.load_experiment(name).methods for name in names}
        methods = tuple(dict.fromkeys(method for some in has.values() for method in some))
        wanted = matching("--methods", split(self.methods), methods)
        return {name: tuple(m for m in some if m in wanted) for name, some in has.items()}

    def seeds_by_method(
        self, methods: Mapping[str, Sequence[str]]
    ) -> dict[tuple[str, str], Sequence[int]]:
        """The seeds to train of each method: those chosen, else those of its experiment's file."""
        pairs = [(name, method) for name, some in methods.items() for method in some]
        if self.seeds is not None:
            return dict.fromkeys(pairs, parse_seeds(self.seeds))
        return {(n, m): experiments.load_experiment(n).seeds_of(m) for n, m in pairs}


def train_missing(
    selection: Selection,
    folder: Path,
    runs: Path,
    *,
    jobs: int,
    device: str,
    data_dir: Path | None,
    timing: bool,
) -> int:
    """Trains what has no record in the folder yet, and returns how many runs failed."""
    check_device(device)
    methods, options = selection.methods_by_experiment(), _options(device, data_dir)
    wanted = grid.train_jobs(methods, selection.seeds_by_method(methods), runs, options)
    failed = _run(_missing(wanted, folder), jobs, folder)
    if timing:
        timings = grid.timing_jobs(methods, _TIMED_EPOCHS, runs, options)
        failed += _run(_missing(timings, folder), 1, folder)
    return failed


def smoke_test(selection: Selection, *, jobs: int, device: str, data_dir: Path | None) -> int:
    """Trains a few steps of everything, and returns how many runs failed; only then keeps them."""
    folder = Path(tempfile.mkdtemp(prefix="smtlayer-smoke-"))
    settings = [part for setting in _SMOKE for part in ("--set", setting)]
    methods = selection.methods_by_experiment()
    options = (*_options(device, data_dir), *settings)
    wanted = grid.train_jobs(
        methods, Selection(None, None, "0").seeds_by_method(methods), folder, options
    )
    failed = _run(wanted, jobs, None)
    typer.echo(f"{len(wanted) - failed} of {len(wanted)} runs work.")
    if not failed:
        shutil.rmtree(folder)
    return failed


def _options(device: str, data_dir: Path | None) -> tuple[str, ...]:
    return ("--device", device, *(("--data-dir", str(data_dir)) if data_dir else ()))


def results_folder(given: Path | None, *, must_exist: bool) -> Path:
    """The folder of records: the given one, else `results` here or in a checkout."""
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
        searched = ", ".join(str(place) for place in dict.fromkeys(places))
        raise MissingDataError(
            f"The table needs records of runs, as results/EXPERIMENT/METHOD-seedN.json. There are "
            f"none in {searched}: name their folder with --results, or train without "
            f"--records-only."
        )
    return kept[0] if kept else here / "results"


def _is_checkout(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file() and (folder / "src" / "smtlayer").is_dir()


def _target(job: grid.Job, folder: Path) -> Path:
    """The record of a job in the results; both are named by experiment, method and seed."""
    return folder / job.done.parents[1].name / f"{job.done.parent.name}.json"


def _missing(jobs: Sequence[grid.Job], folder: Path) -> list[grid.Job]:
    """The jobs that have no record in the results yet."""
    left = [job for job in jobs if not _target(job, folder).exists()]
    if len(left) < len(jobs):
        _print(f"{len(jobs) - len(left)} of {len(jobs)} runs have a record in {folder} already.")
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
                _print(f"{done}/{len(jobs)} {latest.job.name}: {latest.state}", console)

        outcomes = grid.run_jobs(jobs, at_once, on_change)
    for outcome in outcomes:
        if outcome.failed:
            _print(
                f"\n{outcome.job.name} failed: {outcome.reason}. Log: {outcome.job.log}", console
            )
            _print(outcome.tail, console)
    return sum(outcome.failed for outcome in outcomes)


def _keep(job: grid.Job, folder: Path) -> None:
    """Copies the record of a job into the results, unless no table would show it."""
    target = _target(job, folder)
    reason = (
        records.left_out(records.read_record(job.done)) if job.done.name == "record.json" else ""
    )
    if reason:
        _print(f"{job.name} is not put into {folder}: {reason}.")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    shutil.copyfile(job.done, part)
    part.replace(target)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C, so that no child process is left behind."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def read_table(folder: Path, selection: Selection, *, trained: bool) -> list[Result]:
    """The results of a selection from the records in a folder.

    If it was trained just now, its methods are known names even if all runs failed.
    """
    kept = records.read_results(folder)
    for reason, count in Counter(map(records.left_out, kept.records)).items():
        if reason:
            _print(f"Left out of {folder}: {count} records, {reason}.")
    real = [record for record in kept.records if not records.left_out(record)]
    known = dict.fromkeys([*paper.EXPERIMENTS, *(record["experiment"] for record in real)])
    names = matching("--rows", split(selection.experiments), tuple(known))
    by_experiment = selection.methods_by_experiment() if trained else {}
    methods = [method for some in by_experiment.values() for method in some]
    known = dict.fromkeys([*records.METHODS, *methods, *(record["method"] for record in real)])
    wanted = matching("--methods", split(selection.methods), tuple(known))
    seeds = None if selection.seeds is None else parse_seeds(selection.seeds)
    picked = [
        record
        for record in real
        if record["experiment"] in names
        and record["method"] in wanted
        and (seeds is None or record["seed"] in seeds)
    ]
    if not picked:
        raise MissingDataError(
            "The table needs records of the experiments, methods and seeds chosen, scored on real "
            f"test data. There are none in {folder}: train them, or choose others."
        )
    return records.results_of(picked, kept.timings)


def show_table(
    results: Sequence[Result], form: Format, out: Path | None, plot: Path | None
) -> None:
    """Prints the table or writes it to a file, and draws it if a plot is wanted."""
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    if form is not Format.TERMINAL:
        text = _FORMATS[form](results)
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
        _print(f"table  {out}")
    if plot is not None:
        _print(f"plot   {results_plot.draw_table(results, plot)}")


def _print_tables(results: Sequence[Result], console: Console) -> None:
    for table in result_tables.tables(results):
        if not console.is_terminal:  # a file is as wide as the table
            console.width = max(console.width, render.terminal_width(table))
        console.print(render.terminal(table, console.width))


def _print(text: str, console: Console | None = None) -> None:
    """Prints to stderr, as stdout is for the table."""
    (console or Console(stderr=True)).print(Text(text), soft_wrap=True)
