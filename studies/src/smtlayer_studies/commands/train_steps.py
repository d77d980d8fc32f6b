"""The steps of `smtlayer train`: checks, training with progress bars, tables of scores."""

import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

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
from smtlayer.plain import counted
from smtlayer_cli.waiting import Waiting
from smtlayer_studies import reports
from smtlayer_studies import runs as training
from smtlayer_studies.runs.run_folder import RunFolder
from smtlayer_studies.tasks.registry import default_task


def train_experiment(
    name: str,
    *,
    methods: list[str] | None,
    seed: int,
    device: str,
    settings: Sequence[str],
    data_dir: Path | None,
    out: str | None,
    timed_epochs: int,
) -> None:
    """Trains the methods of an experiment, or only times some epochs, and shows the results."""
    experiment = training.load_experiment(name)
    folder = _folder(out, experiment)
    names = methods or _usual_methods(experiment)
    configs = [_config(experiment, one, seed, device, settings, data_dir) for one in names]
    console = Console()
    if timed_epochs:
        _check_layers(console, configs, data_dir)
        _time(console, configs, timed_epochs, folder, data_dir)
        return
    alone = len(configs) == 1
    places = {c.method: folder if alone else folder / c.method for c in configs}
    done = {c.method: _finished(console, c, places[c.method]) for c in configs}
    _check_layers(console, [c for c in configs if done[c.method] is None], data_dir)
    records = {
        c.method: done[c.method] or _run(console, experiment, c, places[c.method], data_dir)
        for c in configs
    }
    _show(console, records)
    _show_next_commands(console, places, records)


def _folder(out: str | None, experiment: training.Experiment) -> Path:
    """The folder to write to, which need not exist yet."""
    usual = Path("runs") / experiment.name
    if out is not None and not out.strip():
        raise ConfigError(f"--out expects a folder, as in --out {usual}. Got {out!r}.")
    folder = usual if out is None else Path(out)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise ConfigError(f"{there} is a file; --out expects a folder. Choose another.")
    return folder


def _usual_methods(experiment: training.Experiment) -> list[str]:
    ours = "best" if "best" in experiment.methods else "one-rule"
    usual = [name for name in ("conventional", ours) if name in experiment.methods]
    return usual or list(experiment.methods)


def _check_layers(
    console: Console, configs: Sequence[training.RunConfig], data_dir: Path | None
) -> None:
    """Makes every layer once, so that one that cannot be made is reported before any training."""
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
    experiment: training.Experiment,
    method: str,
    seed: int,
    device: str,
    settings: Sequence[str],
    data_dir: Path | None,
) -> training.RunConfig:
    make = partial(experiment.config, method, seed=seed, device=device, settings=settings)
    config = make()
    if experiment.sample and training.make_task(config.task, data_dir).data_source == "sample":
        return make(sample=True)
    return config


def _run(
    console: Console,
    experiment: training.Experiment,
    config: training.RunConfig,
    folder: Path,
    data_dir: Path | None,
) -> training.RunRecord:
    epochs = config.train.epochs
    console.print(
        f"[bold]{experiment.title}[/bold], {config.method}: {epochs} epoch{'s'[: epochs > 1]}, "
        f"seed {config.seed}, {config.device}", highlight=False,
    )  # fmt: skip
    columns = (
        TextColumn("{task.description:<8}"), BarColumn(bar_width=16), MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"), TimeRemainingColumn(),
    )  # fmt: skip
    try:
        with Progress(*columns, console=console) as progress:
            view = _Bars(progress, console, config)
            finished = training.run(
                config, folder, data_dir=data_dir, on_step=view.show, on_rows=view.score,
                on_warning=view.warn,
            )  # fmt: skip
    except KeyboardInterrupt:
        console.print(f"Stopped. The same command continues the run in {folder}.", highlight=False)
        raise
    _draw(console, finished, folder)
    return finished.record


class _Bars:
    """One bar per phase; in a log, which has no bars, one line per epoch."""

    def __init__(self, progress: Progress, console: Console, config: training.RunConfig) -> None:
        self._progress, self._console, self._config = progress, console, config
        self._bars: dict[str, tuple[TaskID, int]] = {}

    def show(self, event: training.Event) -> None:
        """Moves the bar of the event's phase."""
        title = event.title
        if title not in self._bars or event.done < self._bars[title][1]:
            self._bars[title] = (self._progress.add_task(title, total=event.total, status=""), 0)
        bar, _ = self._bars[title]
        self._bars[title] = (bar, event.done)
        self._progress.update(
            bar, completed=event.done, status=f"loss {event.loss:.3f}  "
            f"accuracy {event.accuracy:.1%}  solver {event.solver_share:.0%}",
        )  # fmt: skip
        steps = event.total // event.epochs
        if not self._console.is_terminal and event.done % steps == 0:
            self._console.print(
                f"{self._config.method}, {title}: epoch {event.done // steps} of {event.epochs}, "
                f"loss {event.loss:.3f}, accuracy {event.accuracy:.1%}, "
                f"solver {event.solver_share:.0%} of the time",
                soft_wrap=True,
            )

    def warn(self, text: str) -> None:
        """Shows a warning above the bars."""
        width = min(self._console.width, 100)
        self._console.print(f"Warning: {text}", highlight=False, markup=False, width=width)

    def score(self, done: int, total: int) -> None:
        """Moves the bar of the evaluation after training; a log has a line for its start."""
        if done == 0:
            self._bars["evaluation"] = (
                self._progress.add_task("evaluation", total=total, status=""),
                0,
            )
            if not self._console.is_terminal:
                self._console.print(
                    f"{self._config.method}: evaluating {total:,} examples", soft_wrap=True
                )
        self._progress.update(self._bars["evaluation"][0], completed=done)


