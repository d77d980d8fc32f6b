"""The cheapest model of each row, exactly, however far apart the weights are.

Costs are sums of weights of overruled inputs in float64, so a sum of k of them is off by no more
than k roundings of itself. On the way down, wherever another arc comes within that distance of the
cheapest, the row is *close*: rounding might hide which is cheaper. Close rows whose sums have no
rounding at all (few bits, as with float32 logits of similar size) are exact as they are. The others
are compared again by digits to the base 2**32, whose sums are whole numbers, from the bottom up.
"""

import torch
from torch import Tensor

from smtlayer.solvers.circuit.evaluation import arc_weights, follow, least
from smtlayer.solvers.circuit.tensors import Tensors
from smtlayer.solvers.table.exact import BITS, digits

_HUGE = 2.0**980  # above it sums may overflow
_ROWS = 64  # compared by digits at once
_EPS = torch.finfo(torch.float64).eps


def cheapest(
    tensors: Tensors, signs: Tensor, weights: Tensor, outputs: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Whether there is a model with the wanted outputs, (B,), and the values of the cheapest.

    Values are (levels, B), without meaning where there is no model.

    Args:
        tensors: The diagram.
        signs: (B, n) int8, 0 where an input is free.
        weights: (B, n) float64, positive where observed; infinite for a fact.
        outputs: (B, m) int8, 0 where any output will do; None if all are.
    """
    cost = _columns(signs, weights, outputs)
    by_value = tensors.weights(cost, torch.inf)
    below = least(tensors, by_value)
    close = torch.zeros(len(signs), dtype=torch.bool, device=signs.device)
    slack = 1 + 8 * (weights.shape[-1] + len(below)) * _EPS

    def choose(i: int, arcs: Tensor) -> Tensor:
        costs = arc_weights(tensors.levels[i], below[i + 1], by_value, arcs)
        cheap, arc = costs.min(1, keepdim=True)
        near = (costs <= cheap * slack).sum(1) > 1
        close.logical_or_(near & (cheap.squeeze(1) > 0))
        return arc

    chosen, found = follow(tensors, len(signs), choose), below[0][0] < torch.inf
    size = torch.where(weights.isinf() | (signs == 0), 0, weights)
    huge = size.amax(-1) > _HUGE
    rows = (close & found & ~_is_plain(size) | huge).nonzero().squeeze(-1)
    for part in rows.split(_ROWS) if len(rows) else ():
        wanted = None if outputs is None else outputs[part]
        found[part], chosen[:, part] = _by_digits(tensors, signs[part], weights[part], wanted)
    return found, chosen


def _columns(signs: Tensor, weights: Tensor, outputs: Tensor | None) -> list[Tensor]:
    """What it costs that inputs, and outputs, are true and false."""
    cost = [torch.where(signs < 0, weights, 0), torch.where(signs > 0, weights, 0)]
    if outputs is not None:
        cost += [torch.where(outputs < 0, torch.inf, 0).double(),
                 torch.where(outputs > 0, torch.inf, 0).double()]  # fmt: skip
    return cost


def _is_plain(weights: Tensor) -> Tensor:
    """Whether all sums of a row's weights are exact in float64: (B,)."""
    mantissa, exponent = weights.frexp()
    whole = (mantissa * 2.0**53).long()
    lowest = (whole & -whole).double().frexp().exponent + exponent  # of the lowest bit, + 54
    unit = torch.where(whole > 0, lowest, 4096).amin(-1)
    return weights.sum(-1).frexp().exponent < unit


def _by_digits(
    tensors: Tensors, signs: Tensor, weights: Tensor, outputs: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The same as `cheapest`, in whole numbers of several digits, most significant first."""
    facts = torch.where(weights.isinf(), 1.0, 0.0)
    finite = torch.where(weights.isinf() | (signs == 0), 0, weights)
    planes = [facts, *(digits(finite) if finite.any() else [finite])]
    by_value = []
    for i, plane in enumerate(planes):
        wanted = outputs if i == 0 else None if outputs is None else torch.zeros_like(outputs)
        columns = [c.clamp(max=1) if i == 0 else c for c in _columns(signs, plane, wanted)]
        by_value.append(tensors.weights(columns, float(i == 0)).long())
    nodes = [torch.zeros_like(plane[:1]) for plane in by_value]
    first = []
    for level in reversed(tensors.levels):
        arcs = [level.add(n, w) for n, w in zip(nodes, by_value, strict=True)]
        for i in range(len(arcs) - 1, 0, -1):
            arcs[i - 1] += arcs[i] >> BITS
            arcs[i] &= (1 << BITS) - 1
        nodes, arc = _lexicographic(arcs)
        first.append(arc)
    first.reverse()

    def choose(i: int, arcs: Tensor) -> Tensor:
        node = arcs[:, :1] // tensors.levels[i].n_arcs
        row = torch.arange(len(node), device=node.device)[:, None]
        return first[i].take(node * len(node) + row)

    return nodes[0][0] == 0, follow(tensors, len(signs), choose)


def _lexicographic(arcs: list[Tensor]) -> tuple[list[Tensor], Tensor]:
    """The least number of each node, and the first arc that has it: (N, B) each."""
    left, nodes = torch.ones_like(arcs[0], dtype=torch.bool), []
    largest = torch.iinfo(torch.int64).max
    for digit in arcs:
        low = torch.where(left, digit, largest).amin(1, keepdim=True)
        left &= digit == low
        nodes.append(low.squeeze(1))
    return nodes, left.to(torch.uint8).argmax(1)
