r"""The probabilities that logits give to the inputs of a theory.

Each input *symbol* has a distribution of its own. A `Bool`, and each bit of a bit-vector, is true
with probability $\sigma(z)$. A one-hot symbol has the value $v$ with probability
$\mathrm{softmax}(z)_v$ over its columns, so a constant added to all of them changes nothing. A
logit of 0 everywhere means that nothing is known; an infinite logit is a fact.

The log-probability of a model is the sum over its input columns of `true` or `false`. With

$$\log P = \log \sum_{\text{models}} \exp \sum_i (\text{true}_i \text{ or } \text{false}_i)$$

the derivative of $\log P$ in a logit is the posterior probability of its column minus `mean`, for
both kinds of symbol.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from smtlayer.theory import Theory

_LEAST = -1e300  # of a value that finite logits all but exclude: sums of many stay finite


@dataclass(frozen=True, slots=True)
class Reading:
    """Log-probabilities of the two values of each input column; never NaN."""

    true: Tensor  # (B, n) float64: what a column adds to log P of a model in which it is true
    false: Tensor  # (B, n) float64: the same where it is false
    mean: Tensor  # (B, n) float64: the probability of being true, before the theory is considered


def read(theory: Theory, logits: Tensor) -> Reading:
    """The probabilities of the inputs.

    Args:
        theory: Its input symbols say which columns belong together.
        logits: (B, n) float, 0 where nothing is known, infinite for a fact.

    Examples:
        >>> import z3
        >>> from smtlayer.theory import one_hot
        >>> a, size = z3.Bool("a"), z3.Int("size")
        >>> theory = Theory(a == (size > 1), inputs=[a, one_hot(size, [1, 2, 3])], outputs=[a])
        >>> read(theory, torch.tensor([[0.0, 5.0, 5.0, -torch.inf]])).mean
        tensor([[0.5000, 0.5000, 0.5000, 0.0000]], dtype=torch.float64)
    """
    odds = logits.double()
    true, false, mean = torch.empty_like(odds), torch.zeros_like(odds), torch.empty_like(odds)
    for columns, values in _runs(theory):
        part = odds[:, columns]
        if not values:
            true[:, columns], false[:, columns] = _log_sigmoid(part), _log_sigmoid(-part)
            mean[:, columns] = part.sigmoid()
            continue
        shared = part.reshape(len(part), part.shape[-1] // values, values)  # (B, symbols, v)
        weight, share = _over_values(shared)
        true[:, columns], mean[:, columns] = weight.flatten(1), share.flatten(1)
    return Reading(true, false, mean)


def is_fact(logits: Tensor) -> Tensor:
    """Which logits are facts: (B, n) bool."""
    return logits.isinf()


def fact_signs(logits: Tensor) -> Tensor:
    """The signs of the facts, 0 elsewhere: (B, n) int8."""
    return (logits == torch.inf).to(torch.int8) - (logits == -torch.inf).to(torch.int8)


def without_facts(logits: Tensor) -> Tensor:
    """The logits with 0 for facts: (B, n) float64."""
    return torch.where(is_fact(logits), 0, logits.double())


def _log_sigmoid(odds: Tensor) -> Tensor:
    return torch.where(odds == -torch.inf, odds, logsigmoid(odds).clamp(min=_LEAST))


def _over_values(odds: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probability and the probability of each value that the facts leave."""
    chosen = odds == torch.inf
    alone = chosen & (chosen.sum(-1, keepdim=True) == 1)
    left = torch.where(chosen.any(-1, keepdim=True), alone, odds != -torch.inf)
    odds = torch.where(left, torch.where(chosen, 0, odds), -torch.inf)
    weight = odds.log_softmax(-1).clamp(min=_LEAST)  # NaN if no value is left
    return torch.where(left, weight, -torch.inf), torch.where(left, odds.softmax(-1), 0)


def _runs(theory: Theory) -> Iterator[tuple[slice, int]]:
    """Runs of columns: of one-hot symbols with equally many values, or of other symbols (0)."""
    kinds = ((s.columns, s.width if s.kind == "one-hot" else 0) for s in theory.input_symbols)
    for values, run in groupby(kinds, key=lambda kind: kind[1]):
        columns = [each for each, _ in run]
        yield slice(columns[0].start, columns[-1].stop), values
