"""The trainer: trains a network on any task, phase by phase."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, final

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.loop import Stepper, solver_counts, solver_layers
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.runs.optimizers import make_stepper, steps_in_epoch
from smtlayer_studies.runs.phases import Phase, Phases
from smtlayer_studies.runs.progress import OnStep, Progress, Sums
from smtlayer_studies.runs.records import Epoch
from smtlayer_studies.runs.resume import deferred_interrupt, random_state, set_random_state
from smtlayer_studies.runs.run_folder import RunFolder
from smtlayer_studies.runs.shifts import shifted_each, shifted_together, turned
from smtlayer_studies.tasks.base import Batch, Model, Rows, Task


@final
@dataclass
class Trainer:
    """Trains a new network with a head: after any pre-training, with the layer or a dense head.

    Args:
        task: Provides examples and the network.
        config: The options.
        folder: Where checkpoints are saved, after every epoch and on Ctrl-C; None for nowhere.
            A training that has a checkpoint there is resumed, with the same result.
        on_step: Called after each step.
    """

    task: Task
    config: RunConfig
    folder: str | Path | None = None
    on_step: OnStep = lambda event: None
    epochs: list[Epoch] = field(default_factory=list)  # their counts
    model: Model | None = field(default=None, init=False)  # after the last epoch
    distillation: nn.Module | None = field(default=None, init=False)  # if that is the pre-training

    def run(self) -> Model:
        """Trains, and returns the model."""
        for _ in self.each_epoch():
            pass
        return cast(Model, self.model)

    def each_epoch(self) -> Iterator[Epoch]:
        """Trains epoch by epoch, and yields each; first those of the checkpoint, if there is one.

        Ctrl-C within an epoch saves a checkpoint and raises KeyboardInterrupt.
        """
        folder = None if self.folder is None else RunFolder(Path(self.folder), self.config)
        state = None if folder is None else folder.load_checkpoint()
        self.epochs = [] if state is None else [Epoch(**epoch) for epoch in state["epochs"]]
        yield from list(self.epochs)
        torch.manual_seed(self.config.seed)
        phases = Phases(self.task, self.config)
        for number, phase in enumerate(phases):
            phase.module.to(self.config.device)
            self.distillation = phases.distillation
            if state is not None and state["phase"] > number:
                continue  # its module had to be made: it draws random numbers
            yield from self._each_epoch_of(number, phase, folder, state)
            state = None
        self.model = cast(Model, phase.module)  # the last phase's

    def _each_epoch_of(
        self, number: int, phase: Phase, folder: RunFolder | None, state: dict[str, Any] | None
    ) -> Iterator[Epoch]:
        module = phase.module
        steps = steps_in_epoch(len(self._rows(0)), phase.options.batch_size)
        stepper = make_stepper(module, phase.options, steps, self.config.device)
        sums = self._zero()
        if state is not None:
            module.load_state_dict(state["module"])
            stepper.load_state_dict(state["stepper"])
            sums = Sums(**state["sums"])
            set_random_state(state["random"])
            if self.distillation is not None and phase.name == "train":
                self.distillation.load_state_dict(state["distillation"])

        def save() -> None:
            if folder is not None:
                folder.save_checkpoint({
                    "phase": number, "module": module.state_dict(),
                    "stepper": stepper.state_dict(), "sums": vars(sums),
                    "random": random_state(self.config.device),
                    "epochs": [vars(epoch) for epoch in self.epochs],
                    "distillation": _state(self.distillation),
                })  # fmt: skip

        module.train()
        for epoch in range(stepper.done // steps, phase.options.epochs):
            with deferred_interrupt() as interrupted:
                if self._epoch(phase, stepper, sums, epoch, steps, interrupted):
                    sums = self._zero()
                save()
                if interrupted():
                    raise KeyboardInterrupt
            yield self.epochs[-1]

    def _epoch(
        self,
        phase: Phase,
        stepper: Stepper,
        sums: Sums,
        epoch: int,
        steps: int,
        interrupted: Callable[[], bool],
    ) -> bool:
        """Trains one epoch, or the rest of it. Returns whether it was completed."""
        module = phase.module
        for layer in solver_layers(module):
            layer.stats.reset()
        start = time.perf_counter()
        number = epoch if phase.name == "train" else -1 - epoch  # pre-training has other examples
        rows, size = self._rows(number), phase.options.batch_size
        order = self._order(len(rows), number)
        progress = Progress(phase, stepper, steps, start, self.on_step)
        for step in range(sums.steps, steps):
            batch = self._moved(phase, rows.batch(order[step * size : (step + 1) * size]))
            loss, right = phase.compute(module, batch)
            stepper(loss)
            sums.loss += loss.detach()
            sums.right += right
            sums.steps += 1
            progress.show(sums)
            if interrupted() and sums.steps < steps:
                sums.seconds += time.perf_counter() - start
                return False
        count, counts = sums.steps, solver_counts(module)
        loss_mean, right_mean = sums.loss.item() / count, sums.right.item() / count
        seconds = sums.seconds + time.perf_counter() - start
        self.epochs.append(Epoch(phase.name, loss_mean, right_mean, seconds, counts))
        return True

    def _moved(self, phase: Phase, batch: Batch) -> Batch:
        """The batch with its images turned and shifted at random."""
        train, images = self.config.train, batch.features
        if not (train.shift or train.turn) or phase.name == "pretrain":
            return batch
        if not images.is_floating_point():
            option = "shift" if train.shift else "turn"
            raise ConfigError(
                f"{self.config.experiment}: train.{option} moves images, and {self.task.name} has "
                f"none. Set it to 0."
            )
        if train.turn:
            images = turned(images, train.turn)
        if train.shift:
            images = (shifted_each if train.shift_each else shifted_together)(images, train.shift)
        return replace(batch, features=images)

    def _rows(self, epoch: int) -> Rows:
        """The training examples of an epoch, on the device."""
        rows = self.task.rows("train", self.config.train.rows, self.config.seed, epoch)
        return rows.to(torch.device(self.config.device))

    def _order(self, count: int, epoch: int) -> Tensor:
        seed = (self.config.seed * 1_000_003 + epoch + 500) % 2**63
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
        return order.to(self.config.device)

    def _zero(self) -> Sums:
        zero = torch.zeros((), device=self.config.device)
        return Sums(zero, zero.clone())


def _state(module: nn.Module | None) -> dict[str, object] | None:
    return None if module is None else module.state_dict()
