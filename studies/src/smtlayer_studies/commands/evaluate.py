"""This file holds `smtlayer evaluate RUN`: scores a trained run again, beside its record."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console
from rich.table import Table as RichTable

from smtlayer.errors import ConfigError, MissingDataError, SMTLayerError
from smtlayer_cli.complete import devices
from smtlayer_cli.complete import runs as run_folders
from smtlayer_cli.errors import ExitCode
from smtlayer_cli.later import Later
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    from smtlayer_studies import runs as training
    from smtlayer_studies.runs import options as checks
    from smtlayer_studies.runs import run_folder
else:
    training, run_folder = Later("smtlayer_studies.runs"), Later("smtlayer_studies.runs.run_folder")
    checks = Later("smtlayer_studies.runs.options")

_LAYER, _FILES = "The layer", "Data and files"
_LAYER_OPTIONS = ("inference", "backend", "weights", "workers", "timeout_ms")


@dataclass(frozen=True)
class Evaluation:
    """Scores of a run, and those of its record."""

    run: str
    experiment: str
    method: str
    data: str
    rows: int
    asked: dict[str, Any]  # the split, and the layer's options that answers hang on
    changed: dict[str, Any]  # those of them that are otherwise in the record: what they are there
    scores: dict[str, float]
    record: dict[str, float]  # empty if the run has none
    seconds: float

    @property
    def differences(self) -> dict[str, float]:
        """By how much each score is above the record's."""
        both = [name for name in self.scores if name in self.record]
        return {name: self.scores[name] - self.record[name] for name in both}

    def within(self, tolerance: float) -> bool:
        """Whether there are differences, and none is larger, nor not a number."""
        differences = self.differences.values()
        return bool(differences) and all(abs(value) <= tolerance for value in differences)


