"""The progress of a training, for progress bars."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from smtlayer.loop import Stepper, solver_layers
from smtlayer_studies.runs.phases import Phase
from smtlayer_studies.runs.records import PhaseName

_READ_EVERY = 8  # steps between reads of the loss, each of which waits for a GPU


@dataclass(frozen=True)
class Event:
    """The progress of a training, for progress bars."""

    phase: PhaseName
    done: int  # steps of this phase
    total: int
    loss: float
    accuracy: float
    solver_share: float  # of the time in this epoch
    epochs: int = 1  # of this phase
    part: str = ""  # of a pre-training that has several, or the member of a portfolio

    @property
    def title(self) -> str:
        """The phase, and its part if it has several."""
        return f"{self.phase}, {self.part}" if self.part else self.phase


OnStep = Callable[[Event], None]


@dataclass
class Sums:
    """Sums over an epoch, on the device: adding to them does not wait for it."""

    loss: Tensor
    right: Tensor
    steps: int = 0
    seconds: float = 0.0  # before an interruption


@dataclass
class Progress:
    """Calls `on_step`, with values that are read from the device only every few steps."""

    phase: Phase
    stepper: Stepper
    steps: int  # of an epoch
    start: float
    on_step: OnStep
    loss: float = math.nan
    accuracy: float = 0.0
    share: float = 0.0

    def show(self, sums: Sums) -> None:
        """Reports the step that was just done."""
        if sums.steps % _READ_EVERY == 0 or sums.steps == self.steps:
            self.loss = sums.loss.item() / sums.steps
            self.accuracy = sums.right.item() / sums.steps
            solver = sum(layer.stats.solver_seconds for layer in solver_layers(self.phase.module))
            self.share = solver / max(1e-9, time.perf_counter() - self.start)
        done, total = self.stepper.done, self.stepper.total
        phase, seen = self.phase, (self.loss, self.accuracy, self.share)
        event = Event(phase.name, done, total, *seen, phase.options.epochs, phase.part)
        self.on_step(event)
