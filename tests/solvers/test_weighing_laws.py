"""Solvers that weigh models wrongly on purpose: the laws of probabilities must catch each."""

import dataclasses
import functools

import pytest
import torch

from smtlayer import Table
from smtlayer.solvers.base import Posterior
from smtlayer.solvers.reading import without_facts
from smtlayer.testing import LISTED_LAWS, Case
from smtlayer.testing.probability import certain_facts, most_probable, posterior, shifted_symbols
from smtlayer.testing.theories import addition, colours, free_outputs, mixed_inputs

NOISE = 1e-8


@functools.cache
def cases():
    theories = (addition(), free_outputs(), mixed_inputs(), colours())
    return tuple(Case.make(Table(), theory, seed) for seed, theory in enumerate(theories))


def check(law, kind):
    for case in cases():
        law(dataclasses.replace(case, solver=kind(case.solver)))


@dataclasses.dataclass(frozen=True)
class Right:
    """Weighs models as the table does."""

    solver: object

    @property
    def theory(self):
        return self.solver.theory

    def log_prob(self, logits, outputs):
        return self.solver.log_prob(logits, outputs)

    def marginal(self, logits, outputs):
        return self.solver.marginal(logits, outputs)

    def sample(self, logits, outputs):
        return self.solver.sample(logits, outputs)

    def topk(self, logits, outputs, k):
        return self.solver.topk(logits, outputs, k)


class OneMore(Right):
    def topk(self, logits, outputs, k):
        return self.solver.topk(logits, outputs, k + 1)


class AllModels(Right):
    def topk(self, logits, outputs, k):
        return self.solver.marginal(logits, outputs)


class EqualShares(Right):
    """Counts each of the most probable models alike."""

    def topk(self, logits, outputs, k):
        best, count = self.solver.topk(logits, outputs, k), 0
        for i in range(1, k + 1):
            one = self.solver.topk(logits, outputs, i)
            before = self.solver.topk(logits, outputs, i - 1) if i > 1 else None
            if before is not None and torch.equal(one.log_prob, before.log_prob):
                break
            part, weight = one.inputs, one.log_prob.exp()[:, None]
            if before is not None:
                old = before.log_prob.exp()[:, None]
                part = (one.inputs * weight - before.inputs * old) / (weight - old)
            count += part.nan_to_num(0)
        return dataclasses.replace(best, inputs=count / min(k, i))


class NearlyBest(Right):
    def topk(self, logits, outputs, k):
        found = self.solver.topk(logits, outputs, k)
        return dataclasses.replace(found, log_prob=found.log_prob + NOISE)


class RanksWithoutFacts(Right):
    def topk(self, logits, outputs, k):
        return self.solver.topk(without_facts(logits), outputs, k)


class RanksCarelessly(Right):
    def topk(self, logits, outputs, k):
        return self.solver.topk(logits, torch.zeros_like(outputs), k)


class NoRow(Right):
    def topk(self, logits, outputs, k):
        found = self.solver.topk(logits, outputs, k)
        return dataclasses.replace(found, inputs=found.inputs + (found.status == 0)[:, None])


class Sharp(Right):
    def marginal(self, logits, outputs):
        return self.solver.marginal(logits * 2, outputs)


class Nearly(Right):
    """Off by little in one of the tensors of `marginal`."""

    name = "inputs"

    def marginal(self, logits, outputs):
        found = self.solver.marginal(logits, outputs)
        return dataclasses.replace(found, **{self.name: getattr(found, self.name) + NOISE})


class NearlyOutputs(Nearly):
    name = "outputs"


class NearlyLogProb(Nearly):
    name = "log_prob"


class AlwaysPossible(Right):
    def marginal(self, logits, outputs):
        found = self.solver.marginal(logits, outputs)
        return dataclasses.replace(found, status=torch.ones_like(found.status))


class NearlyDirect(Right):
    def log_prob(self, logits, outputs):
        return self.solver.log_prob(logits, outputs) + NOISE


class Conditional(Right):
    """Takes log P(outputs | theory) for log P(theory and outputs)."""

    def log_prob(self, logits, outputs):
        whole = self.solver.log_prob(logits, torch.zeros_like(outputs))
        return self.solver.log_prob(logits, outputs) - whole


