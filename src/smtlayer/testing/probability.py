"""The laws of solvers that weigh models, against sums over all models by their definition."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from smtlayer.solvers import Solver
from smtlayer.solvers.base import RanksModels, WeighsModels

if TYPE_CHECKING:
    from smtlayer.testing.conformance import Case

_DRAWS = 400
_CLOSE = 1e-9
_Weights = Mapping[tuple[int, ...], float]


def posterior(case: "Case") -> None:
    """Law 8, for `WeighsModels`: log_prob, marginals and samples follow the models' weights."""
    if isinstance(case.solver, WeighsModels):
        _follows_weights(case, case.solver, _logits(case))


def certain_facts(case: "Case") -> None:
    """Law 8 with facts: infinite logits, probability one for their signs."""
    if not isinstance(case.solver, WeighsModels):
        return
    logits = _logits(case)
    chosen = torch.rand(logits.shape, generator=torch.Generator().manual_seed(len(logits[0])))
    facts = (chosen < 0.3) & (logits != 0)
    facts[0] = case.inputs[0] != 0  # every input a fact
    _follows_weights(case, case.solver, torch.where(facts, logits.sign() * torch.inf, logits))


def shifted_symbols(case: "Case") -> None:
    """Law 8: a constant added to all logits of a one-hot symbol changes nothing."""
    solver: Solver = case.solver
    if not isinstance(solver, WeighsModels):
        return
    logits = _logits(case)
    moved = logits.clone()
    for shift, symbol in enumerate(solver.theory.input_symbols, start=1):
        if symbol.kind == "one-hot":
            moved[:, symbol.columns] += 1.5 * shift * (-1) ** shift
    before, after = (solver.marginal(each, case.outputs) for each in (logits, moved))
    for name in ("log_prob", "inputs", "outputs"):
        same = _far(getattr(before, name), getattr(after, name)) < _CLOSE
        assert same, f"a shift of all logits of a one-hot symbol changes {name}"
    pair = (solver.log_prob(each, case.outputs) for each in (logits, moved))
    assert _far(*pair) < _CLOSE, "a shift of all logits of a one-hot symbol changes log_prob"
    draws = []
    for each in (logits, moved):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            draws.append(solver.sample(each, case.outputs))
    same = torch.equal(draws[0].inputs, draws[1].inputs)
    assert same, "a shift of all logits of a one-hot symbol changes samples"


def most_probable(case: "Case") -> None:
    """Law 11, for `RanksModels`: sum and mean are those of k most probable models."""
    if not isinstance(case.solver, RanksModels):
        return
    logits = _logits(case)
    logits[1] = torch.where(case.inputs[1] == 0, 0, logits[1].sign() * torch.inf)  # facts
    exact = [_weights(case, row, values) for row, values in enumerate(logits.tolist())]
    for k in (1, 2, 5, 10_000):
        found = case.solver.topk(logits, case.outputs, k)
        status = torch.tensor([bool(weights) for weights in exact]).to(torch.int8)
        assert torch.equal(found.status, status), "status differs from the list of all models"
        mean = torch.cat([found.inputs, found.outputs], dim=-1)
        for row, weights in enumerate(exact):
            _is_mean_of_best(weights, k, found.log_prob[row].item(), mean[row])


def _is_mean_of_best(weights: _Weights, k: int, log_prob: float, mean: Tensor) -> None:
    """Asserts that sum and mean are those of k models of the largest weights, whichever of ties."""
    best = sorted(weights.values(), reverse=True)[:k]
    total = math.fsum(best)
    expected = math.log(total) if best else -math.inf
    far = _far(torch.tensor(log_prob), torch.tensor(expected))
    assert far < _CLOSE, "log_prob is not the sum over the most probable models"
    if not best:
        assert not mean.any(), "a mean where there is no model"
        return
    last = best[-1]
    above = {model: weight for model, weight in weights.items() if weight > last * (1 + _CLOSE)}
    near = last * (1 - _CLOSE)
    tied = [model for model in weights.keys() - above.keys() if weights[model] >= near]
    for column, share in enumerate(mean.tolist()):
        sure = math.fsum(weight for model, weight in above.items() if model[column] > 0)
        true = sum(model[column] > 0 for model in tied)
        count = len(best) - len(above)  # of the ties
        least, most = max(0, count - (len(tied) - true)), min(count, true)
        chosen = (share * total - sure) / last
        slack = _CLOSE * (1 + total / last)
        fits = least - slack <= chosen <= most + slack and abs(chosen - round(chosen)) <= slack
        assert fits, "not the mean of the most probable models"


