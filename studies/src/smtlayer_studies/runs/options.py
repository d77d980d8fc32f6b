"""This file holds the options of a run: small frozen groups, each checked when made."""

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

import torch

from smtlayer.errors import ConfigError
from smtlayer.nn import SMTLayer, parse_rule
from smtlayer.plain import make_plain
from smtlayer.solvers import Z3, Auto, Backend, Enumerate, Sat, Table
from smtlayer.theory import Theory

Optimizer = Literal["adam", "sgd"]


def check_device(name: str) -> None:
    """Raises unless torch can put tensors on the device of this name."""
    if not isinstance(name, str):
        raise ConfigError(f"The device is named as torch does, as in 'cuda:0'. Got {name!r}.")
    try:
        torch.zeros(1, device=name).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise ConfigError(
            f"The device {name!r} cannot be used: {reason}. Use 'cpu', or one that torch has here."
        ) from error


@dataclass(frozen=True)
class TrainOptions:
    """How to train: what belongs neither to the task nor to the layer."""

    epochs: int = 5
    rows: int = 60_000  # in an epoch; tasks with fixed sets have their own number
    batch_size: int = 128
    optimizer: Optimizer = "adam"
    lr: float = 1e-3
    warmup: float = 0.05  # share of the steps over which the learning rate rises
    decay: float = 0.4  # share of the steps at the end over which it falls, as a cosine
    clip: float = 0.1  # norm that gradients are clipped to; 0 for no clipping
    weight_decay: float = 0.0
    shift: int = 0  # pixels by which all images of a batch are moved at most, at random
    test_rows: int = 10_000

    def __post_init__(self) -> None:
        make_plain(self)
        _above_zero(self, "epochs", "rows", "batch_size", "lr", "test_rows")
        _not_below_zero(self, "clip", "weight_decay", "shift")
        _shares(self, "warmup", "decay")
        _one_of(self, "optimizer", ("adam", "sgd"))


@dataclass(frozen=True)
class PretrainOptions:
    """How the network is trained before the layer comes on top."""

    kind: Literal["none", "dense", "autoencoder", "placement-search", "distillation"] = "none"
    epochs: int = 3
    batch_size: int = 128
    optimizer: Optimizer = "sgd"
    lr: float = 1.0
    warmup: float = 0.05
    decay: float = 0.4
    clip: float = 0.1
    weight_decay: float = 0.0
    placement_lr: float = 1e-2  # of the placement search for the teacher, which is one epoch

    def __post_init__(self) -> None:
        make_plain(self)
        _above_zero(self, "epochs", "batch_size", "lr", "placement_lr")
        _not_below_zero(self, "clip", "weight_decay")
        _shares(self, "warmup", "decay")
        _one_of(self, "kind", get_args(get_type_hints(PretrainOptions)["kind"]))
        _one_of(self, "optimizer", ("adam", "sgd"))


@dataclass(frozen=True)
class LayerOptions:
    """The layer: rules by name, and who answers."""

    forward: Literal["smt", "maxsmt"] = "smt"
    inference: Literal["smt", "maxsmt"] = "maxsmt"
    backward: str = "core"
    weights: Literal["logit", "softmax"] = "logit"
    scale: Literal["gradient", "batch"] = "gradient"
    backend: Literal["auto", "table", "sat", "z3", "enumerate"] = "auto"
    timeout_ms: int = 10_000  # for one row of a batch; tables answer at once
    workers: int = 0  # processes that share the rows of a batch; 0: this one

    def __post_init__(self) -> None:
        make_plain(self)
        _above_zero(self, "timeout_ms")
        _not_below_zero(self, "workers")
        _one_of(self, "forward", ("smt", "maxsmt"))
        _one_of(self, "inference", ("smt", "maxsmt"))
        _one_of(self, "weights", ("logit", "softmax"))
        _one_of(self, "scale", ("gradient", "batch"))
        _one_of(self, "backend", ("auto", "table", "sat", "z3", "enumerate"))
        try:
            parse_rule(self.backward)
        except ValueError as error:
            raise ConfigError(f"backward expects a blame rule. {error}") from error

    def make(self, theory: Theory) -> SMTLayer:
        """The layer."""
        return SMTLayer(
            theory, backend=self._backend(), forward=self.forward, inference=self.inference,
            backward=self.backward, weights=self.weights, scale=self.scale,
        )  # fmt: skip

    def _backend(self) -> Backend:
        if self.backend == "table":
            return Table()
        if self.backend == "enumerate":
            return Enumerate()
        if self.backend == "auto":
            return Auto(timeout_ms=self.timeout_ms, workers=self.workers)
        kind = Sat if self.backend == "sat" else Z3
        return kind(timeout_ms=self.timeout_ms, workers=self.workers)


@dataclass(frozen=True)
class RestartOptions:
    """Trainings that failed by their training rows are begun again from another seed."""

    most: int = 1  # trainings at most; the one with the best training accuracy is kept
    enough: float = 0.99  # training accuracy at which no other is begun

    def __post_init__(self) -> None:
        make_plain(self)
        _above_zero(self, "most")


def _above_zero(options: Any, *names: str) -> None:
    for name in names:
        if not getattr(options, name) > 0:
            raise ConfigError(f"{name} must be above 0. Got {getattr(options, name)!r}.")


def _not_below_zero(options: Any, *names: str) -> None:
    for name in names:
        if not getattr(options, name) >= 0:
            raise ConfigError(f"{name} must not be below 0. Got {getattr(options, name)!r}.")


def _shares(options: Any, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(options, name) <= 1:
            raise ConfigError(
                f"{name} is a share of the steps, from 0 to 1. Got {getattr(options, name)!r}."
            )


def _one_of(options: Any, name: str, choices: tuple[str, ...]) -> None:
    value = getattr(options, name)
    if value not in choices:
        raise ConfigError(f"{name} is one of {', '.join(choices)}. Got {value!r}.")
