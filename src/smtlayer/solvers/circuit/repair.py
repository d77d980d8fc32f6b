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
_SMALL = -900  # exponent of a sum, below which its unit is no float
_ROWS = 64  # compared by digits at once
_LARGEST = torch.finfo(torch.float64).max


def cheapest(
    tensors: Tensors, signs: Tensor, weights: Tensor, outputs: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The values of the cheapest model with the wanted outputs, (packs, B), and its cost, (B,).

    The cost is infinite where there is no model; the values have no meaning there.

    Args:
        tensors: The diagram.
        signs: (B, n) int8, 0 where an input is free.
        weights: (B, n) float64, positive where observed; infinite for a fact.
        outputs: (B, m) int8, 0 where any output will do; None if all are.
    """
    signed = (weights * signs).nan_to_num(0, torch.inf, -torch.inf)
    by_value = tensors.weights(_columns(signed, outputs), torch.inf)
    cost, arcs = least(tensors, by_value)
    chosen = follow(tensors, arcs, cheapest_arc)
    size = signed.abs().nan_to_num_(0, 0)
    unsure = size.amax(-1) > _HUGE
    rough = (~_is_plain(size)).nonzero().squeeze(-1)
    if len(rough):
        unsure[rough] |= _is_close(tensors, [part[..., rough] for part in arcs], len(size[0]))
    again = unsure.nonzero().squeeze(-1)
    for start in range(0, len(again), _ROWS):
        rows = again[start : start + _ROWS]
        wanted = None if outputs is None else outputs[rows]
        found, chosen[:, rows] = _by_digits(tensors, signed[rows], wanted)
        own = by_value[:, rows].gather(0, chosen[:, rows]).sum(0).clamp(max=_LARGEST)
        cost[rows] = torch.where(found, own, torch.inf)
    return chosen, cost


def _is_close(tensors: Tensors, arcs: Sequence[Tensor], n_inputs: int) -> Tensor:
    """Whether rounding may hide that another model is cheaper: (B,)."""
    slack = 1 + 8 * (n_inputs + len(arcs)) * torch.finfo(torch.float64).eps
    close = torch.zeros(arcs[0].shape[-1], dtype=torch.bool, device=arcs[0].device)

    def choose(costs: Tensor) -> Tensor:
        low, arc = costs.min(1, keepdim=True)
        near = (costs <= low * slack).sum(1) > 1
        close.logical_or_(near & (low.squeeze(1) > 0) & (low.squeeze(1) < torch.inf))
        return arc.squeeze(1)

    follow(tensors, arcs, choose)
    return close


def _columns(signed: Tensor, outputs: Tensor | None) -> list[Tensor]:
    """What it costs that inputs, and outputs, are true and false: (columns, B) each."""
    weights = signed.T.contiguous()
    cost = [(-weights).clamp_(min=0), weights.clamp(min=0)]
    if outputs is not None:
        cost += [torch.where(outputs.T < 0, torch.inf, 0).double(),
                 torch.where(outputs.T > 0, torch.inf, 0).double()]  # fmt: skip
    return cost


def _is_plain(weights: Tensor) -> Tensor:
    """Whether all sums of a row's weights are exact in float64: (B,).

    They are if every weight is a multiple of a unit of which the largest sum has less than 2**52.
    """
    exponent = weights.sum(-1, keepdim=True).frexp().exponent
    units = weights * torch.exp2(51 - exponent.double())
    return ((units - units.floor()).sum(-1) == 0) & (exponent.squeeze(-1) > _SMALL)


def _by_digits(tensors: Tensors, signed: Tensor, outputs: Tensor | None) -> tuple[Tensor, Tensor]:
    """Whether there is a model, and the cheapest, in whole numbers of several digits.

    The most significant digit counts what is impossible.
    """
    finite = torch.where(signed.isinf(), 0, signed)
    sizes = digits(finite.abs()) if finite.any() else [finite]
    planes = [torch.where(signed.isinf(), signed.sign(), 0), *(d * signed.sign() for d in sizes)]
    by_value = []
    for i, plane in enumerate(planes):
        columns = _columns(plane, None if outputs is None else outputs * (i == 0))
        by_value.append(tensors.weights([c.clamp(max=1) if i == 0 else c for c in columns],
                                        float(i == 0)).long())  # fmt: skip
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
