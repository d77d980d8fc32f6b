"""This file does one run from its configuration to its record."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from smtlayer.errors import ConfigError
from smtlayer_studies.runs.build import make_task
from smtlayer_studies.runs.checkpoints import Checkpoint
from smtlayer_studies.runs.config import MOST_SEED, RunConfig
from smtlayer_studies.runs.metrics import evaluate, teacher_agreement
from smtlayer_studies.runs.records import RunRecord
from smtlayer_studies.runs.trainer import Epoch, Event, Trainer
from smtlayer_studies.tasks.base import Model, Rows, SplitName, Task

_TEST_SEED = 1_000_003  # apart from the seeds of training, and the same test rows for every seed
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
    pupil: nn.Module | None  # beside its teacher, where it had one


def run(
    config: RunConfig,
    folder: str | Path | None = None,
    *,
    data_dir: str | Path | None = None,
    on_step: Callable[[Event], None] = lambda event: None,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
) -> Run:
    """Trains, scores and writes down.

    Args:
        config: All that decides the run.
        folder: Gets `config.toml`, `record.json`, the trained `model.pt` and the checkpoint. A run
            that was stopped goes on from it.
        data_dir: The data folder.
        on_step: For progress bars.
        on_rows: The same while the trained model is scored, as `evaluate` calls it.

    Raises:
        ConfigError: If the configuration cannot be used as given, the folder is a file, or a
            checkpoint in it belongs to another run.
    """
    folder = None if folder is None else _folder(folder)
    task = make_task(config.task, None if data_dir is None else Path(data_dir))
    if folder is not None:
        Checkpoint(folder, config).load()  # or an error, before anything is written over
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    attempts = _train(task, config, folder, on_step)
    best = max(attempts, key=lambda attempt: attempt.training_accuracy)
    split, scores = score(task, config, best.model, on_rows)
    if best.pupil is not None:
        images: SplitName = "validation" if split == "validation" else "train"
        rows = task.rows(images, config.train.test_rows, _TEST_SEED)
        scores["teacher_agreement"] = teacher_agreement(best.pupil, rows, config.device)
    record = RunRecord.of(
        config, task, split=split, layer="" if best.model.layer is None else str(best.model.layer),
        epochs=best.epochs, scores=scores, restarts=_told(attempts),
    )  # fmt: skip
    if folder is not None:
        _save(best.model, folder / "model.pt")
        record.write(folder)
    return Run(task, best.model, record)


def _folder(given: str | Path) -> Path:
    """The folder of a run, which may still have to be made."""
    folder = Path(given)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise ConfigError(
            f"A run is written to a folder, and {there} is a file. Choose another folder."
        )
    return folder


def _save(model: Model, path: Path) -> None:
    """Writes the weights, all at once or not at all."""
    part = path.with_name(f"{path.name}.part")
    torch.save(model.state_dict(), part)
    part.replace(path)


def score(
    task: Task,
    config: RunConfig,
    model: Model,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[str, dict[str, float]]:
    """Scores on the rows of `scored_rows`, with the name of their split."""
    split, rows = scored_rows(task, config)
    return split, evaluate(model, rows, task.theory, config.device, on_rows)


def scored_rows(task: Task, config: RunConfig) -> tuple[SplitName, Rows]:
    """Test rows; validation rows, and those alone, if the task sets some apart."""
    chosen = config.task.get("validation", 0.0) > 0 or config.task.get("apart", 0) > 0
    split: SplitName = "validation" if chosen else "test"
    return split, task.rows(split, config.train.test_rows, _TEST_SEED)


def _train(
    task: Task, config: RunConfig, folder: Path | None, on_step: Callable[[Event], None]
) -> list[_Attempt]:
    """One training, or several with other seeds while training rows come out wrong."""
    attempts: list[_Attempt] = []
    apart = 1_000 if config.seed <= MOST_SEED // 2 else -1_000
    for number in range(config.restarts.most):
        own = replace(config, seed=config.seed + apart * number)
        place = folder if folder is None or number == 0 else folder / f"restart-{number}"
        trainer = Trainer(task, own, place, on_step)
        model = trainer.run()
        accuracy = 0.0
        if config.restarts.most > 1:
            rows = task.rows("train", _JUDGED_ROWS, own.seed)
            accuracy = evaluate(model, rows, task.theory, config.device)["accuracy"]
        attempts.append(_Attempt(model, trainer.epochs, own.seed, accuracy, trainer.pupil))
        if accuracy >= config.restarts.enough:
            break
    return attempts


def _told(attempts: list[_Attempt]) -> list[dict[str, float]]:
    if len(attempts) == 1:
        return []
    return [{"seed": a.seed, "training_accuracy": a.training_accuracy} for a in attempts]
