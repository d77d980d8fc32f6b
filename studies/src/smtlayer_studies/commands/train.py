"""This file holds `smtlayer train ROW`: trains with the layer and without it, and shows both."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from smtlayer.errors import (
    ConfigError,
    MissingDataError,
    MissingPackageError,
    UnsupportedError,
    UnsupportedRuleError,
)
from smtlayer_cli.complete import devices, methods, row_names, rules
from smtlayer_cli.later import Later
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    from smtlayer_studies import reports
    from smtlayer_studies import runs as training
    from smtlayer_studies.runs import run_folder
else:
    reports, training = Later("smtlayer_studies.reports"), Later("smtlayer_studies.runs")
    run_folder = Later("smtlayer_studies.runs.run_folder")

_METHODS = ("conventional", "best")
_LAYER, _FILES = "The layer", "Data and files"


def train(
    context: typer.Context,
    experiment: str = typer.Argument(
        "mnist-addition-10", metavar="ROW", autocompletion=row_names,
        help="A row of the table, or a TOML file of your own.",
    ),
    method: list[str] = typer.Option(
        list(_METHODS), metavar="NAME", autocompletion=methods,
        help="Which of the row's methods; may be given more than once.",
    ),
    epochs: int | None = typer.Option(
        None, metavar="N", help="Times to go through the rows.", min=1
    ),
    seed: int = typer.Option(0, metavar="N", help="Of network, rows and draws."),
    backend: Literal["auto", "table", "sat", "z3", "enumerate"] | None = typer.Option(
        None, help="Who answers the layer's questions.", rich_help_panel=_LAYER
    ),
    forward: Literal["smt", "maxsmt"] | None = typer.Option(
        None, rich_help_panel=_LAYER,
        help="Rule in training: contradictions give zeros, or are repaired.",
    ),
    backward: str | None = typer.Option(
        None, metavar="RULE", autocompletion=rules, rich_help_panel=_LAYER,
        help="How blame is found: core, maxsmt, sample, marginal, mix(core, marginal), ...",
    ),
    workers: int | None = typer.Option(
        None, metavar="N", help="Processes that share a batch's rows.", min=0,
        rich_help_panel=_LAYER,
    ),
    device: str = typer.Option(
        "cpu", metavar="NAME", autocompletion=devices, help="For example cuda."
    ),
    data: Literal["auto", "mnist", "sample"] | None = typer.Option(
        None, rich_help_panel=_FILES,
        help="All of MNIST from the data folder, or a sample that comes with a dependency.",
    ),
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER", rich_help_panel=_FILES,
        help="Data folder [default: $SMTLAYER_DATA].",
    ),
    set_: list[str] = typer.Option(
        [], "--set", help="Any option of the file, as in --set train.lr=1e-3.", metavar="KEY=VALUE"
    ),
    out: str | None = typer.Option(  # text, since the path of an empty one is the current folder
        None, metavar="FOLDER", rich_help_panel=_FILES,
        help="Folder of the run [default: runs/ROW].",
    ),
    timing: int = typer.Option(
        0, metavar="N", min=0,
        help="Time this many epochs of each method, with the layer and without in turns; "
        "trains nothing.",
    ),
) -> None:  # fmt: skip
    """Train a row of the table: by default with the layer, and beside it a conventional network.

    A run that was stopped goes on where it was; one that is finished is shown again.

    Examples:

        smtlayer train mnist-addition --data sample
        smtlayer train visual-sudoku-10 --method best --device cuda
        smtlayer train liars-puzzle --method best --backward core --seed 3
        smtlayer train my_experiment.toml --set train.lr=1e-3 --out runs/mine
    """
    row = training.load_experiment(experiment)
    folder = _folder(out, row)
    given = {"train.epochs": epochs, "layer.backend": backend, "layer.forward": forward,
             "layer.backward": backward, "layer.workers": workers, "task.data": data}  # fmt: skip
    settings = [f"{key}={value}" for key, value in given.items() if value is not None] + set_
    method = _methods(row, None if _is_default(context, "method") else method)
    configs = [_config(row, name, seed, device, settings, data_dir) for name in method]
    console = Console()
    if timing:
        _check_layers(console, configs, data_dir)
        _time(console, configs, timing, folder, data_dir)
        return
    alone = len(configs) == 1
    places = {c.method: folder if alone else folder / c.method for c in configs}
    done = {c.method: _finished(console, c, places[c.method]) for c in configs}
    _check_layers(console, [c for c in configs if done[c.method] is None], data_dir)
    runs = {
        c.method: done[c.method] or _run(console, row, c, places[c.method], data_dir)
        for c in configs
    }
    _show(console, runs)
    _what_next(console, places, runs)


def _folder(out: str | None, row: training.Experiment) -> Path:
    """Where to write, which may still have to be made."""
    if out is not None and not out.strip():
        raise ConfigError(f"--out expects a folder, as in --out runs/{row.name}. Got {out!r}.")
    folder = Path("runs") / row.name if out is None else Path(out)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise ConfigError(f"{there} is a file; --out expects a folder. Choose another.")
    return folder


def _is_default(context: typer.Context, name: str) -> bool:
    """Whether an option was not given."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def _methods(row: training.Experiment, given: list[str] | None) -> list[str]:
    """The methods that were asked for, else those of the usual ones that the experiment has."""
    usual = [name for name in _METHODS if name in row.methods]
    return given or usual or list(row.methods)