class NotANumber(Right):
    def log_prob(self, logits, outputs):
        found = self.solver.log_prob(logits, outputs)
        return torch.where(found == -torch.inf, torch.nan, found)


class CarelessDraws(Right):
    def sample(self, logits, outputs):
        return self.solver.sample(logits, torch.zeros_like(outputs))


class FlatDraws(Right):
    def sample(self, logits, outputs):
        return self.solver.sample(torch.where(logits.isinf(), logits, 0), outputs)


class WithoutFacts(Right):
    """Takes a fact for an input that is not known."""

    def log_prob(self, logits, outputs):
        return self.solver.log_prob(without_facts(logits), outputs)

    def marginal(self, logits, outputs):
        return self.solver.marginal(without_facts(logits), outputs)


class AlmostFacts(WithoutFacts):
    """Takes a fact for a very confident input."""

    def log_prob(self, logits, outputs):
        return self.solver.log_prob(logits.clamp(-30, 30), outputs)

    def marginal(self, logits, outputs):
        return self.solver.marginal(logits.clamp(-30, 30), outputs)


class DrawsWithoutFacts(Right):
    def sample(self, logits, outputs):
        return self.solver.sample(without_facts(logits), outputs)


class Sigmoids(Right):
    """Reads each column of a one-hot symbol as a Bool."""

    def log_prob(self, logits, outputs):
        return self.marginal(logits, outputs).log_prob

    def marginal(self, logits, outputs):
        found, total = self.solver.marginal(logits, outputs), self.solver.log_prob(logits, outputs)
        for symbol in self.theory.input_symbols:
            if symbol.kind == "one-hot":
                part = logits[:, symbol.columns]
                total = total + part.logsumexp(-1) - torch.nn.functional.softplus(part).sum(-1)
        return Posterior(found.status, total, found.inputs, found.outputs)


class ShiftedDraws(Right):
    def sample(self, logits, outputs):
        return self.solver.sample(logits * (logits.abs() > 1), outputs)


@pytest.mark.parametrize("law", LISTED_LAWS)
def test_a_right_solver_passes(law):
    check(law, Right)


@pytest.mark.parametrize(
    ("law", "wrong", "message"),
    [
        (posterior, Sharp, "not the mean over all models"),
        (posterior, Nearly, "a marginal is not the mean over all models"),
        (posterior, NearlyOutputs, "an output is not the mean over all models"),
        (posterior, NearlyLogProb, "marginal has another log_prob"),
        (posterior, NearlyDirect, "log_prob is not the sum over all models"),
        (posterior, Conditional, "log_prob is not the sum over all models"),
        (posterior, NotANumber, "log_prob is not the sum over all models"),
        (posterior, AlwaysPossible, "status differs"),
        (posterior, CarelessDraws, "a sample "),
        (posterior, FlatDraws, "too often or too rarely"),
        (posterior, Sigmoids, "marginal has another log_prob"),
        (certain_facts, WithoutFacts, "status differs|not the mean"),
        (certain_facts, AlmostFacts, "status differs"),
        (certain_facts, DrawsWithoutFacts, "a sample "),
        (certain_facts, NearlyDirect, "log_prob is not the sum over all models"),
        (certain_facts, FlatDraws, "too often or too rarely"),
        (most_probable, OneMore, "not the sum over the most probable"),
        (most_probable, AllModels, "not the sum over the most probable"),
        (most_probable, EqualShares, "not the mean of the most probable"),
        (most_probable, NearlyBest, "not the sum over the most probable"),
        (most_probable, RanksWithoutFacts, "status differs|not the sum"),
        (most_probable, RanksCarelessly, "status differs|not the sum"),
        (most_probable, NoRow, "a mean where there is no model"),
        (shifted_symbols, Sigmoids, "one-hot symbol changes log_prob"),
        (shifted_symbols, ShiftedDraws, "one-hot symbol changes samples"),
    ],
)  # fmt: skip
def test_the_law_catches(law, wrong, message):
    with pytest.raises(AssertionError, match=message):
        check(law, wrong)
