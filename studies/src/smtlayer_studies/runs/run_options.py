"""The options of a run: frozen groups that check their values."""

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, Strict
from pydantic.dataclasses import dataclass

from smtlayer.errors import ConfigError
from smtlayer.nn import SMTLayer, parse_rule
from smtlayer.plain import number, whole
from smtlayer.solvers import Backend
from smtlayer.solvers.names import BACKENDS, BackendName
from smtlayer.theory import Theory

Checked = ConfigDict(extra="forbid", allow_inf_nan=False)


def _plain(convert: Callable[[object], object]) -> BeforeValidator:
    """Converts numbers of other libraries; what is no number is left for the error message."""

    def before(value: object) -> object:
        try:
            return convert(value)
        except (TypeError, OverflowError):
            return value

    return BeforeValidator(before)


def _rule_of(option: str) -> AfterValidator:
    """Checks the text of a blame rule."""

    def check(text: str) -> str:
        try:
            parse_rule(text)
        except ValueError as error:
            raise ConfigError(f"{option} should be a blame rule. {error}") from error
        return text

    return AfterValidator(check)


Whole = Annotated[int, Strict(), _plain(whole)]
Number = Annotated[float, Strict(), _plain(number)]
_Positive = Annotated[Whole, Field(gt=0)]
_Rate = Annotated[Number, Field(gt=0)]
_Amount = Annotated[Number, Field(ge=0)]
_Share = Annotated[Number, Field(ge=0, le=1)]  # of the steps
_Optimizer = Literal["adam", "sgd"]
_Shape = Literal["cosine", "linear"]
_Forward = Literal["smt", "maxsmt"]


@dataclass(frozen=True, config=Checked)
class TrainOptions:
    """How to train: what belongs neither to the task nor to the layer."""

    epochs: _Positive = 5
    rows: _Positive = 60_000  # examples per epoch; tasks with fixed training sets ignore it
    batch_size: _Positive = 128
    optimizer: _Optimizer = "adam"
    lr: _Rate = 1e-3
    warmup: _Share = 0.05  # share of the steps over which the learning rate rises
    decay: _Share = 0.4  # share of the steps at the end over which it falls
    decay_shape: _Shape = "cosine"
    clip: _Amount = 0.1  # norm that gradients are clipped to; 0 for no clipping
    weight_decay: _Amount = 0.0
    shift: Annotated[Whole, Field(ge=0)] = 0  # most pixels by which images are moved at random
    shift_each: bool = False  # every image moves in its own way, not all of a batch alike
    turn: _Amount = 0.0  # most degrees by which each image is turned at random
    loss: Literal["cross-entropy", "likelihood"] = "cross-entropy"  # with a layer
    test_rows: _Positive = 10_000


@dataclass(frozen=True, config=Checked)
class PretrainOptions:
    """How the network is trained before the layer is added."""

    kind: Literal["none", "dense", "autoencoder", "placement-search", "distillation"] = "none"
    epochs: _Positive = 3
    batch_size: _Positive = 128
    optimizer: _Optimizer = "sgd"
    lr: _Rate = 1.0
    warmup: _Share = 0.05
    decay: _Share = 0.4
    decay_shape: _Shape = "cosine"
    clip: _Amount = 0.1
    weight_decay: _Amount = 0.0
    placement_lr: _Rate = 1e-2  # of the placement search for the teacher, which is one epoch


@dataclass(frozen=True, config=Checked)
class LayerOptions:
    """The layer: its rules by name, and its backend."""

    forward: _Forward = "smt"
    inference: _Forward = "maxsmt"
    backward: Annotated[str, Strict(), _rule_of("layer.backward")] = "core"
    weights: Literal["logit", "softmax"] = "logit"
    scale: Literal["gradient", "batch"] = "gradient"
    backend: BackendName = "auto"
    timeout_ms: _Positive = 10_000  # per row of a batch; tables need no limit
    workers: Annotated[Whole, Field(ge=0)] = 0  # processes that share a batch; 0: this process

    def make(self, theory: Theory) -> SMTLayer:
        """The layer."""
        return SMTLayer(
            theory, backend=self._backend(), forward=self.forward, inference=self.inference,
            backward=self.backward, weights=self.weights, scale=self.scale,
        )  # fmt: skip

    def _backend(self) -> Backend:
        if self.backend in ("table", "circuit", "enumerate"):
            return BACKENDS[self.backend]()
        return BACKENDS[self.backend](timeout_ms=self.timeout_ms, workers=self.workers)


@dataclass(frozen=True, config=Checked)
class RestartOptions:
    """Trainings with a low training accuracy are started again from another seed."""

    most: _Positive = 1  # trainings at most; the one with the best training accuracy is kept
    enough: Number = 0.99  # training accuracy from which on there is no other start


@dataclass(frozen=True, config=Checked)
class MemberOptions:
    """A portfolio: trainings with several rules and seeds, of which only the best is finished."""

    rules: tuple[Annotated[str, Strict(), _rule_of("each of members.rules")], ...] = ()
    seeds: _Positive = 1  # trainings per rule; without rules, of the layer's own
    enough: Number = 0.95  # training accuracy in an epoch with which a member wins at once
    budget: Annotated[Number, Field(ge=1)] = 2.0  # most epochs of all, over those of one

    @property
    def several(self) -> bool:
        """Whether there is a portfolio."""
        return bool(self.rules) or self.seeds > 1


def check_device(name: str) -> str:
    """The name of a device, after a check that torch can use it.

    Raises:
        ConfigError: If it cannot.
    """
    if not isinstance(name, str):
        raise ConfigError(f"The device is named as torch does, as in 'cuda:0'. Got {name!r}.")
    try:
        torch.zeros(1, device=name).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise ConfigError(
            f"The device {name!r} cannot be used: {reason}. Use 'cpu', or one that torch has here."
        ) from error
    return name
