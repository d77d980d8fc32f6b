"""A Lightning callback that sets the progress of solver layers and logs their counts."""

import math
import time
from typing import TYPE_CHECKING, Any, final

import torch

from smtlayer.errors import ArgumentError, MissingPackageError, install_command
from smtlayer.loop import solver_counts, solver_layers
from smtlayer.plain import is_whole

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer

_missing: ImportError | None = None
try:
    from lightning.pytorch import Callback
except ImportError as error:  # raised by the constructor, so that every module can be imported
    Callback, _missing = object, error  # type: ignore[assignment, misc]

_FORWARD = ("rows", "sat", "unsat", "unknown", "unproved", "cache_hits")
_BACKWARD = ("correct", "blamed", "without_gradient", "contradicted", "undecided")

_Snapshot = dict[str, float]  # all counts and the clock at one moment


@final
class SolverCallback(Callback):
    """Sets `layer.progress` of all solver layers of a module, and logs their counts.

    `layer.progress` is the fraction of optimiser steps that are done. It is right with accumulated
    gradients and after a restart from a checkpoint. Counts start at zero with every epoch and are
    logged at its end, summed over layers and processes:

    | name | value |
    |---|---|
    | `solver/rows`, `solver/blamed`, ... | the counts of `layer.stats`, in training only |
    | `solver/seconds` | seconds in the solver |
    | `solver/unknown_share`, `unproved_share`, `blamed_share`, `contradicted_share` | per row |
    | `solver/time_share` | fraction of the epoch's time spent in the solver, without validation |
    | `solver/progress` | `layer.progress` |
    | `solver/val_rows`, `solver/test_rows`, ... | the same for validation and test, forward only |

    Args:
        every_n_steps: Also log the counts since the last time after this many steps, as
            `solver/rows_step` and so on; 0 for the ends of epochs only. Each time synchronises with
            the GPU.
        total: Number of steps of the whole training; `None` for the trainer's estimate. Set it if
            that is wrong: for a training without a fixed end, or with several optimisers, whose
            steps are added.

    Raises:
        MissingPackageError: If Lightning is not installed.
        ArgumentError: At the start of training, if the module has no solver layer or the number of
            steps is unknown.

    Examples:
        `Trainer(max_epochs=5, callbacks=[SolverCallback()])`; `examples/06_lightning.py` has a
        complete training.
    """

    def __init__(self, *, every_n_steps: int = 0, total: int | None = None) -> None:
        if _missing is not None:
            raise MissingPackageError(
                "The Lightning callback needs the lightning package. "
                f"Install it with: {install_command('lightning')}"
            ) from _missing
        if not is_whole(every_n_steps, 0):
            raise ArgumentError(
                f"SolverCallback expects every_n_steps as a whole number of at least 0. "
                f"Got {every_n_steps!r}."
            )
        if total is not None and not is_whole(total, 1):
            raise ArgumentError(
                f"SolverCallback expects total as a whole number, at least one step. Got {total!r}."
            )
        self._every = every_n_steps
        self._given = total
        self._total = 0
        self._seen = 0  # the global step when progress was last set
        self._epoch: _Snapshot = {}
        self._window: _Snapshot = {}
        self._evaluation: _Snapshot = {}

    def on_train_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Determines the number of steps."""
        _check_layers(pl_module)
        steps = self._given or trainer.estimated_stepping_batches
        if math.isinf(steps) or steps < 1:  # -1 for data without a length
            raise ArgumentError(
                "SolverCallback does not know how many steps this training will have. "
                "Set max_steps in the Trainer, or pass total to the callback."
            )
        self._total = int(steps)
        self._set_progress(trainer, pl_module)
        self._window = {}
        self._begin(pl_module)  # after a restart within an epoch, no epoch starts

    def on_train_epoch_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Resets the counts."""
        self._begin(pl_module)

    def on_train_batch_end(
        self,
        trainer: "Trainer",
        pl_module: "LightningModule",
        outputs: object,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Sets progress, if the optimiser made a step."""
        if trainer.global_step == self._seen:
            return  # gradients are being accumulated
        self._set_progress(trainer, pl_module)
        if self._every and trainer.global_step % self._every == 0:
            now = _snapshot(pl_module)
            values = _metrics(self._window, now, trainer, _FORWARD + _BACKWARD, after="_step")
            self._window = now
            for logger in trainer.loggers:
                # as Lightning numbers the steps of its own metrics
                logger.log_metrics(values, step=trainer.global_step - 1)

    def on_train_epoch_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Logs the counts of the epoch."""
        values = _metrics(self._epoch, _snapshot(pl_module), trainer, _FORWARD + _BACKWARD)
        _log(pl_module, values | {"solver/progress": self._progress(trainer)})

    def on_validation_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Keeps the counts at the start of validation or test."""
        _check_layers(pl_module)
        self._evaluation = _snapshot(pl_module)

    def on_validation_epoch_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Logs the counts of validation, and leaves them out of the epoch."""
        now = _snapshot(pl_module)
        for start in (self._epoch, self._window):
            for name in start:
                start[name] += now[name] - self._evaluation[name]
        _log(pl_module, _metrics(self._evaluation, now, trainer, _FORWARD, "val_"))

    on_test_start = on_validation_start

    def on_test_epoch_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Logs the counts of the test."""
        now = _snapshot(pl_module)
        _log(pl_module, _metrics(self._evaluation, now, trainer, _FORWARD, "test_"))

    def _progress(self, trainer: "Trainer") -> float:
        return min(1.0, trainer.global_step / self._total)

    def _set_progress(self, trainer: "Trainer", module: "LightningModule") -> None:
        self._seen = trainer.global_step
        for layer in solver_layers(module):
            layer.progress = self._progress(trainer)

    def _begin(self, module: "LightningModule") -> None:
        """Resets the counts; those that `every_n_steps` has not logged yet are kept."""
        before = _snapshot(module)
        for layer in solver_layers(module):
            layer.stats.reset()
        self._epoch = _snapshot(module)
        unlogged = {name: before[name] - since for name, since in self._window.items()}
        self._window = {name: now - unlogged.get(name, 0) for name, now in self._epoch.items()}


def _check_layers(module: "LightningModule") -> None:
    if not solver_layers(module):
        raise ArgumentError(
            f"SolverCallback expects a module with an SMTLayer inside. "
            f"Got {type(module).__name__} without one. Keep the layer in an attribute or an "
            f"nn.ModuleList, not in a plain list."
        )


def _snapshot(module: "LightningModule") -> _Snapshot:
    return solver_counts(module) | {"clock": time.perf_counter()}


def _metrics(
    start: _Snapshot, now: _Snapshot, trainer: "Trainer", names: tuple[str, ...],
    before: str = "", after: str = "",
) -> dict[str, float]:  # fmt: skip
    """The values to log, summed over processes: counts, and fractions of rows and of time."""
    passed = {name: float(now[name] - start[name]) for name in now}
    if trainer.world_size > 1:
        device = trainer.strategy.root_device
        mine = torch.tensor(list(passed.values()), dtype=torch.float64, device=device)
        total = torch.as_tensor(trainer.strategy.reduce(mine, reduce_op="sum"))
        passed = dict(zip(passed, total.tolist(), strict=True))
    values = {name: passed[name] for name in names}
    values["seconds"] = passed["solver_seconds"]
    for name in ("unknown", "unproved", "blamed", "contradicted"):
        if name in names:
            values[f"{name}_share"] = passed[name] / max(1.0, passed["rows"])
    values["time_share"] = passed["solver_seconds"] / max(1e-9, passed["clock"])
    return {f"solver/{before}{name}{after}": value for name, value in values.items()}


def _log(module: "LightningModule", values: dict[str, float]) -> None:
    # All processes log the same values; without sync_dist Lightning would warn.
    module.log_dict(values, batch_size=1, sync_dist=True)
