"""Summaries of runs: record, confusion of symbols, and explained examples."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from smtlayer.errors import SMTLayerError
from smtlayer_studies.reports.confusion import Confusion, confusions
from smtlayer_studies.reports.example_report import (
    ExampleReport,
    Outcome,
    explain_examples,
    outcomes,
)
from smtlayer_studies.reports.paper import experiment_title
from smtlayer_studies.reports.run_pictures import collect_examples
from smtlayer_studies.runs.run_folder import LoadedRun, RunFolder


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A run as a report shows it.

    Attributes:
        label: The name of the run on the page.
        folder: The folder of the run.
        note: Why the fields below are empty, if they are.
        rows: How many examples were solved, from the first on.
        split: Their split.
        counts: How many of them have each outcome.
        confusions: Confusion matrices of their symbols.
        examples: Some that were corrected and some that failed; if there are none, others.
    """

    label: str
    folder: RunFolder
    note: str = ""
    rows: int = 0
    split: str = "test"
    counts: dict[Outcome, int] | None = None
    confusions: Sequence[Confusion] = ()
    examples: Sequence[ExampleReport] = ()


def summarize(folder: RunFolder, label: str, data_dir: Path | None = None) -> RunSummary:
    """Solves the first examples that a run was scored on, and explains some.

    If the model or its data are missing, the summary has a note, and no error is raised.
    """
    if folder.config.layer is None:
        return RunSummary(
            label, folder, "A conventional network has no layer, and so no symbols to explain."
        )
    try:
        return _summarize(folder.load(data_dir), label)
    except SMTLayerError as error:
        return RunSummary(label, folder, f"No examples: {error}")


def _summarize(run: LoadedRun, label: str) -> RunSummary:
    layer = run.model.layer
    assert layer is not None
    view = run.task.view
    split, rows = run.rows()
    index = torch.arange(min(view.searched, len(rows)))
    read = collect_examples(run.model, layer, rows, index, view.per_figure)
    found, shown = outcomes(read), view.per_report
    kinds: tuple[Outcome, ...] = ("corrected", "failed")
    numbers = [
        number
        for kind in kinds
        for number in [i for i, outcome in enumerate(found) if outcome == kind][:shown]
    ]
    numbers = numbers or list(range(min(shown, len(found))))
    examples = explain_examples(run, split, read.pick(torch.tensor(numbers)), numbers)
    return RunSummary(
        label, run.folder, "", len(read), split, dict(Counter(found)),
        confusions(view, read), examples,
    )  # fmt: skip


def labels(folders: Sequence[RunFolder]) -> list[str]:
    """Short distinct names of runs: by method, then experiment, then seed, then folder."""
    configs = [folder.config for folder in folders]
    names = [config.method for config in configs]
    if len({config.experiment for config in configs}) > 1:
        names = [
            f"{experiment_title(c.experiment)}, {name}"
            for c, name in zip(configs, names, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [f"{name}, seed {c.seed}" for c, name in zip(configs, names, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{name} ({f.path.name})" for f, name in zip(folders, names, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{number + 1}: {name}" for number, name in enumerate(names)]
    return names
