"""Recursions over the levels of a diagram, for all rows of a batch at once.

| question | arcs are | a node is |
|---|---|---|
| cheapest model | added | the least of its arcs |
| total weight | added, as logarithms | the logarithm of the sum of their exponentials |
| first input of a core | the least of arc and node below | the largest of its arcs |

A way down from the root then follows one arc per level: the cheapest one, or one drawn by weight.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from smtlayer.solvers.circuit.tensors import LevelTensors, Tensors

_LEAST = 1e-300
_LOWEST = -1e308


def least(tensors: Tensors, weights: Tensor) -> list[Tensor]:
    """The least total weight from each node to the end; a tensor (N, B) per level, and the end."""
    nodes = [weights.new_zeros(1, weights.shape[-1])]
    for level in reversed(tensors.levels):
        nodes.append(level.add(nodes[-1], weights).amin(1))
    return nodes[::-1]


def widest(tensors: Tensors, weights: Tensor) -> Tensor:
    """The largest over all models of the least weight of its values: (B,)."""
    nodes = weights.new_full((1, weights.shape[-1]), torch.inf)
    for level in reversed(tensors.levels):
        below, arcs = nodes.index_select(0, level.child), weights.index_select(0, level.value)
        shape = (level.n_nodes, level.n_arcs, weights.shape[-1])
        nodes = torch.minimum(below, arcs).view(shape).amax(1)
    return nodes[0]


@dataclass(frozen=True, slots=True)
class Shares:
    """The arcs of a level by probability."""

    arcs: Tensor  # (N, F, B): exponentials of the weights, relative to the largest of the node
    total: Tensor  # (N, B): their sums


def log_total(tensors: Tensors, weights: Tensor) -> Tensor:
    """The logarithm of the total weight of all models: (B,)."""
    nodes = weights.new_zeros(1, weights.shape[-1])
    for level in reversed(tensors.levels):
        nodes = level.add(nodes, weights).logsumexp(1)
    return nodes[0]


def shares(tensors: Tensors, weights: Tensor) -> tuple[Tensor, list[Shares]]:
    """The same, with the shares of the arcs of each level from the top."""
    nodes, found = weights.new_zeros(1, weights.shape[-1]), []
    for level in reversed(tensors.levels):
        arcs = level.add(nodes, weights)
        top = arcs.amax(1, keepdim=True).clamp_(min=_LOWEST)
        arcs = arcs.sub_(top).exp_()
        total = arcs.sum(1)
        found.append(Shares(arcs, total))
        nodes = total.log().add_(top.squeeze(1))
    return nodes[0], found[::-1]


def mass(tensors: Tensors, found: list[Shares]) -> Tensor:
    """The probability of each value given the theory: (values + 1, B), the last row zeros."""
    reached = torch.ones_like(found[0].total)  # of the root
    parts = []
    for level, share in zip(tensors.levels, found, strict=True):
        flow = share.arcs.new_empty(level.n_nodes * level.n_arcs + 1, reached.shape[-1])
        flow[-1] = 0
        each = (reached / share.total.clamp(min=_LEAST))[:, None]
        torch.mul(share.arcs, each, out=flow[:-1].view_as(share.arcs))
        reached = level.by_child.sum(flow)
        parts.append(level.by_value.sum(flow)[:-1])
    parts.append(torch.zeros_like(parts[0][:1]))
    return torch.cat(parts)


def arc_weights(level: LevelTensors, below: Tensor, weights: Tensor, arcs: Tensor) -> Tensor:
    """The weight of some arcs of each row plus that of the node below: (B, F)."""
    size, row = below.shape[-1], _row_numbers(arcs)
    under = below.take(level.child.take(arcs) * size + row)
    return under + weights.take(level.value.take(arcs) * size + row)


def drawn(found: list[Shares], i: int, arcs: Tensor) -> Tensor:
    """An arc of each row, drawn by its share: (B, 1)."""
    share = found[i].arcs.take(arcs * found[i].arcs.shape[-1] + _row_numbers(arcs))
    # The first of arrival times with these rates is drawn in proportion to them.
    return (share / torch.empty_like(share).exponential_().clamp_(min=_LEAST)).argmax(1, True)


def follow(tensors: Tensors, n_rows: int, choose: Callable[[int, Tensor], Tensor]) -> Tensor:
    """The values on a way down from the root: (levels, B).

    Args:
        tensors: The diagram.
        n_rows: Number of rows of the batch.
        choose: Chooses one arc per row, given the number of the level and the positions of the
            row's arcs: (B, F) to (B, 1).
    """
    node = torch.zeros_like(tensors.levels[0].child[:1]).expand(n_rows)
    chosen = []
    for i, level in enumerate(tensors.levels):
        arcs = node[:, None] * level.n_arcs + level.each
        arc = arcs.gather(1, choose(i, arcs)).squeeze(1)
        node = level.child.index_select(0, arc)
        chosen.append(level.value.index_select(0, arc))
    return torch.stack(chosen)


def _row_numbers(arcs: Tensor) -> Tensor:
    return torch.arange(len(arcs), device=arcs.device)[:, None]
