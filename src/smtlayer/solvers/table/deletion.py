"""Cores by deletion over the list of all models, by a few tensor operations.

A model disagrees with a row on some columns. Rank columns from the least confident (0) to the most.
Deletion starts with the most confident input. The first one that must stay has the largest rank
that is the *least* disagreement of some model: without it, that model would agree. This input is in
the core; models that disagree with it are removed; repeat with the rest. With 2**rank as weights,
the least disagreement is the lowest bit of a product.
"""

import torch
from torch import Tensor

_WORD = 52  # bits that a float64 product holds exactly


def halves_of(signs: Tensor, values: Tensor) -> Tensor:
    """The values of inputs with sign +1, then of inputs with sign -1, zeros elsewhere: (b, 2n)."""
    return torch.cat([torch.where(signs > 0, values, 0), torch.where(signs < 0, values, 0)], dim=-1)


def core_by_deletion(
    inputs: Tensor, deletions: Tensor, wanted: Tensor, disagrees: Tensor
) -> tuple[Tensor, Tensor]:
    """Whether each row is satisfiable, and its core: (b,) and (b, n) bool.

    Args:
        inputs: (b, n) signs; inputs that are 0 are not in the core.
        deletions: (b, n) columns in the order of their deletion.
        wanted: (b, K) bool, the models to choose from.
        disagrees: (2n, K) of zeros and ones; for each input, which models have it false; then,
            true. In a float that is exact for n bits, or for 52 where there are more inputs.
    """
    order = deletions.flip(-1)  # by rank
    rank = torch.empty_like(order).scatter_(
        -1, order, torch.arange(order.shape[-1], device=order.device).expand_as(order)
    )
    search = _core_in_a_word if order.shape[-1] <= _WORD else _core_by_columns
    return search(inputs, order, rank, wanted, disagrees)


def _core_in_a_word(
    inputs: Tensor, order: Tensor, rank: Tensor, wanted: Tensor, disagrees: Tensor
) -> tuple[Tensor, Tensor]:
    """Whether each row is satisfiable, and its core; one word has all disagreements of a model."""
    value = torch.exp2(rank.to(disagrees.dtype))
    words = (halves_of(inputs, value) @ disagrees).long()  # (b, K), bit = rank
    satisfiable = (wanted & (words == 0)).any(-1)
    least = (words & -words) * (wanted & ~satisfiable[:, None])  # 0: a removed model
    core = torch.zeros_like(least[:, :1])  # (b, 1), bit = rank
    for step in range(inputs.shape[-1]):
        needed = least.amax(-1, keepdim=True)  # (b, 1)
        if _is_done(needed, step):
            break
        core = core | needed
        least = least * (words & needed == 0)
    return satisfiable, (core >> rank & 1).bool()


def _core_by_columns(
    inputs: Tensor, order: Tensor, rank: Tensor, wanted: Tensor, disagrees: Tensor
) -> tuple[Tensor, Tensor]:
    """Like `_core_in_a_word`, for any number of inputs."""
    n = inputs.shape[-1]
    least = torch.zeros_like(wanted, dtype=torch.int64)  # (b, K) rank + 1, 0 if none
    for start in reversed(range(0, n, _WORD)):
        inside = (rank >= start) & (rank < start + _WORD)
        value = torch.where(inside, torch.exp2((rank - start).to(disagrees.dtype)), 0)
        words = (halves_of(inputs, value) @ disagrees).long()
        low = (words & -words).double().frexp().exponent.long()
        least = torch.where(words != 0, low + start, least)
    satisfiable = (wanted & (least == 0)).any(-1)
    least = least * (wanted & ~satisfiable[:, None])
    blamed = torch.zeros_like(inputs, dtype=torch.bool)
    for step in range(n):
        needed = least.amax(-1, keepdim=True)  # (b, 1)
        if _is_done(needed, step):
            break
        column = order.gather(-1, (needed - 1).clamp(min=0))  # (b, 1)
        blamed.scatter_(-1, column, blamed.gather(-1, column) | (needed > 0))
        half = column + n * (inputs.gather(-1, column) < 0)
        least = least * (disagrees.index_select(0, half.squeeze(-1)) == 0)
    return satisfiable, blamed


def _is_done(needed: Tensor, step: int) -> bool:
    """Whether no row needs another input; checked less often on a GPU, where it synchronizes."""
    if needed.is_cuda and (step % 4 != 3 or torch.cuda.is_current_stream_capturing()):
        return False
    return not needed.any()
