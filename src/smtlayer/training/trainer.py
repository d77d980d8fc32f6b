"""This file trains a model on a task: one loop, no knowledge of the task."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from smtlayer.tasks import Batch, Model, Task
from smtlayer.training.options import TrainOptions

_TEST_STREAM = 1_000_003  # apart from the seeds of training, and the same test rows for every seed


@dataclass(frozen=True)
class Epoch:
    """What happened in one epoch."""

    loss: float
    accuracy: float  # on the training rows as they were seen
    seconds: float
    solver: dict[str, float]  # the layer's statistics; empty without a layer


@dataclass
class History:
    """The epochs of a run and its scores on the test rows."""

    epochs: list[Epoch] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)


# Called after each step with the number of the step and the smoothed loss.
StepCallback = Callable[[int, float], None]


def train(
    task: Task,
    head: nn.Module,
    options: TrainOptions,
    on_step: StepCallback = lambda step, loss: None,
) -> tuple[Model, History]:
    """Trains a new network under the given head, and scores it.

    Args:
        task: Data and network.
        head: An `SMTLayer`, or a conventional head.
        options: How to train.
        on_step: For progress bars.
    """
    torch.manual_seed(options.seed)
    model = Model(task.network(), head).to(options.device)
    optimizer = _optimizer(model, options)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, options))
    rows = torch.Generator().manual_seed(options.seed)
    history = History()
    for epoch in range(options.epochs):
        done = epoch * options.steps
        report = partial(_shifted, on_step, done)
        history.epochs.append(_epoch(task, model, optimizer, schedule, rows, options, report))
    history.scores = evaluate(task, model, options)
    return model, history


def _shifted(on_step: StepCallback, done: int, step: int, loss: float) -> None:
    on_step(done + step, loss)


def _epoch(
    task: Task,
    model: Model,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    rows: torch.Generator,
    options: TrainOptions,
    on_step: StepCallback,
) -> Epoch:
    model.train()
    if model.layer is not None:
        model.layer.stats.reset()
    device = torch.device(options.device)
    start, smoothed = time.perf_counter(), 0.0
    losses = torch.zeros((), device=device)
    right = torch.zeros((), device=device)
    for step in range(options.steps):
        batch = task.draw("train", options.batch_size, rows).to(device)
        _, outputs = model(batch.features)
        loss = F.binary_cross_entropy_with_logits(outputs, batch.targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
        schedule.step()
        losses += loss.detach()
        right += _correct(outputs, batch).float().mean()
        if step % 8 == 0 or step == options.steps - 1:  # looking at a loss makes a GPU wait
            smoothed = loss.item() if not smoothed else 0.8 * smoothed + 0.2 * loss.item()
        on_step(step + 1, smoothed)
    solver = {} if model.layer is None else model.layer.stats.as_dict()
    count = options.steps
    seconds = time.perf_counter() - start
    return Epoch(losses.item() / count, right.item() / count, seconds, solver)


@torch.no_grad()
def evaluate(task: Task, model: Model, options: TrainOptions) -> dict[str, float]:
    """Shares of test rows that are right: all, those of combinations not shown in training, and how
    often every bit of a row's symbols is read right (with a layer).
    """
    model.eval()
    rows = torch.Generator().manual_seed(_TEST_STREAM)
    scores: dict[str, list[torch.Tensor]] = {"accuracy": [], "unseen_accuracy": []}
    for start in range(0, options.test_rows, 500):
        count = min(500, options.test_rows - start)
        batch = task.draw("test", count, rows).to(torch.device(options.device))
        logits, outputs = model(batch.features)
        right = _correct(outputs, batch)
        scores["accuracy"].append(right)
        scores["unseen_accuracy"].append(right[~batch.seen])
        if model.layer is not None:
            read = (logits > 0) == (batch.symbols > 0)
            scores.setdefault("representation", []).append(_by_symbol(task, read))
    return {name: torch.cat(parts).float().mean().item() for name, parts in scores.items()}


def _correct(outputs: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Rows whose outputs are all right; a row without a model is wrong."""
    return ((outputs > 0) == (batch.targets > 0.5)).all(-1) & (outputs != 0).all(-1)


def _by_symbol(task: Task, read: torch.Tensor) -> torch.Tensor:
    parts, start = [], 0
    for width in task.theory.input_widths:
        parts.append(read[:, start : start + width].all(-1))
        start += width
    return torch.cat(parts)


def _optimizer(model: Model, options: TrainOptions) -> torch.optim.Optimizer:
    if options.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), options.lr)
    return torch.optim.SGD(model.parameters(), options.lr, momentum=0.9, nesterov=True)


def _rate(step: int, options: TrainOptions) -> float:
    """Warm-up, a plateau, then a cosine down to zero.

    The plateau matters: a symbol that is still misread when the rate falls stays misread.
    """
    total = options.epochs * options.steps
    rise, fall = max(1.0, options.warmup * total), max(1.0, options.decay * total)
    left = (total - step) / fall
    return min(1.0, (step + 1) / rise) * 0.5 * (1 - math.cos(math.pi * min(1.0, left)))
