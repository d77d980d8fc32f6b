"""Probabilities of listed models, given logits of their inputs.

Given the wanted outputs, the posterior is a distribution over the models with those outputs and the
facts, each in proportion to the product of its inputs' probabilities; see `solvers.reading`. The
logarithm of that product is, up to a constant, minus the sum of |logit| over the inputs that the
model overrules. This holds for one-hot symbols too: exactly one of their columns is true in every
model, so softmax and sigmoid differ by a constant. Only differences between these sums matter for
the posterior; they are computed before large logits absorb small ones.
"""

import torch
from torch import Tensor

from smtlayer.solvers.reading import Reading
from smtlayer.solvers.table.exact import excess

_ADDED_PLAINLY = 2.0**20  # logits up to this are added as float64, with errors below 1e-9
_LARGEST = 1e308  # keeps costs finite: infinite ones could not be compared
_LEAST = 1e-300


def relative_costs(logits: Tensor, disagrees: Tensor, allowed: Tensor) -> Tensor:
    """The cost of each model minus a constant per row: (b, K) float64.

    On the host, differences between costs are exact to 1e-9 for logits of any size. On a GPU the
    values are not inspected: the constant is the cost of a best model, so the logits that all
    allowed models overrule cancel. If a model overrules another large logit instead, the difference
    is rounded in proportion to it.

    Args:
        logits: (b, n), 0 for an unknown input.
        disagrees: (2n, K) float64; for each input, which models have it false; then, true.
        allowed: Models with the wanted outputs, (b, K) bool.
    """
    if not disagrees.shape[-1] or not len(logits):
        return torch.zeros_like(allowed, dtype=torch.float64)
    halves = asked_halves(logits)
    if not halves.is_cuda and halves.amax() > _ADDED_PLAINLY:
        return excess(halves, disagrees, allowed)
    cost = (halves @ disagrees).clamp(max=_LARGEST)
    return less_the_best(cost, logits.double(), disagrees, allowed) if halves.is_cuda else cost


def less_the_best(cost: Tensor, odds: Tensor, disagrees: Tensor, allowed: Tensor) -> Tensor:
    """Costs minus that of a best allowed model, summed over the inputs in which they differ."""
    best = torch.where(allowed, cost, torch.inf).argmin(-1)
    true = disagrees[odds.shape[-1] :].index_select(1, best).T  # (b, n) in the best model
    more = torch.cat([odds * true, odds * (true - 1)], dim=-1) @ disagrees
    return more.clamp(-_LARGEST, _LARGEST)


def asked_halves(logits: Tensor) -> Tensor:
    """|logit| of inputs with a positive logit, then of those with a negative one: (b, 2n)."""
    odds = logits.double()
    return torch.cat([odds.clamp(min=0), (-odds).clamp(min=0)], dim=-1)


def draw_model(cost: Tensor, allowed: Tensor) -> Tensor:
    """The index of an allowed model drawn in proportion to exp(-cost), or K: (b,).

    By exponential races: the first of arrival times with rates exp(-cost).
    """
    if not cost.shape[-1]:
        return torch.zeros(len(cost), dtype=torch.int64, device=cost.device)
    worth = torch.where(allowed, -cost, -torch.inf)
    worth = worth - worth.amax(-1, keepdim=True)  # else large costs would absorb the noise
    lead = worth - torch.empty_like(cost).exponential_().clamp(min=_LEAST).log()
    index = torch.where(allowed, lead, -torch.inf).argmax(-1)
    return torch.where(allowed.any(-1), index, cost.shape[-1])


def cheapest_models(cost: Tensor, allowed: Tensor, k: int) -> Tensor:
    """The k allowed models of least cost, the first of equal ones: (b, K) bool."""
    order = torch.where(allowed, cost, torch.inf).argsort(dim=-1, stable=True)
    return torch.zeros_like(allowed).scatter_(-1, order[:, :k], True) & allowed


def shares(cost: Tensor, allowed: Tensor) -> Tensor:
    """The probability of each model, zeros if none is allowed: (b, K) float64."""
    share = torch.where(allowed, -cost, -torch.inf).softmax(-1)
    return torch.where(allowed.any(-1, keepdim=True), share, 0)


def log_total(cost: Tensor, allowed: Tensor, reading: Reading, true: Tensor) -> Tensor:
    """The log-probability of all allowed models together, -inf if there is none: (b,) float64.

    That of a best model, plus the logarithm of how much more all of them weigh.

    Args:
        cost: (b, K) float64, minus any constant per row.
        allowed: (b, K) bool.
        reading: The probabilities of the inputs; allowed models agree with the facts among them.
        true: (n, K) float64, which models have an input true.
    """
    if not cost.shape[-1]:
        return torch.full((len(cost),), -torch.inf, dtype=torch.float64, device=cost.device)
    least, best = torch.where(allowed, cost, torch.inf).min(-1, keepdim=True)
    more = torch.where(allowed, least - cost, -torch.inf).logsumexp(-1)
    chosen = true.index_select(1, best.squeeze(-1)).T > 0  # (b, n)
    most = torch.where(chosen, reading.true, reading.false).sum(-1)
    return torch.where(allowed.any(-1), most + more, -torch.inf)
