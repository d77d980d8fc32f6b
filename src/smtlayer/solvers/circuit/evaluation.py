"""Recursions over the levels of a diagram, for all rows of a batch at once.

| question | an arc is | a node is |
|---|---|---|
| cheapest model | its weight plus the node below | the least of its arcs |
| total weight | the same, as logarithms | the logarithm of the sum of their exponentials |
| k most probable models | the same for the k best of the node below | the k largest of its arcs |
| first input of a core | the lesser of weight and node below | the largest of its arcs |

A way down from the root then follows one arc per level: the cheapest one, or one drawn by weight.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from smtlayer.solvers.circuit.tensors import Tensors

_LEAST = 1e-300
_LOWEST = -1e308


def least(tensors: Tensors, weights: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The least total weight of a model, (B,); and through each arc, (N, F, B) per level."""
    nodes, found = weights.new_zeros(1, weights.shape[-1]), []
    for level in reversed(tensors.levels):
        found.append(level.add(nodes, weights))
        nodes = found[-1].amin(1)
    return nodes[0], found[::-1]


def widest(tensors: Tensors, weights: Tensor) -> Tensor:
    """The largest over all models of the least weight of its values: (B,)."""
    nodes = weights.new_full((1, weights.shape[-1]), torch.inf)
    for level in reversed(tensors.levels):
        nodes = level.least(nodes, weights).amax(1)
    return nodes[0]


def log_total(tensors: Tensors, weights: Tensor) -> Tensor:
    """The logarithm of the total weight of all models: (B,)."""
    nodes = weights.new_zeros(1, weights.shape[-1])
    for level in reversed(tensors.levels):
        nodes = level.add(nodes, weights).logsumexp(1)
    return nodes[0]


def shares(tensors: Tensors, weights: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The same, and the share of each arc in its node, (N, F, B) per level from the top."""
    nodes, found = weights.new_zeros(1, weights.shape[-1]), []
    for level in reversed(tensors.levels):
        arcs = level.add(nodes, weights)
        top = arcs.amax(1, keepdim=True).clamp_(min=_LOWEST)
        arcs.sub_(top).exp_()
        total = arcs.sum(1, keepdim=True)
        found.append(arcs.div_(total.clamp(min=_LEAST)))  # all zeros where there is no model
        nodes = total.log_().add_(top).squeeze(1)
    return nodes[0], found[::-1]


def first_ways(tensors: Tensors, weights: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest weights of models, (k, B), and the values on their ways, (packs, k * B).

    Each node has its k best ways, and each of them the arc and the way of the node below it. The
    weight is -inf where there are fewer models; the values have no meaning there.
    """
    size, every = weights.shape[-1], weights.repeat(1, k)
    nodes = weights.new_full((1, k, size), -torch.inf)
    nodes[:, 0] = 0
    found = []
    for level in reversed(tensors.levels):
        arcs = level.add(nodes.flatten(1), every).view(level.n_nodes, level.n_arcs * k, size)
        nodes, chosen = arcs.topk(k, dim=1)
        found.append(chosen.view(-1))
    place = torch.arange(k * size, device=weights.device)  # of node, way and row among all
    row, ways = place % size, []
    for level, chosen in zip(tensors.levels, found[::-1], strict=True):
        best = chosen.take(place)
        arc = place // (k * size) * level.n_arcs + best // k
        ways.append(arc)
        place = (level.child.take(arc) * k + best % k) * size + row
    return nodes[0], tensors.values_on(torch.stack(ways))


def mass(tensors: Tensors, found: Sequence[Tensor], most: float | None = None) -> Tensor:
    """The probability of each value, given shares: (values + 1, B), the last row zeros.

    With shares of 1 for arcs on the way to a model, else 0, and `most=1`, the limit of what reaches
    a node, it is positive for the values that some model has.
    """
    reached = torch.ones_like(found[0][:, 0])  # of the root
    parts = []
    for level, share in zip(tensors.levels, found, strict=True):
        flow = share.new_empty(level.n_nodes * level.n_arcs + 1, reached.shape[-1])
        flow[-1] = 0
        torch.mul(share, reached[:, None], out=flow[:-1].view_as(share))
        reached = level.by_child.sum(flow)
        if most is not None:
            reached.clamp_(max=most)
        parts += [values.sum(flow)[:-1] for values in level.by_value]
    parts.append(torch.zeros_like(parts[0][:1]))
    return torch.cat(parts)


def follow(tensors: Tensors, arcs: Sequence[Tensor], choose: Callable[[Tensor], Tensor]) -> Tensor:
    """The values on a way down from the root: (packs, B).

    Args:
        tensors: The diagram.
        arcs: A number for each arc and row, (N, F, B) per level.
        choose: Chooses an arc for each row, given the numbers of its arcs: (B, F) to (B,).
    """
    size = arcs[0].shape[-1]
    row = torch.arange(size, device=arcs[0].device)
    node, chosen = torch.zeros_like(row), []
    for level, each in zip(tensors.levels, arcs, strict=True):
        places = (node * (level.n_arcs * size) + row)[:, None] + level.each * size
        chosen.append(node * level.n_arcs + choose(each.take(places)))
        node = level.child.index_select(0, chosen[-1])
    return tensors.values_on(torch.stack(chosen))


def cheapest_arc(costs: Tensor) -> Tensor:
    """The first arc of least cost: (B, F) to (B,)."""
    return costs.min(1).indices  # faster than argmin


def first_arc(marked: Tensor) -> Tensor:
    """The first marked arc: (B, F) bool to (B,)."""
    return marked.to(torch.uint8).argmax(1)


def drawn_arc(share: Tensor) -> Tensor:
    """An arc drawn by its share: (B, F) to (B,)."""
    # The first of arrival times with these rates is drawn in proportion to them.
    return (share / torch.empty_like(share).exponential_().clamp_(min=_LEAST)).argmax(1)