def _check_layers(
    console: Console, configs: Sequence[training.RunConfig], data_dir: Path | None
) -> None:
    """Makes the layer of each once, so that one that cannot be made is told before any training."""
    with Waiting("making the layer", console):
        for config in configs:
            if config.layer is not None:
                _check_layer(config, config.layer, data_dir)


def _check_layer(
    config: training.RunConfig, layer: training.LayerOptions, data_dir: Path | None
) -> None:
    theory = training.make_task(config.task, data_dir).theory
    try:
        layer.make(theory)
    except UnsupportedError as error:
        instead = [] if layer.backend == "auto" else ["--backend auto"]
        if isinstance(error, UnsupportedRuleError):
            instead.append("--backward core")
        if not instead:
            raise
        raise ConfigError(
            f"{config.experiment}, {config.method}: no layer can be made with the backend "
            f"{layer.backend} and the rule {layer.backward}. {error.reason} "
            f"Use {' or '.join(instead)}."
        ) from error


def _config(
    row: training.Experiment,
    method: str,
    seed: int,
    device: str,
    settings: Sequence[str],
    data_dir: Path | None,
) -> training.RunConfig:
    config = row.config(method, seed=seed, device=device, settings=settings)
    if row.sample and training.make_task(config.task, data_dir).data == "sample":
        return row.config(method, seed=seed, device=device, settings=settings, sample=True)
    return config


def _run(
    console: Console,
    row: training.Experiment,
    config: training.RunConfig,
    folder: Path,
    data_dir: Path | None,
) -> training.RunRecord:
    epochs = config.train.epochs
    console.print(
        f"[bold]{row.title}[/bold], {config.method}: {epochs} epoch{'s'[: epochs > 1]}, "
        f"seed {config.seed}, {config.device}", highlight=False,
    )  # fmt: skip
    columns = (
        TextColumn("{task.description:<8}"), BarColumn(bar_width=16), MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"), TimeRemainingColumn(),
    )  # fmt: skip
    try:
        with Progress(*columns, console=console) as progress:
            view = _Bars(progress, console, config)
            finished = training.run(
                config, folder, data_dir=data_dir, on_step=view.show, on_rows=view.score
            )
    except KeyboardInterrupt:
        console.print(f"Stopped; the same command goes on from {folder}.", highlight=False)
        raise
    _draw(console, finished, folder)
    return finished.record


class _Bars:
    """A bar a phase; in a log, which has no bars, a line an epoch."""

    def __init__(self, progress: Progress, console: Console, config: training.RunConfig) -> None:
        self._progress, self._console, self._config = progress, console, config
        self._bars: dict[str, tuple[TaskID, int]] = {}

    def show(self, event: training.Event) -> None:
        """Moves the bar of the event's phase."""
        title = event.title
        if title not in self._bars or event.done < self._bars[title][1]:
            self._bars[title] = (self._progress.add_task(title, total=event.total, told=""), 0)
        bar, _ = self._bars[title]
        self._bars[title] = (bar, event.done)
        self._progress.update(
            bar, completed=event.done, told=f"loss {event.loss:.3f}  right {event.accuracy:.1%}  "
            f"solver {event.solver_share:.0%}",
        )  # fmt: skip
        steps = event.total // event.epochs
        if not self._console.is_terminal and event.done % steps == 0:
            self._console.print(
                f"{self._config.method}, {title}: epoch {event.done // steps} of {event.epochs}, "
                f"loss {event.loss:.3f}, right {event.accuracy:.1%}, "
                f"solver {event.solver_share:.0%} of the time",
                soft_wrap=True,
            )

    def score(self, done: int, total: int) -> None:
        """Moves the bar of the scoring that follows; a log has a line for its start."""
        if done == 0:
            self._bars["scoring"] = (self._progress.add_task("scoring", total=total, told=""), 0)
            if not self._console.is_terminal:
                self._console.print(
                    f"{self._config.method}: scoring {total:,} rows", soft_wrap=True
                )
        self._progress.update(self._bars["scoring"][0], completed=done)


