"""Composite rules, and numbers that change with progress."""

import copy
import math
import pickle
from collections import Counter
from dataclasses import replace

import pytest
import torch

from helpers import input_gradient, random_logits
from smtlayer import SMTLayer, Table
from smtlayer.nn import BlameRule, anneal, core, marginal, maxsmt, mix, sample, schedule
from smtlayer.testing.theories import addition, xor

RULES = [
    core,
    maxsmt,
    sample(temperature=2.0),
    marginal(temperature=anneal(4, 1, until=0.7, shape="geometric")),
    mix((core, 0.25), (sample, anneal(1, 0.5))),
    schedule((0.3, marginal(temperature=4)), (1.0, mix(core, maxsmt))),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules_compare_hash_copy_and_pickle(rule):
    for other in (pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule)):
        assert other == rule
        assert hash(other) == hash(rule)
        assert repr(other) == repr(rule)
    assert len(set(RULES)) == len(RULES)
    with pytest.raises((AttributeError, TypeError)):
        rule.temperature = 3.0


def test_numbers_go_from_start_to_end_and_stay():
    linear, geometric = anneal(4, 1, until=0.7), anneal(4, 1, until=0.7, shape="geometric")
    assert [linear.at(p) for p in (0.0, 0.35, 0.7, 1.0)] == [4.0, 2.5, 1.0, 1.0]
    assert [geometric.at(p) for p in (0.0, 0.35, 0.7, 1.0)] == pytest.approx([4, 2, 1, 1])
    for number in (linear, geometric):
        on_device = number.at(torch.tensor(0.2, dtype=torch.float64))
        assert on_device.dtype == torch.float64
        assert on_device.item() == pytest.approx(number.at(0.2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: anneal("4", 1), r"anneal expects start as a number\. Got '4'\."),
        (lambda: anneal(4, math.nan), r"anneal expects end as a number\. Got nan\."),
        (lambda: anneal(10**400, 1), r"anneal expects start as a number\. Got 1000"),
        (lambda: anneal(4, 1, until=0), "anneal expects until above 0 and at most 1"),
        (lambda: anneal(4, 1, until=1.5), r"Got 1\.5\."),
        (lambda: anneal(4, 1, shape="cosine"), "shape 'linear' or 'geometric'. Got 'cosine'"),
        (lambda: anneal(0, 1, shape="geometric"), "above 0 for shape='geometric'. Got 0 and 1"),
        (lambda: mix(), "mix expects at least one rule. Got none."),
        (lambda: mix((core, -1)), "mix expects shares at least 0, a number or anneal"),
        (lambda: mix((core, 0), (sample, 0)), "All are 0 at a progress of "),
        (lambda: mix((core, anneal(1, 0, until=0.5))), "All are 0 at a progress of"),
        (lambda: schedule(), "Got ends of nothing"),
        (lambda: schedule((0.5, core)), r"ends that rise up to 1. Got ends 0\.5\."),
        (lambda: schedule((0.5, core), (0.5, sample), (1, core)), r"Got ends 0\.5, 0\.5, 1\."),
        (lambda: schedule((anneal(1, 2), core)), "schedule expects ends as numbers"),
    ],
)
def test_numbers_that_cannot_work_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("wrong", ["core", 3, ("core", 1), (core, 1, 2), type(core), None])
def test_what_is_no_rule_is_no_part_of_one(wrong):
    with pytest.raises(TypeError, match=r"^mix expects rules such as core, alone or in pairs"):
        mix(core, wrong)
    with pytest.raises(TypeError, match=r"^schedule expects rules such as core in pairs"):
        schedule((1.0, wrong))


def test_a_mix_takes_each_rule_as_often_as_its_share():
    torch.manual_seed(0)
    rule = mix((core, 1), (sample, 3), (maxsmt, 0))
    seen = Counter(rule.choose(0.0) for _ in range(4000))
    assert set(seen) == {core, sample}
    assert abs(seen[sample] / 4000 - 0.75) < 0.03
    moving = mix((core, anneal(0, 1)), (sample, anneal(1, 0)))
    for progress in (0.0, 0.25, 1.0):
        seen = Counter(moving.choose(progress) for _ in range(2000))
        assert abs(seen[core] / 2000 - progress) < 0.04
    assert seen[sample] == 0


def test_a_schedule_takes_turns():
    rule = schedule((0.25, sample), (0.5, core), (1.0, maxsmt))
    turns = [rule.choose(p) for p in (0.0, 0.24, 0.25, 0.49, 0.5, 0.99, 1.0)]
    assert turns == [sample, sample, core, core, maxsmt, maxsmt, maxsmt]


def test_nested_rules_are_resolved_to_a_single_one():
    rule = schedule((0.5, mix(core, mix(sample, maxsmt))), (1.0, marginal))
    assert rule.leaves == (core, sample, maxsmt, marginal)
    assert {rule.resolve(0.0) for _ in range(60)} == {core, sample, maxsmt}
    assert rule.resolve(0.7) == rule.choose(0.7) == marginal
    plan = SMTLayer(xor(), backend=Table(), backward=rule)._plan()
    assert plan.resolved().backward in (core, sample, maxsmt)


