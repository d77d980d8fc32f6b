r"""Softmax weights of which none is lost, however far apart the logits are.

A repair compares sums of $e^{|z_i|}$. Only ratios matter, so every weight may be divided by the
same number, but floats end at $e^{-745}$: beside a logit of 1000, those of 5 and 3 are both 0.
Between neighbours in size that lie far apart, the exact distance does not matter either: the larger
one outweighs all the smaller ones together. So the widest gaps are narrowed, as little as it takes
to fit the row into the range of floats.

The other end: $e^{1e-17}$ and $e^{1e-30}$ are the same float. Weights of different sizes that came
out equal are moved apart by one step of a float each.
"""

import torch
from torch import Tensor

_RANGE = 690.0  # exp(-690) is about 1e-300


def exact_softmax(size: Tensor, known: Tensor) -> Tensor:
    """Softmax over the known entries of each row, in which different sizes have different weights.

    Args:
        size: Non-negative, (B, n) float64.
        known: (B, n) bool. The others take no part, and get 0.

    Returns:
        The weights, (B, n) float64. They are those of an ordinary softmax, up to rounding, in rows
        whose sizes differ by no more than 690.

    Examples:
        >>> size = torch.tensor([[1000.0, 5.0, 3.0, 3.0]], dtype=torch.float64)
        >>> weights = exact_softmax(size, torch.ones(1, 4, dtype=torch.bool))[0]
        >>> bool(weights[2] + weights[3] < weights[1] < weights[0])
        True
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
    width = ((_RANGE - smaller) / others).amax(-1, keepdim=True)  # what is left, in equal parts
    narrow = torch.minimum(gaps, width)
    depth = -torch.nn.functional.pad(narrow.cumsum(-1), (1, 0))
    place = torch.arange(depth.shape[-1], device=gaps.device).expand_as(depth)
    first = torch.nn.functional.pad(torch.where(gaps > 0, place[:, 1:], 0), (1, 0)).cummax(-1)
    return depth.gather(-1, first.values)  # equal sizes have the very same depth


def _apart(weights: Tensor, smaller: Tensor) -> Tensor:
    """Falling weights, strictly so where `smaller` says it of an entry and the one before."""
    rank = torch.nn.functional.pad(smaller.cumsum(-1), (1, 0))
    # Positive floats are ordered as the integers with the same bits.
    bits = (weights.view(torch.int64) + rank).cummin(-1).values - rank
    return bits.view(torch.float64)
