r"""Weights of inputs: the cost of overruling each of them.

Softmax weights are computed such that none is lost, however far apart the logits are. A repair
compares sums of $e^{|z_i|}$. Only ratios matter, so every weight may be divided by the same number,
but floats end at $e^{-745}$: beside a logit of 1000, those of 5 and 3 are both 0. Between
neighbours in size that lie far apart, the exact distance does not matter either: the larger one
outweighs all the smaller ones together. So the widest gaps are narrowed, as little as it takes to
fit the row into the range of floats.

At the other end, $e^{1e-17}$ and $e^{1e-30}$ are the same float. Weights of different sizes that
came out equal are moved apart by one step of a float each.
"""

from typing import Literal

import torch
from torch import Tensor

Weights = Literal["logit", "softmax"]
LEAST_WEIGHT = 1e-300  # so that overruling an input is never free, not even at a logit of 0
_LEAST_FLOAT = 5e-324
_RANGE = 690.0  # exp(-690) is about 1e-300


def confidence(
    logits: Tensor, signs: Tensor, weights: Weights, given: Tensor | None = None
) -> Tensor:
    """The weight of each input, (B, n) float64 and above zero; infinite for facts.

    `"logit"` is the log-odds of an input, |logit|, so that the cheapest repair is the most probable
    one; `"softmax"` is the paper's softmax(|logit|) over the known inputs of a row that are not
    facts. Facts are where `given` is True, (B, n) bool.
    """
    size = logits.detach().double().abs()
    if given is not None:
        size = size.masked_fill(given, torch.inf)
    if weights == "softmax":
        if given is None:
            return exact_softmax(size, signs != 0)
        return exact_softmax(size, (signs != 0) & ~given).masked_fill(given, torch.inf)
    if logits.dtype != torch.float64:
        return size.clamp(min=LEAST_WEIGHT)
    smallest = torch.where(size > 0, size, torch.inf).amin(-1, keepdim=True)
    least = (smallest / 2).clamp(min=_LEAST_FLOAT, max=LEAST_WEIGHT)
    return torch.where(size == 0, least, size)


def exact_softmax(size: Tensor, known: Tensor) -> Tensor:
    """Softmax over the known entries of each row of non-negative float64; the others get 0.

    Different sizes get different weights. In rows whose sizes differ by no more than 690, the
    weights are those of an ordinary softmax, up to rounding.
    """
    top = torch.where(known, size, 0).amax(-1, keepdim=True)
    ordered, order = torch.where(known, size, top).sort(-1, descending=True)
    gaps = -ordered.diff(dim=-1)  # (B, n - 1)
    depth = ordered - top
    wide = depth[:, -1:] < -_RANGE
    if wide.any():
        depth = torch.where(wide, _narrowed(gaps), depth)
    weights = depth.exp()
    total = (weights * known.gather(-1, order)).sum(-1, keepdim=True).clamp(min=1)
    share = _apart(weights / total, gaps > 0)
    return torch.zeros_like(size).scatter_(-1, order, share) * known


def _narrowed(gaps: Tensor) -> Tensor:
    """Depths below the largest whose gaps are cut off at a width at which the row just fits."""
    rising = gaps.sort(-1).values
    smaller = torch.nn.functional.pad(rising.cumsum(-1)[:, :-1], (1, 0))  # their total
    others = torch.arange(gaps.shape[-1], 0, -1, device=gaps.device)  # from this gap on
    width = ((_RANGE - smaller) / others).amax(-1, keepdim=True)  # the rest, in equal parts
    narrow = torch.minimum(gaps, width)
    depth = -torch.nn.functional.pad(narrow.cumsum(-1), (1, 0))
    place = torch.arange(depth.shape[-1], device=gaps.device).expand_as(depth)
    first = torch.nn.functional.pad(torch.where(gaps > 0, place[:, 1:], 0), (1, 0)).cummax(-1)
    return depth.gather(-1, first.values)  # equal sizes have the same depth


def _apart(weights: Tensor, smaller: Tensor) -> Tensor:
    """Makes falling weights fall strictly from an entry to the next where `smaller` is True."""
    rank = torch.nn.functional.pad(smaller.cumsum(-1), (1, 0))
    # Positive floats are ordered as the integers with the same bits.
    bits = (weights.view(torch.int64) + rank).cummin(-1).values - rank
    return bits.view(torch.float64)
