"""The phases of a training: pre-training of several kinds, then training with the layer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.solvers.base import WeighsModels
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.runs.losses import cross_entropy, likelihood
from smtlayer_studies.runs.records import PhaseName
from smtlayer_studies.runs.run_options import PretrainOptions, TrainOptions
from smtlayer_studies.tasks.base import Batch, Model, Task
from smtlayer_studies.tasks.networks import DenseHead

Compute = Callable[[Any, Batch], tuple[Tensor, Tensor]]  # from module and batch: loss, accuracy


@dataclass(frozen=True)
class Phase:
    """What is trained, with which options and loss."""

    name: PhaseName
    module: nn.Module
    options: PretrainOptions | TrainOptions
    compute: Compute
    part: str = ""


@final
@dataclass
class Phases:
    """The phases of a training. Iterating makes a new network, and then one phase at a time."""

    task: Task
    config: RunConfig
    distillation: nn.Module | None = field(default=None, init=False)  # if that is the pre-training

    def __iter__(self) -> Iterator[Phase]:
        """Makes the network, which all phases share, and the module of each phase."""
        network = self.new_network()
        options, layer = self.config.pretrain, self.config.layer
        if options.kind == "dense":
            dense = Model(network, DenseHead(self.task.theory))
            yield Phase("pretrain", dense, options, cross_entropy)
        elif options.kind == "autoencoder":
            yield Phase("pretrain", self._autoencoder(network), options, _reconstructing)
        elif options.kind == "placement-search":
            yield self._placement_search(network, options)
        elif options.kind == "distillation":
            yield from self._distillation(network)
        head = DenseHead(self.task.theory) if layer is None else layer.make(self.task.theory)
        model = Model(network, head)
        yield Phase("train", model, self.config.train, self._loss(model))

    def new_network(self) -> nn.Module:
        """A network as the task initialises it, on the device."""
        network, initialize = self.task.network(), self.task.pretraining.initialize
        if initialize is not None:
            initialize(network)
        return network.to(self.config.device)

    def _loss(self, model: Model) -> Compute:
        if self.config.train.loss == "cross-entropy":
            return cross_entropy
        if model.layer is not None and not isinstance(model.layer.solver, WeighsModels):
            raise ConfigError(
                f"{self.config.experiment}: train.loss = 'likelihood' needs a backend that weighs "
                f"all models. {self.task.name} uses {model.layer.solver.name}, which does not. Set "
                f"train.loss to 'cross-entropy'."
            )
        return likelihood

    def _autoencoder(self, network: nn.Module) -> nn.Module:
        make = self.task.pretraining.autoencoder
        if make is None:
            raise ConfigError(
                f"{self.config.experiment}: {self.task.name} has no auto-encoder with these "
                "options. Set pretrain.kind to 'dense' to pre-train with a dense head instead."
            )
        return make(network)

    def _placement_search(self, network: nn.Module, options: PretrainOptions) -> Phase:
        """The phase that finds out where in an image a network should read."""
        make, layer = self.task.pretraining.placement_search, self.config.layer
        if make is None or layer is None:
            raise self._unavailable("placement-search")
        search = make(network, layer.make(self.task.theory))
        return Phase("pretrain", search, options, _scoring_itself, part="placement search")

    def _distillation(self, network: nn.Module) -> Iterator[Phase]:
        """A teacher is placed and trained; then this network learns from it."""
        ways, options, layer = self.task.pretraining, self.config.pretrain, self.config.layer
        if ways.teacher is None or ways.distillation is None or layer is None:
            raise self._unavailable("distillation")
        teacher = ways.teacher().to(self.config.device)
        placing = replace(options, epochs=1, lr=options.placement_lr)
        yield self._placement_search(teacher, placing)
        model = Model(teacher, layer.make(self.task.theory))
        yield Phase("pretrain", model, options, cross_entropy, part="teacher")
        self.distillation = ways.distillation(network, teacher)
        yield Phase("pretrain", self.distillation, options, _scoring_itself, part="student")

    def _unavailable(self, kind: str) -> ConfigError:
        return ConfigError(
            f"{self.config.experiment}: pretrain.kind = {kind!r} needs a layer and a task that "
            f"offers it. {self.task.name} with these options does not."
        )


def _reconstructing(module: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    error = module(batch.features)
    return error, torch.zeros_like(error)


def _scoring_itself(module: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    loss, right = module(batch)
    return loss, right
