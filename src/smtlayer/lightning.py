"""This file holds a callback for Lightning: the solver layers of a module are told and counted.

Import it by its own name, `from smtlayer.lightning import SolverCallback`: nothing else in
the library needs Lightning.
"""

import math
import time
from typing import TYPE_CHECKING, Any, final

import torch

from smtlayer.errors import MissingPackageError, install_command
from smtlayer.loop import solver_counts, solver_layers
from smtlayer.plain import is_whole

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer

_missing: ImportError | None = None
try:
    from lightning.pytorch import Callback
except ImportError as error:  # told by the constructor, so that tools can import every module
    Callback, _missing = object, error  # type: ignore[assignment, misc]

_FORWARD = ("rows", "sat", "unsat", "unknown", "unproved", "cache_hits")
_BACKWARD = ("correct", "blamed", "without_gradient", "contradicted", "undecided")
_CLOCK = "clock"

_Look = dict[str, float]  # all counts at one moment, and the clock


@final
class SolverCallback(Callback):
    """Tells the solver layers of a module how far training has come, and logs what they counted.

    `layer.progress` is the share of the optimiser's steps that are done, so gradients may be
    accumulated, and a training that goes on from a checkpoint goes on with its rules. Counts start
    at zero with every epoch, and are logged at its end, summed over layers and processes:

    | name | value |
    |---|---|
    | `solver/rows`, `solver/blamed`, ... | the counts of `layer.stats`, of training alone |
    | `solver/seconds` | seconds in the solver |
    | `solver/unknown_share`, `unproved_share`, `blamed_share`, `contradicted_share` | of the rows |
    | `solver/time_share` | share of the epoch's time that the solver took, validation apart |
    | `solver/progress` | `layer.progress` |
    | `solver/val_rows`, `solver/test_rows`, ... | the same, going forward, of validation and test |

    Args:
        every_n_steps: Send what was counted since the last time to the loggers after so many steps,
            too, as `solver/rows_step` and so on; 0 for the ends of epochs alone. Each time makes
            a GPU wait.
        total: Steps that the training will have; None for the trainer's own estimate. To be given
            where that is wrong: a training without an end in sight, or several optimisers, whose
            steps all count.

    Raises:
        MissingPackageError: If Lightning is not installed.
        ValueError: As training starts, if the module has no solver layer, or the number of steps
            cannot be told.

    Examples:
        `Trainer(max_epochs=5, callbacks=[SolverCallback()])`; a whole training is in
        `examples/06_lightning.py`.
    """

    def __init__(self, *, every_n_steps: int = 0, total: int | None = None) -> None:
        if _missing is not None:
            raise MissingPackageError(
                "The Lightning callback needs the lightning package. "
                f"Install it with: {install_command('lightning')}"
            ) from _missing
        if not is_whole(every_n_steps, 0):
            raise ValueError(
                f"SolverCallback expects every_n_steps as a whole number of at least 0. "
                f"Got {every_n_steps!r}."
            )
        if total is not None and not is_whole(total, 1):
            raise ValueError(
                f"SolverCallback expects total as a whole number, at least one step. Got {total!r}."
            )
        self._every = every_n_steps
        self._given = total
        self._total = 0
        self._seen = 0  # the global step at the last look at progress
        self._epoch: _Look = {}
        self._window: _Look = {}
        self._evaluation: _Look = {}

    def on_train_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Finds out how long training is."""
        _refuse_layerless(pl_module)
        self._total = self._given or _estimate(trainer)
        self._tell(trainer, pl_module)
        self._window = {}
        self._begin(pl_module)  # going on in the middle of an epoch, no epoch starts

    def on_train_epoch_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Starts the counts at zero."""
        self._begin(pl_module)

    def on_train_batch_end(
        self,
        trainer: "Trainer",
        pl_module: "LightningModule",
        outputs: object,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Tells the layers, if the optimiser made a step."""
        if trainer.global_step == self._seen:
            return  # gradients are being accumulated
        self._tell(trainer, pl_module)
        if self._every and trainer.global_step % self._every == 0:
            now = _look(pl_module)
            values = _values(_since(self._window, now, trainer), _FORWARD + _BACKWARD)
            self._window = now
            for logger in trainer.loggers:
                # Lightning's own metrics of this step have its number counted from 0
                logger.log_metrics(_named(values, "", "_step"), step=trainer.global_step - 1)

    def on_train_epoch_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Logs the epoch."""
        values = _values(_since(self._epoch, _look(pl_module), trainer), _FORWARD + _BACKWARD)
        values["progress"] = self._progress(trainer)
        _log(pl_module, _named(values))

    def on_validation_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Notes where the counts stand."""
        _refuse_layerless(pl_module)
        self._evaluation = _look(pl_module)

    def on_validation_epoch_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Logs the validation, and takes it off what the epoch counts."""
        now = _look(pl_module)
        for look in (self._epoch, self._window):
            for name in look:
                look[name] += now[name] - self._evaluation[name]
        _log(pl_module, _named(_values(_since(self._evaluation, now, trainer), _FORWARD), "val_"))

    def on_test_start(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Notes where the counts stand."""
        _refuse_layerless(pl_module)
        self._evaluation = _look(pl_module)

    def on_test_epoch_end(self, trainer: "Trainer", pl_module: "LightningModule") -> None:
        """Logs the test."""
        values = _values(_since(self._evaluation, _look(pl_module), trainer), _FORWARD)
        _log(pl_module, _named(values, "test_"))

    def _progress(self, trainer: "Trainer") -> float:
        return min(1.0, trainer.global_step / self._total)

    def _tell(self, trainer: "Trainer", module: "LightningModule") -> None:
        self._seen = trainer.global_step
        for layer in solver_layers(module):
            layer.progress = self._progress(trainer)

    def _begin(self, module: "LightningModule") -> None:
        """Starts the epoch's counts; what the loggers have not heard of yet is still to be told."""
        before = _look(module)
        for layer in solver_layers(module):
            layer.stats.reset()
        self._epoch = _look(module)
        untold = {name: before[name] - since for name, since in self._window.items()}
        self._window = {name: now - untold.get(name, 0) for name, now in self._epoch.items()}


def _refuse_layerless(module: "LightningModule") -> None:
    if not solver_layers(module):
        raise ValueError(
            f"SolverCallback expects a module with an SMTLayer inside. "
            f"Got {type(module).__name__} without one. Keep the layer in an attribute or an "
            f"nn.ModuleList, not in a plain list."
        )


def _estimate(trainer: "Trainer") -> int:
    steps = trainer.estimated_stepping_batches
    if math.isinf(steps) or steps < 1:  # -1 for data without a length
        raise ValueError(
            "SolverCallback cannot tell how many steps this training will have. "
            "Set max_steps in the Trainer, or give the callback total."
        )
    return int(steps)


def _look(module: "LightningModule") -> _Look:
    return solver_counts(module) | {_CLOCK: time.perf_counter()}


def _since(before: _Look, now: _Look, trainer: "Trainer") -> _Look:
    """What happened between two looks, summed over processes."""
    passed = {name: float(now[name] - before[name]) for name in now}
    if trainer.world_size == 1:
        return passed
    device = trainer.strategy.root_device
    mine = torch.tensor(list(passed.values()), dtype=torch.float64, device=device)
    total = torch.as_tensor(trainer.strategy.reduce(mine, reduce_op="sum"))
    return dict(zip(passed, total.tolist(), strict=True))


def _values(passed: _Look, names: tuple[str, ...]) -> dict[str, float]:
    """What is logged: counts, and shares of rows and of time."""
    values = {name: passed[name] for name in names}
    values["seconds"] = passed["solver_seconds"]
    for name in ("unknown", "unproved", "blamed", "contradicted"):
        if name in names:
            values[f"{name}_share"] = passed[name] / max(1.0, passed["rows"])
    values["time_share"] = passed["solver_seconds"] / max(1e-9, passed[_CLOCK])
    return values


def _named(values: dict[str, float], before: str = "", after: str = "") -> dict[str, float]:
    return {f"solver/{before}{name}{after}": value for name, value in values.items()}


def _log(module: "LightningModule", values: dict[str, float]) -> None:
    # All processes log the same: with sync_dist Lightning averages equals, and does not warn.
    module.log_dict(values, batch_size=1, sync_dist=True)