def _finished(
    console: Console, config: training.RunConfig, folder: Path
) -> training.RunRecord | None:
    """The record of the same run, if its folder is complete and undamaged."""
    try:
        found = RunFolder.read(folder)
        found.check_model()
    except (ConfigError, MissingDataError):
        if (folder / "record.json").exists():
            console.print(
                f"{config.method}: {folder} is damaged, so it is trained again", highlight=False
            )
        return None
    same = found.record is not None and found.record.config == config.as_dict()
    if not same or found.options != tomllib.loads(config.to_toml()):
        return None
    console.print(f"{config.method}: finished earlier, in {folder}", highlight=False)
    return found.record


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
    table = RichTable(title="Test accuracy", title_justify="left")
    table.add_column("")
    for heading in ("not shown", "all", "symbols", "overruled", "time", "solver"):
        table.add_column(heading, justify="right")
    for name, record in records.items():
        seconds = sum(epoch["seconds"] for epoch in record.epochs)  # of the winner of a portfolio
        solver = sum(epoch["solver"].get("solver_seconds", 0) for epoch in record.epochs)
        shares = ("unseen_accuracy", "accuracy", "representation", "overruled")
        table.add_row(
            name, *(_percent(record.scores.get(share)) for share in shares),
            f"{record.seconds:.0f} s", _percent(solver / seconds if solver else None),
        )  # fmt: skip
    console.print(table)
    first = next(iter(records.values()))
    console.print(
        f"Not shown: combinations that do not occur in training. Symbols: share that the network "
        f"reads correctly. Data: {first.data_title}, {first.split} set.",
        highlight=False, width=min(console.width, 100),
    )  # fmt: skip
    for name, record in records.items():
        if share := record.scores.get("unanswered"):
            console.print(
                f"{name}: the solver gave up on {_percent(share)} of the examples, which count "
                f"as wrong. Give it more time with --set layer.timeout_ms=10000.", highlight=False,
            )  # fmt: skip
    for name, record in records.items():
        _show_members(console, name, record)
    dense = records.get("conventional")
    best = next((record for name, record in records.items() if name != "conventional"), None)
    if dense is None or best is None or "unseen_accuracy" not in best.scores:
        return
    console.print(
        f"On combinations that do not occur in training, the network with the formula is correct "
        f"for {_percent(best.scores['unseen_accuracy'])} of the examples, the conventional one for "
        f"{_percent(dense.scores['unseen_accuracy'])}. Without any labels for the symbols, it "
        f"reads {_percent(best.scores['representation'])} of them correctly.",
        width=min(console.width, 100),
    )


def _show_members(console: Console, name: str, record: training.RunRecord) -> None:
    """One line per member of a portfolio."""
    epochs = sum(len(one["accuracies"]) for one in record.members)
    if record.members:
        console.print(
            f"{name}: {epochs / len(record.epochs):.2f} times the epochs of one training",
            highlight=False,
        )
    for one in record.members:
        last = _percent(one["accuracies"][-1] if one["accuracies"] else None)
        done = counted(len(one["accuracies"]), "epoch")
        console.print(
            f"  {one['outcome']:<11} {done:>9}, training accuracy {last:>7}: {one['rule']}, "
            f"seed {one['seed']}", highlight=False, soft_wrap=True,
        )  # fmt: skip


def _show_next_commands(
    console: Console, places: dict[str, Path], records: dict[str, training.RunRecord]
) -> None:
    """Shows commands that look closer at the runs."""
    lines = [f"smtlayer report {' '.join(map(str, places.values()))}"]
    best = next((name for name in places if records[name].config["layer"] is not None), None)
    if best is not None:
        lines.insert(0, f"smtlayer inspect {places[best]} --failed")
        if records[best].config["task"]["name"] == default_task().name:
            lines.append(f"smtlayer demo {places[best]}")
    console.print("To look closer:", *lines, sep="\n  ", highlight=False, soft_wrap=True)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
