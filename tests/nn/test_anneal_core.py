"""The rule `anneal_core`, and the progress that it follows."""

import copy
import pickle
import warnings

import pytest
import torch
from torch import nn

from helpers import input_gradient, random_logits
from smtlayer import Circuit, Sat, SMTLayer, Table
from smtlayer.errors import ProgressWarning
from smtlayer.loop import Stepper
from smtlayer.nn import anneal, anneal_core, core, marginal, mix, parse_rule, sample, schedule
from smtlayer.nn.progress import Progress
from smtlayer.testing.theories import addition

PHASES = (0.0, 0.15, 0.299, 0.3, 0.4, 0.5, 1.0)


def written_out(posterior):
    hot = posterior(temperature=anneal(8, 1, until=0.3, shape="geometric"))
    return schedule((0.3, hot), (0.5, mix(core, posterior)), (1, core))


def gradients(backend, rule):
    """The gradient in each phase, towards a sum of 3, with the same random numbers."""
    torch.manual_seed(0)
    layer, found = SMTLayer(addition(2), backend=backend, backward=rule), []
    for layer.progress in PHASES:
        logits = random_logits(64, layer.theory.n_inputs, seed=1)
        found.append(input_gradient(layer, logits, torch.tensor([[1.0, -1.0, -1.0]] * 64)))
    return torch.stack(found)


@pytest.mark.parametrize(
    ("backend", "posterior"),
    [(Table(), marginal), (Circuit(), marginal), (Sat(), sample)],
    ids=["Table", "Circuit", "Sat"],
)
def test_it_is_the_schedule_that_its_description_names(backend, posterior):
    found = gradients(backend, anneal_core)
    assert torch.equal(found, gradients(backend, written_out(posterior)))
    assert not torch.equal(found[0], found[2])  # the temperature falls within the first phase
    assert not torch.equal(found[0], found[-1])


def test_its_parameters_move_its_phases():
    rule = anneal_core(heat=4, cool=0.5, shake=0.7)
    assert [rule.resolve(p) is core for p in (0.0, 0.49, 0.7, 1.0)] == [False, False, True, True]
    hot = rule.resolve(0.0)
    assert (hot.temperature.start, hot.temperature.until) == (4.0, 0.5)
    assert {rule.resolve(0.6) for _ in range(50)} == {hot, core}


@pytest.mark.parametrize(
    "text", ["anneal_core", "anneal_core(heat=4)", "anneal_core(cool=0.6, shake=0.8, steps=1000)"]
)
def test_it_is_read_from_the_text_that_it_prints(text):
    rule = parse_rule(text)
    assert str(rule) == text
    for other in (parse_rule(str(rule)), pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule)):
        assert other == rule
        assert hash(other) == hash(rule)
    assert (rule == anneal_core) == (text == "anneal_core")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heat": 0}, r"anneal_core expects heat above 0\. Got 0\."),
        ({"cool": "0.3"}, r"anneal_core expects cool above 0\. Got '0\.3'\."),
        ({"cool": 0.6}, r"cool < shake < 1.*Got cool=0\.6 and shake=0\.5\."),
        ({"shake": 1}, r"Got cool=0\.3 and shake=1\."),
        ({"steps": 0}, r"anneal_core expects steps as a whole number.*Got 0\."),
        ({"steps": 1.5}, r"Got 1\.5\."),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        anneal_core(**options)


def push(layer, times):
    for _ in range(times):
        layer(torch.randn(2, layer.theory.n_inputs, requires_grad=True)).sum().backward()


CHANGING = [
    anneal_core,
    marginal(temperature=anneal(4, 1)),
    mix((core, anneal(0, 1)), marginal),
    mix(core, sample(temperature=anneal(4, 1))),
    schedule((0.5, core), (1, marginal)),
]


@pytest.mark.parametrize("rule", CHANGING, ids=str)
def test_a_loop_that_never_sets_progress_is_warned_once(rule):
    layer = SMTLayer(addition(1), backward=rule)
    push(layer, Progress.patience - 1)
    with pytest.warns(ProgressWarning, match=r"layer\.progress = step / total_steps") as caught:
        push(layer, 2)
    assert len(caught) == 1
    assert str(caught[0].message).startswith(f"SMTLayer: the rule {rule} changes during training")
    push(layer, Progress.patience)  # warnings are errors in tests


@pytest.mark.parametrize("rule", ["core", "mix(core, marginal)", "schedule((1, core))"])
def test_rules_that_do_not_change_need_no_progress(rule):
    layer = SMTLayer(addition(1), backward=rule)
    with warnings.catch_warnings(record=True) as caught:
        push(layer, Progress.patience + 1)
    assert (caught, layer.progress) == ([], 0)


def test_a_loop_that_sets_progress_is_not_warned():
    layer = SMTLayer(addition(1), backward="anneal_core")
    layer.progress = 0
    with warnings.catch_warnings(record=True) as caught:
        push(layer, Progress.patience + 1)
    assert (caught, layer.progress) == ([], 0)


def test_a_stepper_sets_progress():
    layer = SMTLayer(addition(1), backward="anneal_core")
    network = nn.Sequential(nn.Linear(3, 2), layer)
    step = Stepper(network, torch.optim.SGD(network.parameters(), 0.1), total=250)
    for _ in step:
        step(network(torch.randn(4, 3)).sum())
    assert layer.progress == 1.0


@pytest.mark.parametrize(
    "rule",
    ["mix(anneal_core(steps=50), core)", "schedule((0.5, core), (1, anneal_core(steps=50)))"],
)
def test_a_composite_rule_counts_as_the_rule_in_it(rule):
    layer = SMTLayer(addition(1), backward=rule)
    push(layer, 20)
    assert layer.progress == 0.4


def test_with_a_number_of_steps_the_rule_counts_backward_passes():
    layer = SMTLayer(addition(1), backward="anneal_core(steps=250)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        push(layer, 100)
        assert layer.progress == 0.4
        layer(torch.randn(2, 2))  # a forward pass alone does not count
        push(copy.deepcopy(layer), 50)
        assert layer.progress == 0.4
        push(layer, 200)
    assert layer.progress == 1.0
    layer.progress = 0.25  # a loop that sets it takes precedence
    push(layer, 1)
    assert layer.progress == 0.25
