"""One run, from its configuration to its record."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from torch import nn

from smtlayer_studies.runs.config import RunConfig, other_seeds
from smtlayer_studies.runs.metrics import TEST_SEED, evaluate, scored_rows, teacher_agreement
from smtlayer_studies.runs.portfolio import train_members
from smtlayer_studies.runs.progress import Event
from smtlayer_studies.runs.records import Epoch, RunRecord
from smtlayer_studies.runs.run_folder import RunFolder
from smtlayer_studies.runs.shortcuts import shortcut_warning, warn_of_shortcuts
from smtlayer_studies.runs.trainer import Trainer
from smtlayer_studies.tasks.base import Model, SplitName, Task
from smtlayer_studies.tasks.options import make_task

_JUDGED_ROWS = 5_000  # training rows by which restarts are compared


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run."""

    task: Task
    model: Model
    record: RunRecord


@dataclass(frozen=True, eq=False)
class _Attempt:
    model: Model
    epochs: list[Epoch]
    seed: int
    training_accuracy: float
    distillation: nn.Module | None  # student and teacher, if that was the pre-training


def run(
    config: RunConfig,
    folder: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    on_step: Callable[[Event], None] = lambda event: None,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
    on_warning: Callable[[str], None] = warn_of_shortcuts,
) -> Run:
    """Trains a network, scores it, and writes the run to a folder.

    Args:
        config: The options of the run.
        folder: Gets `config.toml`, `record.json`, the trained `model.pt` and the checkpoint. A run
            that was stopped there is resumed.
        data_dir: The data folder.
        on_step: For progress bars.
        on_rows: For a progress bar while the trained model is scored, see `evaluate`.
        on_warning: Gets a text before training if wrong readings of the symbols fit what it shows;
            by default this is a `ShortcutWarning`.

    Raises:
        ConfigError: If the configuration is invalid, the folder is a file, or it has a checkpoint
            of another run.
    """
    place = None if folder is None else RunFolder.for_writing(folder, config)
    task = make_task(config.task, None if data_dir is None else Path(data_dir))
    task.data_source  # noqa: B018 - missing data are an error before anything is written
    if text := shortcut_warning(task, config):
        on_warning(text)
    if place is not None:
        place.write_config()
    attempts, members = _train(task, config, place, on_step)
    best = max(attempts, key=lambda attempt: attempt.training_accuracy)
    split, scores = score(task, config, best.model, on_rows)
    if best.distillation is not None:
        images: SplitName = "validation" if split == "validation" else "train"
        rows = task.rows(images, config.train.test_rows, TEST_SEED)
        scores["teacher_agreement"] = teacher_agreement(best.distillation, rows, config.device)
    record = RunRecord.of(
        config, task, split=split, layer="" if best.model.layer is None else str(best.model.layer),
        epochs=best.epochs, scores=scores, restarts=_restarts(attempts),
        members=members,
    )  # fmt: skip
    if place is not None:
        place.save(best.model, record)
    return Run(task, best.model, record)


def score(
    task: Task,
    config: RunConfig,
    model: Model,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[str, dict[str, float]]:
    """Scores on the rows of `scored_rows`, with the name of their split."""
    split, rows = scored_rows(task, config)
    return split, evaluate(model, rows, task.theory, config.device, on_rows)


def _train(
    task: Task, config: RunConfig, place: RunFolder | None, on_step: Callable[[Event], None]
) -> tuple[list[_Attempt], list[dict[str, Any]]]:
    """One training, or several with other seeds while training rows come out wrong, or a portfolio.

    Returns also the members of the portfolio.
    """
    if config.members.several:
        trainer, members = train_members(task, config, place, on_step)
        return [_attempt(trainer, 0.0)], members
    attempts: list[_Attempt] = []
    for number, seed in enumerate(other_seeds(config.seed, config.restarts.most)):
        folder = None if place is None else place.path
        if folder is not None and number > 0:
            folder /= f"restart-{number}"
        trainer = Trainer(task, replace(config, seed=seed), folder, on_step)
        model = trainer.run()
        accuracy = 0.0
        if config.restarts.most > 1:
            rows = task.rows("train", _JUDGED_ROWS, seed)
            accuracy = evaluate(model, rows, task.theory, config.device)["accuracy"]
        attempts.append(_attempt(trainer, accuracy))
        if accuracy >= config.restarts.enough:
            break
    return attempts, []


def _attempt(trainer: Trainer, accuracy: float) -> _Attempt:
    model, seed = cast(Model, trainer.model), trainer.config.seed
    return _Attempt(model, trainer.epochs, seed, accuracy, trainer.distillation)


def _restarts(attempts: list[_Attempt]) -> list[dict[str, float]]:
    if len(attempts) == 1:
        return []
    return [{"seed": a.seed, "training_accuracy": a.training_accuracy} for a in attempts]
