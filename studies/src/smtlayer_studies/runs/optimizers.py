"""The optimiser of a phase, with its learning-rate schedule."""

import math

import torch
from torch import nn

from smtlayer.loop import Stepper
from smtlayer_studies.runs.run_options import PretrainOptions, TrainOptions


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