class Recorder(BlameRule):
    """A user's rule that keeps the questions it gets."""

    def __init__(self):
        self.questions = []

    def blame(self, solver, question):
        self.questions.append(question)
        return core.blame(solver, question)


def test_numbers_far_apart_meet_in_the_middle():
    assert anneal(1e-300, 1e300, shape="geometric").at(0.5) == pytest.approx(1)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [("0.5", ValueError), (1.5, ValueError), (math.nan, ValueError), (None, TypeError),
     ([0.5], TypeError), (torch.ones(2), TypeError), (10**400, TypeError)],
)  # fmt: skip
def test_progress_is_a_share(wrong, error):
    layer = SMTLayer(xor())
    with pytest.raises(error, match=r"SMTLayer expects progress from 0 to 1\. Got "):
        layer.progress = wrong
    layer.progress = torch.tensor(0.25)
    assert layer.progress == 0.25


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda blame: None, TypeError, "expects the rule .* to return a Blame. Got NoneType"),
        (lambda blame: replace(blame, targets=blame.targets[:1]), ValueError,
         r"expects targets of shape \(3, 2\) from the rule .* Got \(1, 2\)"),
        (lambda blame: replace(blame, targets=None), ValueError,
         r"expects targets of shape \(3, 2\) from the rule .* Got NoneType"),
        (lambda blame: replace(blame, targets=None, pull=torch.ones(3)), ValueError,
         r"expects pull of shape \(3, 2\) from the rule .* Got \(3,\)"),
        (lambda blame: replace(blame, unknown=None), ValueError,
         r"expects unknown of shape \(3,\) from the rule .* Got NoneType"),
    ],
)  # fmt: skip
def test_a_users_rule_must_return_a_complete_blame(change, error, message):
    class Changed(BlameRule):
        def blame(self, solver, question):
            return change(core.blame(solver, question))

    layer = SMTLayer(xor(), backward=Changed())
    outputs = layer(torch.ones(3, 2, requires_grad=True))
    with pytest.raises(error, match=message):
        outputs.sum().backward()


def test_progress_reaches_a_users_rule_at_any_depth():
    own = Recorder()
    for rule in (own, mix(own), schedule((1.0, mix(own, own)))):
        layer = SMTLayer(xor(), backward=rule)
        layer.progress = 0.25
        input_gradient(layer, torch.ones(2, 2), torch.ones(2, 1))
    assert [q.progress.item() for q in own.questions] == [0.25] * 3
    assert own.questions[0].progress.dtype == torch.float64


def test_a_users_rule_can_use_composite_rules():
    own = Recorder()

    class Twice(BlameRule):
        def blame(self, solver, question):
            mix(own, own).blame(solver, question)
            return schedule((0.5, own), (1, core)).blame(solver, question)

    input_gradient(SMTLayer(xor(), backward=Twice()), torch.ones(1, 2), torch.ones(1, 1))
    assert len(own.questions) == 2


def test_an_annealed_temperature_is_the_temperature_of_the_moment():
    logits, slope = random_logits(16, 4), random_logits(16, 3, seed=1)
    annealed = SMTLayer(addition(), backward=marginal(temperature=anneal(4, 1, until=0.5)))
    found = {}
    for progress, temperature in ((0.0, 4), (0.25, 2.5), (0.5, 1), (1.0, 1)):
        annealed.progress = progress
        found[progress] = input_gradient(annealed, logits, slope)
        fixed = SMTLayer(addition(), backward=marginal(temperature=temperature))
        torch.testing.assert_close(found[progress], input_gradient(fixed, logits, slope))
    assert (found[0.0] - found[1.0]).abs().max() > 1e-3


def test_progress_counts_as_it_was_when_the_batch_went_forward():
    layer = SMTLayer(xor(), backward=schedule((0.5, maxsmt), (1, marginal)))
    leaf = torch.tensor([[0.5, 0.2]], requires_grad=True)
    outputs = layer(leaf)
    layer.progress = 0.9
    outputs.sum().neg().backward()
    early = SMTLayer(xor(), backward=maxsmt)
    expected = input_gradient(early, leaf.detach(), torch.tensor([[-1.0]]))
    torch.testing.assert_close(leaf.grad, expected)


def test_progress_is_a_share_and_no_part_of_the_state():
    layer = SMTLayer(xor())
    assert layer.progress == 0.0
    for value in (0, 1, 0.5):
        layer.progress = value
        assert layer.progress == value
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"^SMTLayer expects progress from 0 to 1. Got "):
            layer.progress = wrong
    assert layer.progress == 0.5
    assert layer.state_dict() == {}
    assert pickle.loads(pickle.dumps(layer)).progress == 0.5


def test_evaluation_does_not_disturb_the_choices_of_training():
    def chosen(evaluate):
        torch.manual_seed(3)
        layer = SMTLayer(xor(), backend=Table(), backward=mix(core, marginal))
        gradients = []
        for _ in range(12):
            if evaluate:
                with torch.no_grad():
                    layer(torch.ones(2, 2))
            gradients.append(input_gradient(layer, torch.ones(2, 2), -torch.ones(2, 1)))
        return torch.stack(gradients)

    assert torch.equal(chosen(True), chosen(False))


def test_a_layer_prints_its_rule():
    assert "backward=mix(core, sample)" in repr(SMTLayer(xor(), backward=mix(core, sample)))
