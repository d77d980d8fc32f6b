"""The forward pass of a few rows on the CPU without gradient, in numpy.

A policy in a loop or a web service asks about one row at a time. Tables and diagrams answer it in
less time than a dozen torch operations take.
"""

import math
from time import perf_counter

import numpy as np
import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual
from torch.jit import is_tracing  # type: ignore[attr-defined]

from smtlayer.nn.passes import Plan
from smtlayer.nn.rules.maxsmt import MaxsmtRule, SmtRule
from smtlayer.nn.weights import LEAST_WEIGHT
from smtlayer.solvers.one_row import Floats, answers_row

FEW = 4  # rows; from about eight on, batches are faster
_HUGE = 2.0**900  # from here on sums could overflow


def few_outputs(
    plan: Plan, logits: Tensor, known: Tensor | None, given: Tensor | None
) -> Tensor | None:
    """The outputs of a few rows, (B, m); None where the ordinary forward pass has to answer."""
    solver, n_outputs = plan.solver, plan.solver.theory.n_outputs
    if not (type(logits) is Tensor and logits.is_cpu and len(logits) and answers_row(solver)):
        return None
    if is_tracing() or unpack_dual(logits).tangent is not None:  # type: ignore[no-untyped-call]
        return None
    start = perf_counter()
    weights = _weights(plan, logits)
    if weights is None:
        return None
    signs = np.where(logits.detach().numpy() > 0, np.int8(1), np.int8(-1))
    if known is not None:
        signs *= known.numpy()
    if given is not None:
        weights[given.numpy()] = np.inf
    outputs = np.empty((len(signs), n_outputs))
    sat = 0
    for i, row in enumerate(signs):
        found = solver.cheapest(row, weights[i])
        if found is None:
            return None
        columns, cost = found
        outputs[i] = columns[len(row) :]
        sat += cost < math.inf
    plan.stats.count({"sat": sat, "unsat": len(signs) - sat}, perf_counter() - start)
    return torch.from_numpy(outputs).to(logits.dtype)


def _weights(plan: Plan, logits: Tensor) -> Floats | None:
    """The weights of the forward rule; None for other rules and for logits that are not plain."""
    if logits.dtype not in (torch.float32, torch.float64):
        return None
    values = logits.detach().numpy()
    if not np.isfinite(values).all():
        return None  # the ordinary pass raises, or takes infinite facts
    if isinstance(plan.forward, SmtRule):
        return np.full(values.shape, np.inf)
    if not isinstance(plan.forward, MaxsmtRule) or plan.weights != "logit":
        return None
    size: Floats = np.abs(values).astype(np.float64)
    if logits.dtype == torch.float64 and not (size.all() and size.max() < _HUGE):
        return None  # a logit of 0 weighs less than any other, which may be tiny
    return np.maximum(size, LEAST_WEIGHT, out=size)
