"""This file weighs the models on a list by the log-odds of their inputs.

Let each input be true with the probability sigmoid(logit), independently of the others, and let
the wanted outputs be seen. What is then known of the inputs is a distribution over the models with
those outputs, each in proportion to the product of its inputs' probabilities. The logarithm of that
product is, up to a constant, minus the sum of |logit| over the inputs that the model overrules:
a sum without cancellation, so a sure input never hides an unsure one beside it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

_LARGEST = 1e308  # what is overruled stays a number, or equals would not be told from the rest
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is known of the inputs of each row, given the wanted outputs."""

    status: Tensor  # (B,)   int8, see Status; UNSAT: no model has the wanted outputs
    inputs: Tensor  # (B, n) float64, the probability that an input is true; zeros without a model


def overruled(logits: Tensor, disagrees: Tensor) -> Tensor:
    """The sum of |logit| over what each model overrules: (b, K) float64.

    Args:
        logits: (b, n), 0 for an input of which nothing is known.
        disagrees: (2n, K) float64; for each input, which models have it false; then, true.
    """
    exact = logits.double()
    halves = torch.cat([exact.clamp(min=0), (-exact).clamp(min=0)], dim=-1)  # (b, 2n)
    return (halves @ disagrees).clamp(max=_LARGEST)


def draw_model(cost: Tensor, allowed: Tensor) -> Tensor:
    """The index of an allowed model drawn in proportion to exp(-cost), or K: (b,).

    The first to come in a race: model k after a time that is exponential with rate exp(-cost).
    """
    if not cost.shape[-1]:
        return torch.zeros(len(cost), dtype=torch.int64, device=cost.device)
    worth = torch.where(allowed, -cost, -torch.inf)
    worth = worth - worth.amax(-1, keepdim=True)  # or chance would be lost beside large costs
    lead = worth - torch.empty_like(cost).exponential_().clamp(min=_LEAST).log()
    index = torch.where(allowed, lead, -torch.inf).argmax(-1)
    return torch.where(allowed.any(-1), index, cost.shape[-1])


def mean_inputs(cost: Tensor, allowed: Tensor, true: Tensor) -> Tensor:
    """The probability of each input being true, zeros where no model is allowed: (b, n).

    Args:
        cost: (b, K) float64.
        allowed: (b, K) bool.
        true: (n, K) float64, which models have an input true.
    """
    share = torch.where(allowed, -cost, -torch.inf).softmax(-1)
    return torch.where(allowed.any(-1, keepdim=True), share @ true.T, 0)
