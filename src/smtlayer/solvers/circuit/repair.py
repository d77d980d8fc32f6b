"""The cheapest model of each row, exactly, however far apart the weights are.

Costs are sums of weights of overruled inputs in float64, so a sum of k of them is off by no more
than k roundings of itself. Rows whose sums have no rounding at all (few bits, as with most float32
logits) are exact as they are. In the others, wherever on the way down another arc comes within
rounding of the cheapest, the row is *close*: rounding might hide which is cheaper. Close rows are
compared again by digits to the base 2**32, whose sums are whole numbers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from smtlayer.solvers.circuit.evaluation import cheapest_arc, first_arc, follow, least
from smtlayer.solvers.circuit.tensors import Tensors
from smtlayer.solvers.table.exact import BITS, digits

_HUGE = 2.0**980  # above it sums may overflow
_ROWS = 64  # compared by digits at once


def cheapest(
    tensors: Tensors, signs: Tensor, weights: Tensor, outputs: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Whether there is a model with the wanted outputs, (B,), and the values of the cheapest.

    Values are (packs, B), without meaning where there is no model.

    Args:
        tensors: The diagram.
        signs: (B, n) int8, 0 where an input is free.
        weights: (B, n) float64, positive where observed; infinite for a fact.
        outputs: (B, m) int8, 0 where any output will do; None if all are.
    """
    by_value = tensors.weights(_columns(signs, weights, outputs), torch.inf)
    cost, arcs = least(tensors, by_value)
    found, chosen = cost < torch.inf, follow(tensors, arcs, cheapest_arc)
    size = torch.where(weights.isinf() | (signs == 0), 0, weights)
    unsure = size.amax(-1) > _HUGE
    rough = (found & ~_is_plain(size)).nonzero().squeeze(-1)
    if len(rough):
        unsure[rough] |= _is_close(tensors, [part[..., rough] for part in arcs], len(size[0]))
    again = unsure.nonzero().squeeze(-1)
    for start in range(0, len(again), _ROWS):
        rows = again[start : start + _ROWS]
        wanted = None if outputs is None else outputs[rows]
        found[rows], chosen[:, rows] = _by_digits(tensors, signs[rows], weights[rows], wanted)
    return found, chosen


def _is_close(tensors: Tensors, arcs: Sequence[Tensor], n_inputs: int) -> Tensor:
    """Whether rounding may hide that another model is cheaper: (B,)."""
    slack = 1 + 8 * (n_inputs + len(arcs)) * torch.finfo(torch.float64).eps
    close = torch.zeros(arcs[0].shape[-1], dtype=torch.bool, device=arcs[0].device)

    def choose(costs: Tensor) -> Tensor:
        low, arc = costs.min(1, keepdim=True)
        near = (costs <= low * slack).sum(1) > 1
        close.logical_or_(near & (low.squeeze(1) > 0))
        return arc.squeeze(1)

    follow(tensors, arcs, choose)
    return close


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
    cheapest_arcs = []
    for level in reversed(tensors.levels):
        arcs = [level.add(n, w) for n, w in zip(nodes, by_value, strict=True)]
        for i in range(len(arcs) - 1, 0, -1):
            arcs[i - 1] += arcs[i] >> BITS
            arcs[i] &= (1 << BITS) - 1
        nodes, left = _lexicographic(arcs)
        cheapest_arcs.append(left)
    return nodes[0][0] == 0, follow(tensors, cheapest_arcs[::-1], first_arc)


def _lexicographic(arcs: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """The least number of each node, (N, B) per digit, and the arcs that have it, (N, F, B)."""
    left, nodes = torch.ones_like(arcs[0], dtype=torch.bool), []
    largest = torch.iinfo(torch.int64).max
    for digit in arcs:
        low = torch.where(left, digit, largest).amin(1, keepdim=True)
        left &= digit == low
        nodes.append(low.squeeze(1))
    return nodes, left