def _finished(
    console: Console, config: training.RunConfig, folder: Path
) -> training.RunRecord | None:
    """The record of the same run, if all that it left is there and whole."""
    try:
        left = run_folder.RunFolder.read(folder)
        left.check_model()
    except (ConfigError, MissingDataError):
        if (folder / "record.json").exists():
            console.print(f"{config.method}: what {folder} has lost is made again", highlight=False)
        return None
    asked = tomllib.loads(config.to_toml())
    same = left.record is not None and left.record.config == config.as_dict()
    if not same or left.options != asked:
        return None
    console.print(f"{config.method}: finished earlier, in {folder}", highlight=False)
    return left.record


def _draw(console: Console, finished: training.Run, folder: Path) -> None:
    try:
        pictures = [path.name for path in reports.draw_run(finished, folder)]
    except MissingPackageError as error:
        console.print(f"No pictures: {error}", highlight=False)
        pictures = []
    files = ", ".join(["config.toml", "record.json", "model.pt", *pictures])
    console.print(f"wrote {folder}: {files}", highlight=False, soft_wrap=True)


def _time(
    console: Console,
    configs: list[training.RunConfig],
    epochs: int,
    folder: Path,
    data_dir: Path | None,
) -> None:
    for timing in training.time_epochs(configs, epochs, data_dir):
        timing.write(folder, configs[0].device)
        spread = "" if timing.ratio_sd is None else f" ± {timing.ratio_sd:.2f}"
        console.print(
            f"{timing.experiment}, {timing.method}: {timing.epoch_seconds:.2f} s per epoch, "
            f"{timing.ratio:.2f}{spread} times the {timing.conventional_epoch_seconds:.2f} s with "
            f"a dense head in place of the layer",
            highlight=False,
        )


def _show(console: Console, records: dict[str, training.RunRecord]) -> None:
    table = RichTable(title="Test rows that are right", title_justify="left")
    table.add_column("")
    headings = ("not shown", "all", "symbols read", "overruled", "time", "solver")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, record in records.items():
        seconds = sum(epoch["seconds"] for epoch in record.epochs)
        solver = sum(epoch["solver"].get("solver_seconds", 0) for epoch in record.epochs)
        shares = ("unseen_accuracy", "accuracy", "representation", "overruled")
        table.add_row(
            name, *(_percent(record.scores.get(share)) for share in shares),
            f"{seconds:.0f} s", _percent(solver / seconds if solver else None),
        )  # fmt: skip
    console.print(table)
    first = next(iter(records.values()))
    console.print(
        f"Not shown: combinations that training does not show. Data: {first.data_title}. "
        f"Scored on {first.split} rows.", highlight=False, width=min(console.width, 100),
    )  # fmt: skip
    for name, record in records.items():
        if share := record.scores.get("unanswered"):
            console.print(
                f"{name}: the solver gave up on {_percent(share)} of the rows, which count as "
                f"wrong. Give it more time with --set layer.timeout_ms=10000.", highlight=False,
            )  # fmt: skip
    dense = records.get("conventional")
    best = next((record for name, record in records.items() if name != "conventional"), None)
    if dense is None or best is None or "unseen_accuracy" not in best.scores:
        return
    console.print(
        f"On combinations that training never showed, the network with the formula is right in "
        f"{_percent(best.scores['unseen_accuracy'])} of rows, the conventional one in "
        f"{_percent(dense.scores['unseen_accuracy'])}. Nobody told it what the symbols look like: "
        f"it reads {_percent(best.scores['representation'])} of them right.",
        width=min(console.width, 100),
    )


def _what_next(
    console: Console, places: dict[str, Path], records: dict[str, training.RunRecord]
) -> None:
    """Commands that show more of what was trained."""
    lines = [f"smtlayer report {' '.join(map(str, places.values()))}"]
    best = next((name for name in places if records[name].config["layer"] is not None), None)
    if best is not None:
        lines.insert(0, f"smtlayer inspect {places[best]} --failed")
        if records[best].config["task"]["name"] == "mnist-addition":
            lines.append(f"smtlayer demo {places[best]}")
    console.print("To look closer:", *lines, sep="\n  ", highlight=False, soft_wrap=True)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
