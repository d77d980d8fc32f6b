"""Scores of trained runs, computed again and shown beside those of their records."""

import json
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import typer
from rich.console import Console
from rich.table import Table as RichTable

from smtlayer.errors import ConfigError, MissingDataError, SMTLayerError
from smtlayer_cli.waiting import Waiting
from smtlayer_studies import runs as training
from smtlayer_studies.runs.run_folder import RunFolder, read_runs
from smtlayer_studies.runs.run_options import check_device

_LAYER_OPTIONS = ("inference", "backend", "weights", "workers", "timeout_ms")


@dataclass(frozen=True)
class Changes:
    """The options that an evaluation changes; None for those of the training."""

    split: Literal["test", "validation"] | None
    examples: int | None
    layer: Mapping[str, Any]  # its options
    device: str
    data_dir: Path | None


@dataclass(frozen=True)
class Evaluation:
    """Scores of a run beside those of its record."""

    run: str
    experiment: str
    method: str
    data: str
    examples: int
    options: dict[str, Any]  # the split and the options of the layer that scores depend on
    changed: dict[str, Any]  # the record's values of those options that differ from it
    scores: dict[str, float]
    record: dict[str, float]  # empty if the run has none
    seconds: float

    @property
    def differences(self) -> dict[str, float]:
        """Each score minus that of the record."""
        both = [name for name in self.scores if name in self.record]
        return {name: self.scores[name] - self.record[name] for name in both}

    def within(self, tolerance: float) -> bool:
        """Whether scores can be compared, and none differs by more or is not a number."""
        differences = self.differences.values()
        return bool(differences) and all(abs(value) <= tolerance for value in differences)


def evaluate_runs(
    paths: Sequence[Path], changes: Changes, tolerance: float | None, *, as_json: bool
) -> bool:
    """Evaluates runs, prints their scores, and returns whether all are within the tolerance."""
    check_device(changes.device)
    errors: list[SMTLayerError] = []

    def leave_out(path: Path, error: SMTLayerError) -> None:
        errors.append(error)
        typer.echo(f"Left out {path}: {error}", err=True)

    done: list[Evaluation] = []
    for folder in read_runs(paths, leave_out):
        try:
            _check_record(folder, tolerance)
            with Waiting(f"evaluating {folder.path}") as waiting:
                done.append(_evaluate(folder, changes, waiting.count))
        except (ConfigError, MissingDataError) as error:
            if folder.path in paths:
                raise
            leave_out(folder.path, error)
            continue
        if as_json:
            typer.echo(json.dumps(asdict(done[-1]) | {"differences": done[-1].differences}))
        else:
            _print(done[-1], Console())
    if not done:
        raise errors[0]
    return tolerance is None or (not errors and all(one.within(tolerance) for one in done))


def _check_record(folder: RunFolder, tolerance: float | None) -> None:
    if tolerance is not None and folder.record is None:
        raise MissingDataError(
            f"{folder.path} has no record, which --tolerance compares with. Leave out --tolerance, "
            f"or finish the training with the command that began it."
        )


def _evaluate(
    folder: RunFolder, changes: Changes, on_examples: Callable[[int, int], None]
) -> Evaluation:
    before, record = folder.config, folder.record
    number = changes.examples
    config = replace(
        before,
        train=before.train if number is None else replace(before.train, test_rows=number),
        layer=None if before.layer is None else replace(before.layer, **changes.layer),
        device=changes.device,
    )
    run = replace(folder, config=config).load(changes.data_dir)
    split, rows = training.scored_rows(run.task, config, changes.split)
    start = time.perf_counter()
    model = run.model.to(changes.device)
    scores = training.evaluate(model, rows, run.task.theory, changes.device, on_examples)
    options = _options(config, split)
    recorded = _options(before, split if record is None else record.split)
    return Evaluation(
        run=str(folder.path), experiment=before.experiment, method=before.method,
        data=run.task.data_source, examples=len(rows), options=options,
        changed={name: was for name, was in recorded.items() if was != options[name]},
        scores=scores, record={} if record is None else record.scores,
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _options(config: training.RunConfig, split: str) -> dict[str, Any]:
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
        recorded, difference = done.record.get(name), done.differences.get(name)
        label = _label(name, done.options.get("inference"))
        table.add_row(
            f"  {label}", "-" if recorded is None else f"{100 * recorded:.2f} %",
            f"{100 * score:.2f} %", "-" if difference is None else f"{100 * difference:+.2f}",
        )  # fmt: skip
    console.print(table)
    for line in textwrap.wrap(_summary(done), min(console.width, 100) - 2):
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    console.print()


def _label(score: str, inference: str | None) -> str:
    """The name of a score. The rule `smt` overrules nothing: some examples have no model."""
    name = "without a model" if (score, inference) == ("overruled", "smt") else score
    return name.replace("_", " ")


def _summary(done: Evaluation) -> str:
    split = done.options["split"]
    text = f"{done.examples:,} {split} examples of {done.data}, in {done.seconds:.1f} s."
    if "inference" not in done.options:
        text += " A conventional network: it has no layer whose options could change."
    if done.changed:
        changes = [f"{name} {done.options[name]} (was {was})" for name, was in done.changed.items()]
        text += f" Differs from the record in: {', '.join(changes)}."
    if share := done.scores.get("unanswered"):
        text += (
            f" The solver gave up on {100 * share:.1f} % of the examples, which count as wrong: "
            f"give it more time with --timeout-ms 10000."
        )
    return text