def _logits(case: "Case") -> Tensor:
    """Logits of the case's inputs, 0 where an input is free, up to 6 in some rows."""
    odds = torch.where(case.inputs == 0, 0, case.inputs * case.weights)
    odds[::2] *= 3
    return odds


def _follows_weights(case: "Case", solver: WeighsModels, logits: Tensor) -> None:
    rows, n = logits.shape
    exact = [_weights(case, row, logits[row].tolist()) for row in range(rows)]
    status = torch.tensor([bool(weights) for weights in exact]).to(torch.int8)
    found = solver.marginal(logits, case.outputs)
    assert torch.equal(found.status, status), "status differs from the list of all models"
    sums = [math.fsum(weights.values()) for weights in exact]
    total = torch.tensor(sums, dtype=torch.float64).log()
    mean = torch.zeros(rows, n + case.outputs.shape[-1], dtype=torch.float64)
    for row, weights in enumerate(exact):
        for model, weight in weights.items():
            mean[row] += weight / sums[row] * (torch.tensor(model) > 0).double()
    assert _far(found.inputs, mean[:, :n]) < _CLOSE, "a marginal is not the mean over all models"
    assert _far(found.outputs, mean[:, n:]) < _CLOSE, "an output is not the mean over all models"
    assert _far(found.log_prob, total) < _CLOSE, "marginal has another log_prob than all models"
    direct = solver.log_prob(logits, case.outputs)
    assert _far(direct, total) < _CLOSE, "log_prob is not the sum over all models"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn = solver.sample(logits.repeat(_DRAWS, 1), case.outputs.repeat(_DRAWS, 1))
    assert torch.equal(drawn.status, status.repeat(_DRAWS)), "a sample has another status"
    _are_drawn(exact, torch.cat([drawn.inputs, drawn.outputs], dim=-1))


def _far(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference; 0 where both are -inf, inf where one is NaN."""
    off = torch.where(ours == theirs, 0, (ours - theirs).abs())
    return off.nan_to_num(nan=math.inf).max().item()


def _weights(case: "Case", row: int, logits: list[float]) -> dict[tuple[int, ...], float]:
    """The weight of each model with the wanted outputs, by its definition; none of weight 0."""
    wanted, n = case.outputs[row].tolist(), len(logits)
    symbols = case.solver.theory.input_symbols
    weights = {
        model: math.prod(
            _chance(s.kind == "one-hot", logits[s.columns], model[s.columns]) for s in symbols
        )
        for model in case.models
        if all(a in (0, b) for a, b in zip(wanted, model[n:], strict=True))
    }
    return {model: weight for model, weight in weights.items() if weight > 0}


def _chance(one_hot: bool, logits: Sequence[float], signs: Sequence[int]) -> float:
    """The probability that the columns of one symbol have these signs."""
    if not one_hot:
        return math.prod(_sigmoid(z * s) for z, s in zip(logits, signs, strict=True))
    most = max(logits)
    if most == -math.inf:
        return 0.0
    if most == math.inf:  # two facts that both choose a value leave none
        odds = [float(z == math.inf and logits.count(math.inf) == 1) for z in logits]
    else:
        odds = [math.exp(z - most) for z in logits]
    return odds[signs.index(1)] / (sum(odds) or 1.0)


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > 0 else 1 - 1 / (1 + math.exp(z))


def _are_drawn(exact: Sequence[_Weights], drawn: Tensor) -> None:
    """Asserts that each model is drawn as often as its probability demands."""
    for row, weights in enumerate(exact):
        here = drawn[row :: len(exact)]
        seen = Counter(tuple(model) for model in here.tolist())
        if not weights:
            assert not here.any(), "a sample where there is no model"
            continue
        assert seen.keys() <= weights.keys(), "a sample that is no model with the wanted outputs"
        for model, weight in weights.items():
            share = weight / math.fsum(weights.values())
            spread = math.sqrt(share * (1 - share) / _DRAWS)
            off = abs(seen[model] / _DRAWS - share)
            assert off < 5 * spread + 2 / _DRAWS, "a model is sampled too often or too rarely"
