"""The trainer: trains a network on any task, phase by phase."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, final

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.loop import Stepper, solver_counts, solver_layers
from smtlayer.solvers.base import WeighsModels
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.runs.losses import cross_entropy, likelihood
from smtlayer_studies.runs.records import Epoch, PhaseName
from smtlayer_studies.runs.resume import deferred_interrupt, random_state, set_random_state
from smtlayer_studies.runs.run_folder import RunFolder
from smtlayer_studies.runs.run_options import PretrainOptions, TrainOptions
from smtlayer_studies.runs.shifts import shifted_each, shifted_together, turned
from smtlayer_studies.tasks.base import Batch, Model, Rows, Task
from smtlayer_studies.tasks.networks import DenseHead

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
    part: str = ""  # of a pre-training that has several

    @property
    def title(self) -> str:
        """The phase, and its part if it has several."""
        return f"{self.phase}, {self.part}" if self.part else self.phase


OnStep = Callable[[Event], None]
_Compute = Callable[[Any, Batch], tuple[Tensor, Tensor]]  # from module and batch: loss, accuracy


@dataclass
class _Sums:
    """Sums over an epoch, on the device: adding to them does not wait for it."""

    loss: Tensor
    right: Tensor
    steps: int = 0
    seconds: float = 0.0  # before an interruption


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
    epochs: list[Epoch] = field(default_factory=list)
    distillation: nn.Module | None = field(default=None, init=False)  # if that is the pre-training

    def run(self) -> Model:
        """Trains, and returns the model. `epochs` then has the counts of all epochs."""
        torch.manual_seed(self.config.seed)
        network = self._new_network()
        folder = None if self.folder is None else RunFolder(Path(self.folder), self.config)
        state = None if folder is None else folder.load_checkpoint()
        self.epochs = [] if state is None else [Epoch(**epoch) for epoch in state["epochs"]]
        for number, phase in enumerate(self._phases(network)):
            module = phase.module.to(self.config.device)
            if state is not None and state["phase"] > number:
                continue  # its module had to be made: it draws random numbers
            self._run_phase(number, phase, module, folder, state)
            state = None
        return cast(Model, module)  # the last phase's

    def in_turns(self, epochs: int) -> Iterator[list[Epoch]]:
        """Trains one epoch at a time, without pre-training, and yields all epochs after each.

        It yields once more after the last.
        """
        torch.manual_seed(self.config.seed)
        network = self._new_network()
        *_, phase = self._phases(network)
        module = phase.module.to(self.config.device)
        steps = steps_in_epoch(len(self._rows(0)), phase.options.batch_size)
        stepper = make_stepper(
            module, replace(phase.options, epochs=epochs), steps, self.config.device
        )
        module.train()
        for epoch in range(epochs):
            self._epoch(phase, module, stepper, self._zero(), epoch, steps, lambda: False)
            yield self.epochs
        yield self.epochs

    def _phases(self, network: nn.Module) -> "Iterator[_Phase]":
        options, layer = self.config.pretrain, self.config.layer
        if options.kind == "dense":
            dense = Model(network, DenseHead(self.task.theory))
            yield _Phase("pretrain", dense, options, cross_entropy)
        elif options.kind == "autoencoder":
            yield _Phase("pretrain", self._autoencoder(network), options, _reconstructing)
        elif options.kind == "placement-search":
            yield self._placement_search(network, options)
        elif options.kind == "distillation":
            yield from self._distillation(network)
        head = DenseHead(self.task.theory) if layer is None else layer.make(self.task.theory)
        model = Model(network, head)
        yield _Phase("train", model, self.config.train, self._loss(model))

    def _loss(self, model: Model) -> _Compute:
        if self.config.train.loss == "cross-entropy":
            return cross_entropy
        if model.layer is not None and not isinstance(model.layer.solver, WeighsModels):
            raise ConfigError(
                f"{self.config.experiment}: train.loss = 'likelihood' needs a backend that weighs "
                f"all models. {self.task.name} uses {model.layer.solver.name}, which does not. Set "
                f"train.loss to 'cross-entropy'."
            )
        return likelihood

    def _new_network(self) -> nn.Module:
        network, initialize = self.task.network(), self.task.pretraining.initialize
        if initialize is not None:
            initialize(network)
        return network.to(self.config.device)

    def _autoencoder(self, network: nn.Module) -> nn.Module:
        make = self.task.pretraining.autoencoder
        if make is None:
            raise ConfigError(
                f"{self.config.experiment}: {self.task.name} has no auto-encoder with these "
                "options. Set pretrain.kind to 'dense' to pre-train with a dense head instead."
            )
        return make(network)

    def _placement_search(self, network: nn.Module, options: PretrainOptions) -> "_Phase":
        """The phase that finds out where in an image a network should read."""
        make, layer = self.task.pretraining.placement_search, self.config.layer
        if make is None or layer is None:
            raise self._unavailable("placement-search")
        search = make(network, layer.make(self.task.theory))
        return _Phase("pretrain", search, options, _scoring_itself, part="placement search")

    def _distillation(self, network: nn.Module) -> "Iterator[_Phase]":
        """A teacher is placed and trained; then this network learns from it."""
        ways, options, layer = self.task.pretraining, self.config.pretrain, self.config.layer
        if ways.teacher is None or ways.distillation is None or layer is None:
            raise self._unavailable("distillation")
        teacher = ways.teacher().to(self.config.device)
        placing = replace(options, epochs=1, lr=options.placement_lr)
        yield self._placement_search(teacher, placing)
        model = Model(teacher, layer.make(self.task.theory))
        yield _Phase("pretrain", model, options, cross_entropy, part="teacher")
        self.distillation = ways.distillation(network, teacher)
        yield _Phase("pretrain", self.distillation, options, _scoring_itself, part="student")

    def _unavailable(self, kind: str) -> ConfigError:
        return ConfigError(
            f"{self.config.experiment}: pretrain.kind = {kind!r} needs a layer and a task that "
            f"offers it. {self.task.name} with these options does not."
        )

    def _run_phase(
        self,
        number: int,
        phase: "_Phase",
        module: nn.Module,
        folder: RunFolder | None,
        state: dict[str, object] | None,
    ) -> None:
        steps = steps_in_epoch(len(self._rows(0)), phase.options.batch_size)
        stepper = make_stepper(module, phase.options, steps, self.config.device)
        sums = self._zero()
        if state is not None:
            module.load_state_dict(state["module"])  # type: ignore[arg-type]
            stepper.load_state_dict(state["stepper"])  # type: ignore[arg-type]
            sums = _Sums(**state["sums"])  # type: ignore[arg-type]
            set_random_state(state["random"])  # type: ignore[arg-type]
            if self.distillation is not None and phase.name == "train":
                self.distillation.load_state_dict(state["distillation"])  # type: ignore[arg-type]

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
        with deferred_interrupt() as interrupted:
            for epoch in range(stepper.done // steps, phase.options.epochs):
                if self._epoch(phase, module, stepper, sums, epoch, steps, interrupted):
                    sums = self._zero()
                save()
                if interrupted():
                    raise KeyboardInterrupt

    def _epoch(
        self,
        phase: "_Phase",
        module: nn.Module,
        stepper: Stepper,
        sums: _Sums,
        epoch: int,
        steps: int,
        interrupted: Callable[[], bool],
    ) -> bool:
        """Trains one epoch, or the rest of it. Returns whether it was completed."""
        for layer in solver_layers(module):
            layer.stats.reset()
        start = time.perf_counter()
        number = epoch if phase.name == "train" else -1 - epoch  # pre-training has other examples
        rows, size = self._rows(number), phase.options.batch_size
        order = self._order(len(rows), number)
        progress = _Progress(phase, stepper, module, steps, start, self.on_step)
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

    def _moved(self, phase: "_Phase", batch: Batch) -> Batch:
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

    def _zero(self) -> _Sums:
        zero = torch.zeros((), device=self.config.device)
        return _Sums(zero, zero.clone())


def _state(module: nn.Module | None) -> dict[str, object] | None:
    return None if module is None else module.state_dict()


@dataclass(frozen=True)
class _Phase:
    name: PhaseName
    module: nn.Module
    options: PretrainOptions | TrainOptions
    compute: _Compute
    part: str = ""


def _reconstructing(module: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    error = module(batch.features)
    return error, torch.zeros_like(error)


def _scoring_itself(module: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    loss, right = module(batch)
    return loss, right


@dataclass
class _Progress:
    """Calls `on_step`, with values that are read from the device only every few steps."""

    phase: _Phase
    stepper: Stepper
    module: nn.Module
    steps: int  # of an epoch
    start: float
    on_step: OnStep
    loss: float = math.nan
    accuracy: float = 0.0
    share: float = 0.0

    def show(self, sums: _Sums) -> None:
        if sums.steps % _READ_EVERY == 0 or sums.steps == self.steps:
            self.loss = sums.loss.item() / sums.steps
            self.accuracy = sums.right.item() / sums.steps
            solver = sum(layer.stats.solver_seconds for layer in solver_layers(self.module))
            self.share = solver / max(1e-9, time.perf_counter() - self.start)
        done, total = self.stepper.done, self.stepper.total
        phase, seen = self.phase, (self.loss, self.accuracy, self.share)
        event = Event(phase.name, done, total, *seen, phase.options.epochs, phase.part)
        self.on_step(event)


def steps_in_epoch(rows: int, batch_size: int) -> int:
    """The number of full batches: constant shapes are faster on a GPU."""
    return max(1, rows // batch_size)


def make_stepper(
    module: nn.Module, options: PretrainOptions | TrainOptions, steps: int, device: str
) -> Stepper:
    """The optimiser with its learning-rate schedule."""
    parameters, total = module.parameters(), steps * options.epochs
    optimizer: torch.optim.Optimizer
    if options.optimizer == "adam":
        optimizer = torch.optim.Adam(
            parameters, options.lr, weight_decay=options.weight_decay,
            fused=device.startswith("cuda"),
        )  # fmt: skip
    else:
        optimizer = torch.optim.SGD(
            parameters, options.lr, momentum=0.9, nesterov=True, weight_decay=options.weight_decay
        )
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate(step / total, 1 / total, options)
    )
    return Stepper(module, optimizer, total=total, clip=options.clip, schedule=rate)


def learning_rate(progress: float, step: float, options: PretrainOptions | TrainOptions) -> float:
    """The factor of the learning rate: rises over `warmup`, stays, and falls over `decay`.

    The plateau matters: a symbol that is still misread when the rate falls stays misread.

    Args:
        progress: Share of the steps that are done.
        step: Share of one step.
        options: Has `warmup` and `decay`, which are shares of the steps, and `decay_shape`.
    """
    rise, fall = max(step, options.warmup), max(step, options.decay)
    left = min(1.0, (1 - progress) / fall)
    if options.decay_shape == "cosine":
        left = 0.5 * (1 - math.cos(math.pi * left))
    return min(1.0, (progress + step) / rise) * left