def evaluate(
    runs: list[Path] = typer.Argument(
        metavar="RUN", autocompletion=run_folders,
        help="Folders of runs, or folders that hold some.",
    ),
    split: Literal["test", "validation"] | None = typer.Option(
        None, help="Which rows [default: those of the record]."
    ),
    rows: int | None = typer.Option(
        None, metavar="N", min=1, help="How many [default: as in training]."
    ),
    inference: Literal["smt", "maxsmt"] | None = typer.Option(
        None, rich_help_panel=_LAYER,
        help="Rule: contradictions count as wrong, or are repaired first.",
    ),
    backend: Literal["auto", "table", "sat", "z3", "enumerate"] | None = typer.Option(
        None, rich_help_panel=_LAYER, help="Who answers the layer's questions."
    ),
    weights: Literal["logit", "softmax"] | None = typer.Option(
        None, rich_help_panel=_LAYER, help="How confident an input is: what repairs go by."
    ),
    workers: int | None = typer.Option(
        None, metavar="N", min=0, rich_help_panel=_LAYER,
        help="Processes that share a batch's rows.",
    ),
    timeout_ms: int | None = typer.Option(
        None, metavar="MS", min=1, rich_help_panel=_LAYER, help="Time limit for a row."
    ),
    device: str = typer.Option(
        "cpu", metavar="NAME", autocompletion=devices, help="For example cuda."
    ),
    data_dir: Path | None = typer.Option(
        None, metavar="FOLDER", help="Data folder [default: $SMTLAYER_DATA]."
    ),
    tolerance: float | None = typer.Option(
        None, metavar="X", min=0.0,
        help="Exit code 4 if a score differs from the record's by more, as in 0.001.",
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a run, for machines."),
) -> None:  # fmt: skip
    """Score trained runs again, and show the scores beside those of their records.

    Without options this repeats what the end of the training did, and gives the same scores. With
    them it tells what another rule, backend or set of rows would give. Nothing is written.

    Examples:

        smtlayer evaluate runs/demo
        smtlayer evaluate runs/demo/best --inference smt
        smtlayer evaluate runs/visual-sudoku-10/best --workers 2 --rows 200
        smtlayer evaluate runs/demo/best --tolerance 0.001 --json
    """
    checks.check_device(device)
    told = {"inference": inference, "backend": backend, "weights": weights, "workers": workers,
            "timeout_ms": timeout_ms}  # fmt: skip
    given = {name: value for name, value in told.items() if value is not None}
    bad: list[SMTLayerError] = []
    left_out = partial(_leave_out, bad)
    done = []
    for folder in run_folder.read_runs(runs, left_out):
        try:
            _check_record(folder, tolerance)
            with Waiting(f"scoring {folder.path}") as waiting:
                done.append(_evaluate(folder, given, split, rows, device, data_dir, waiting.count))
        except (ConfigError, MissingDataError) as error:
            if folder.path in runs:
                raise
            left_out(folder.path, error)
            continue
        if as_json:
            typer.echo(json.dumps(asdict(done[-1]) | {"differences": done[-1].differences}))
        else:
            _print(done[-1], Console())
    if not done:
        raise bad[0]
    if tolerance is not None and (bad or not all(one.within(tolerance) for one in done)):
        raise typer.Exit(ExitCode.UNMET)


def _leave_out(bad: list[SMTLayerError], path: Path, error: SMTLayerError) -> None:
    """Says on stderr that a run among others is left out, and why."""
    bad.append(error)
    typer.echo(f"Left out {path}: {error}", err=True)


def _check_record(folder: run_folder.RunFolder, tolerance: float | None) -> None:
    """Raises if scores are to be compared with a record that is not there."""
    if tolerance is not None and folder.record is None:
        raise MissingDataError(
            f"{folder.path} has no record to compare with, as --tolerance asks. Leave that out, or "
            f"let the command that began the training write it."
        )


def _evaluate(
    folder: run_folder.RunFolder,
    given: dict[str, Any],
    split: Literal["test", "validation"] | None,
    rows: int | None,
    device: str,
    data_dir: Path | None,
    on_rows: Callable[[int, int], None],
) -> Evaluation:
    before, record = folder.config, folder.record
    config = replace(
        before,
        train=before.train if rows is None else replace(before.train, test_rows=rows),
        layer=None if before.layer is None else replace(before.layer, **given),
        device=device,
    )
    run = replace(folder, config=config).load(data_dir)
    # `scored_rows` takes validation rows where a task sets some apart; here the choice is ours.
    apart = {None: {}, "test": {"validation": 0.0, "apart": 0}, "validation": {"validation": 1.0}}
    used, picked = training.scored_rows(
        run.task, replace(config, task={**config.task, **apart[split]})
    )
    start = time.perf_counter()
    scores = training.evaluate(run.model.to(device), picked, run.task.theory, device, on_rows)
    asked = _asked(config, used)
    then = _asked(before, used if record is None else record.split)
    return Evaluation(
        run=str(folder.path), experiment=before.experiment, method=before.method,
        data=run.task.data, rows=len(picked), asked=asked,
        changed={name: then[name] for name in asked if asked[name] != then[name]},
        scores=scores, record={} if record is None else record.scores,
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _asked(config: training.RunConfig, split: str) -> dict[str, Any]:
    layer = config.layer
    options = {} if layer is None else {name: getattr(layer, name) for name in _LAYER_OPTIONS}
    return {"split": split, "test_rows": config.train.test_rows} | options


def _print(done: Evaluation, console: Console) -> None:
    console.print(f"[bold]{done.run}[/bold]: {done.experiment}, {done.method}", highlight=False)
    table = RichTable(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("  score")
    for heading in ("record", "now", "difference"):
        table.add_column(heading, justify="right")
    for name, score in done.scores.items():
        then, difference = done.record.get(name), done.differences.get(name)
        label = _label(name, done.asked.get("inference"))
        table.add_row(
            f"  {label}", "-" if then is None else f"{100 * then:.2f} %",
            f"{100 * score:.2f} %", "-" if difference is None else f"{100 * difference:+.2f}",
        )  # fmt: skip
    console.print(table)
    for line in textwrap.wrap(_told(done), min(console.width, 100) - 2):
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    console.print()


def _label(score: str, inference: str | None) -> str:
    """The name of a score. The rule `smt` overrules nothing: it leaves rows without a model."""
    named = "without a model" if (score, inference) == ("overruled", "smt") else score
    return named.replace("_", " ")


def _told(done: Evaluation) -> str:
    said = f"{done.rows:,} {done.asked['split']} rows of {done.data}, in {done.seconds:.1f} s."
    if "inference" not in done.asked:
        said += " A conventional network, without a layer that options could change."
    if done.changed:
        changes = [f"{name} {done.asked[name]} (was {was})" for name, was in done.changed.items()]
        said += f" Other than in the record: {', '.join(changes)}."
    if share := done.scores.get("unanswered"):
        said += (
            f" The solver gave up on {100 * share:.1f} % of the rows, which count as wrong: "
            f"give it more time with --timeout-ms 10000."
        )
    return said
