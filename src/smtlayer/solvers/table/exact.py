"""Exact comparison of weighted sums, however far apart the weights are.

A float64 sum of 1.0 and 1e-17 is 1.0, so two costs that differ only there seem equal. If several
costs are equal up to rounding, the weights are split into 32-bit digits; sums of digits are exact
in float64, and after carrying they compare like the digits of a number.
"""

import torch
from torch import Tensor

BITS = 32
_DIGIT = 2.0**BITS
_LEAST_EXPONENT = -1074  # of a float64 above zero
_VANISHING = 2.0**-1000  # at least the rounding error of a row that is scaled down
_SMALL = 20  # bits before the point, up to which sums of weights are precise enough
_ROWS = 64  # rows compared at once: each takes one number per digit and candidate


def first_minimum(weights: Tensor, members: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """The index of the first allowed candidate of least total weight, K if there is none; its cost.

    Args:
        weights: Non-negative weights, (b, c) float64.
        members: The weights of each candidate, (c, K) of zeros and ones, float64.
        allowed: The candidates to choose from, (b, K) or (1, K) bool.
    """
    rows, K = len(weights), members.shape[-1]  # noqa: N806
    if not K or not rows:
        index = torch.full((rows,), K, device=weights.device)
        return index, torch.full((rows,), torch.inf, dtype=weights.dtype, device=weights.device)
    # Sums of the largest floats must not overflow. Scaling down loses the smallest weights,
    # so costs that differ by no more than those are compared exactly.
    huge = weights.amax(-1, keepdim=True) > 2.0**980
    scale, lost = torch.where(huge, 2.0**-40, 1.0), torch.where(huge, _VANISHING, 0.0)
    sums = torch.where(allowed, (weights * scale) @ members, torch.inf)  # (b, K)
    least, index = sums.min(-1, keepdim=True)
    slack = 1 + 4 * weights.shape[-1] * torch.finfo(torch.float64).eps
    close = sums <= least * slack + lost
    possible, zero = least.isfinite(), (least == 0) & ~huge
    tied = (((close.sum(-1, keepdim=True) > 1) & ~zero | huge) & possible).squeeze(-1)
    first, cost = _first(close & zero, index.squeeze(-1)), least.squeeze(-1)
    for start in range(0, int(tied.sum()), _ROWS):
        part = tied.nonzero().squeeze(-1)[start : start + _ROWS]
        first[part] = _lexicographic(digits(weights[part]), members, close[part])
        cost[part] = total_weight(weights[part], members, first[part])
    return torch.where(possible.squeeze(-1), first, K), cost


def total_weight(weights: Tensor, members: Tensor, index: Tensor) -> Tensor:
    """The cost of each row's candidate, infinite only for the index K: (b,)."""
    K = members.shape[-1]  # noqa: N806
    if not K:
        return torch.full_like(weights[:, 0], torch.inf)
    chosen = members.index_select(1, index.clamp(max=K - 1)).T  # (b, c)
    total = (weights * chosen).sum(-1).clamp(max=torch.finfo(torch.float64).max)
    return torch.where(index < K, total, torch.inf)


def excess(weights: Tensor, members: Tensor, allowed: Tensor) -> Tensor:
    """The cost of each candidate minus that of the cheapest allowed one: (b, K) float64.

    Weights are split into parts whose sums are exact, so large costs that differ by little cancel
    exactly. Takes one product per part; their number depends on the values. Arguments are those of
    `first_minimum`.
    """
    best = first_minimum(weights, members, allowed)[0].clamp(max=members.shape[-1] - 1)[:, None]
    more, rest = torch.zeros_like(weights[:, :1]), weights
    exponent = int(rest.amax().frexp().exponent)
    while exponent > _SMALL:
        unit = 2.0 ** (exponent - BITS)
        part = (rest / unit).floor()
        more = more + _above(part @ members, best) * unit
        rest = rest - part * unit
        exponent = int(rest.amax().frexp().exponent)
    return more + _above(rest @ members, best)


def _above(sums: Tensor, index: Tensor) -> Tensor:
    return sums - sums.gather(-1, index)


def _first(candidates: Tensor, otherwise: Tensor) -> Tensor:
    return torch.where(candidates.any(-1), candidates.to(torch.uint8).argmax(-1), otherwise)


def digits(weights: Tensor) -> Tensor:
    """Weights as digits to the base 2**32, most significant first, scaled by row: (d, b, c)."""
    scale = weights.amax(-1, keepdim=True).frexp().exponent
    rest = torch.ldexp(weights, -scale.clamp(max=0))  # only up: down, the smallest would vanish
    above = (scale.clamp(min=0) - _LEAST_EXPONENT + BITS - 1) // BITS  # number of digits
    place, found = above * BITS + _LEAST_EXPONENT, list[Tensor]()
    while rest.any():
        place = (place - BITS).clamp(min=_LEAST_EXPONENT)
        unit = torch.exp2(place.double())
        found.append((rest / unit).floor())  # exact, since the unit is a power of two
        rest = rest - found[-1] * unit
    return torch.stack(found)


def _lexicographic(digits: Tensor, members: Tensor, candidates: Tensor) -> Tensor:
    """The first candidate whose digit sums, after carrying, are least."""
    sums = list(digits @ members)  # d times (b, K)
    for i in range(len(sums) - 1, 0, -1):
        carry = (sums[i] / _DIGIT).floor()
        sums[i] = sums[i] - carry * _DIGIT
        sums[i - 1] = sums[i - 1] + carry
    for total in sums:
        least = torch.where(candidates, total, torch.inf).amin(-1, keepdim=True)
        candidates = candidates & (total == least)
    return candidates.to(torch.uint8).argmax(-1)
