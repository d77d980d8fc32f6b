"""The figures that each training run leaves in its folder."""

import time
from dataclasses import fields
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from smtlayer.errors import ArgumentError
from smtlayer.nn import SMTLayer
from smtlayer.solvers import Solution
from smtlayer_studies.reports.curves import draw_curves
from smtlayer_studies.runs import Run
from smtlayer_studies.tasks.base import Batch, Model, Rows, SplitName, Task, with_facts
from smtlayer_studies.tasks.examples import Examples
from smtlayer_studies.tasks.marks import save

_SEED = 1  # the same examples for every run
_PATIENCE = 20.0  # seconds


def draw_run(run: Run, folder: Path, count: int | None = None) -> list[Path]:
    """Draws a finished run: its curves, and examples with what was read, overruled and answered.

    Args:
        run: The run. A conventional network has no solver, so only its curves are drawn.
        folder: Gets `curves.png` and `examples.png`.
        count: Number of examples; by default that of the task's view.
    """
    made = [draw_curves({run.record.method: run.record}, folder / "curves.png")]
    if run.model.layer is not None:
        split = cast(SplitName, run.record.split)  # no test data while settings are chosen
        made.append(draw_examples(run.task, run.model, folder / "examples.png", count, split))
    return made


def draw_examples(
    task: Task, model: Model, path: Path, count: int | None = None, split: SplitName = "test"
) -> Path:
    """Draws examples of a task: some that the solver corrected, some that failed, then others.

    Args:
        task: The task.
        model: A network with a layer, which uses its `eval()` rule.
        path: The PNG to write.
        count: Number of examples; by default that of the task's view.
        split: The split of the examples.
    """
    view = task.view
    shown = view.per_figure if count is None else count
    examples = choose_examples(task, model, shown, max(shown, view.searched), split)
    return save(view.figure(examples, view.title), path)


def choose_examples(
    task: Task, model: Model, count: int, among: int, split: SplitName = "test"
) -> Examples:
    """Selects examples to show among the first of a split, with the answers of the model.

    Raises:
        ValueError: If the model has no layer.
    """
    if model.layer is None:
        raise ArgumentError("choose_examples expects a model with an SMTLayer. Got one without.")
    rows = task.rows(split, among, _SEED)
    index = torch.arange(min(among, len(rows)))
    return collect_examples(model.eval(), model.layer, rows, index, count).selected(count)


@torch.no_grad()
def collect_examples(
    model: Model, layer: SMTLayer, rows: Rows, index: Tensor, at_once: int
) -> Examples:
    """Solves examples: all of them or, if the solver is slow, only the first.

    Args:
        model: In the mode of its layer that is wanted, `train()` or `eval()`.
        layer: The layer of the model.
        rows: The examples of a split.
        index: Positions of the examples to solve.
        at_once: Batch size. At least one batch is solved.
    """
    device = next(model.network.parameters(), torch.empty(0)).device
    batch = rows.batch(index)
    parts = torch.split(batch.features, 100)
    logits = torch.cat([model.network(part.to(device)).float().cpu() for part in parts])
    logits = with_facts(logits, batch.facts)
    answer = _answers(layer, logits, batch, at_once)
    asked = torch.arange(len(answer.status))
    return Examples(layer.theory, batch.pick(asked), logits[asked], answer)


def _answers(layer: SMTLayer, logits: Tensor, batch: Batch, least: int) -> Solution:
    """Solves batches until all are done or the time is up.

    A badly misread example may take the solver seconds, which is too long for a figure.
    """
    start, parts = time.perf_counter(), []
    for place in range(0, len(logits), least):
        rows = slice(place, place + least)
        masks = (None if mask is None else mask[rows] for mask in (batch.known, batch.given))
        parts.append(layer.solve(logits[rows], *masks))
        if time.perf_counter() - start > _PATIENCE:
            break
    return Solution(*(torch.cat([getattr(p, f.name) for p in parts]) for f in fields(Solution)))
