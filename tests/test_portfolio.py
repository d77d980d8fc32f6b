"""A portfolio: which trainings go on, and that none of them notices the others."""

import gc
import inspect
import math
import random
import weakref

import numpy as np
import pytest
import torch
import z3
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from smtlayer import SMTLayer, Theory
from smtlayer.errors import SMTLayerError
from smtlayer.loop import Stepper
from smtlayer.portfolio import Portfolio


def scripted(curves, log=None):
    """Trainings that yield the accuracies of a curve by setting, and log what happens."""
    log = [] if log is None else log

    def train(setting):
        try:
            for accuracy in curves[setting]:
                log.append(setting)
                yield accuracy
            return f"network {setting}"
        finally:
            log.append(f"{setting} ends")

    return train


def outcomes(result):
    return {one.setting: (one.outcome, len(one.accuracies)) for one in result.members}


def test_the_weak_are_dropped_at_each_comparison_and_the_best_is_finished():
    curves = {
        "a": [0.5] * 8, "b": [0.1] * 8, "c": [0.2, 0.6, 0.6, 0.7, 0.7, 0.8, 0.8, 0.9],
        "d": [0.4] * 8,
    }  # fmt: skip
    log = []
    result = Portfolio(list("abcd"), rounds=8).run(scripted(curves, log))
    assert (result.setting, result.accuracy, result.value) == ("c", 0.9, "network c")
    assert outcomes(result) == {"a": ("dropped", 4), "b": ("dropped", 2), "c": ("won", 8),
                                "d": ("dropped", 2)}  # fmt: skip
    assert result.members[2].accuracies == tuple(curves["c"])
    assert result.cost == Portfolio(range(4), rounds=8).cost == 2
    first = [name for name in "abcd" for _ in range(2)]  # one after the other, in their order
    then = ["b ends", "d ends", "a", "a", "c", "c", "a ends", *["c"] * 4, "c ends"]
    assert log == first + then


def test_of_equal_trainings_the_first_setting_stays():
    curves = {"low": [0.1] * 4, "a": [0.5] * 4, "b": [0.5] * 4, "c": [0.5] * 4}
    result = Portfolio(["low", "c", "a", "b"], rounds=4, keep={1: 2}, budget=3).run(
        scripted(curves)
    )
    assert outcomes(result) == {"low": ("dropped", 1), "c": ("won", 4), "a": ("dropped", 4),
                                "b": ("dropped", 1)}  # fmt: skip


def test_the_first_training_that_is_good_enough_wins_and_the_others_stop():
    curves = {"a": [0.5] * 8, "b": [0.5, 0.99, 0.6, *[0.7] * 5], "c": [1.0] * 8}
    log = []
    result = Portfolio(list("abc"), rounds=8, keep={4: 1}).run(scripted(curves, log))
    assert outcomes(result) == {"a": ("dropped", 4), "b": ("won", 8), "c": ("not started", 0)}
    assert (result.accuracy, result.cost) == (0.7, 1.5)
    assert log.index("a ends") == 6
    assert log[-2:] == ["b", "b ends"]


def test_a_first_setting_that_works_costs_one_training():
    result = Portfolio(list("abcd"), rounds=8).run(scripted({"a": [0.2, 1.0, *[0.9] * 6]}))
    assert result.cost == 1
    never = Portfolio(list("ab"), rounds=2, enough=2).run(scripted(dict.fromkeys("ab", [1.0] * 2)))
    assert (never.setting, never.cost) == ("a", 2)


@pytest.mark.parametrize("rounds", [12, 13, 15, 24, 60, 100])
@pytest.mark.parametrize("members", range(2, 9))
def test_all_trainings_together_cost_at_most_twice_one(members, rounds):
    portfolio = Portfolio(range(members), rounds=rounds)
    curves = {setting: [setting / 10] * rounds for setting in range(members)}
    result = portfolio.run(scripted(curves))
    assert result.setting == members - 1
    assert 1.5 < result.cost == portfolio.cost <= 2


def test_comparisons_come_as_late_as_the_budget_allows():
    keeps = {n: Portfolio(range(n), rounds=48).keep for n in range(1, 9)}
    assert keeps == {
        1: {}, 2: {}, 3: {24: 1}, 4: {12: 2, 24: 1}, 5: {8: 2, 24: 1}, 6: {8: 3, 12: 1},
        7: {6: 3, 12: 1}, 8: {4: 4, 8: 2, 16: 1},
    }  # fmt: skip
    assert Portfolio(range(3), rounds=5, budget=3).keep == {}
    assert Portfolio(range(3), rounds=20, budget=2.3).keep == {13: 1}
    assert Portfolio(range(4), rounds=10, budget=1.5).keep == {1: 2, 2: 1}


def draws(setting):
    """A training whose weights depend on all random numbers and on gradients."""
    a, b, y = z3.Bools("a b y")
    layer = SMTLayer(
        Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]), backward="mix(core, sample)"
    )
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.3), layer)
    step = Stepper(model, torch.optim.Adam(model.parameters(), setting / 100), total=8)
    for _ in range(4):
        for _ in range(2):
            images = torch.randn(8, 2) + random.random() + np.random.rand()
            step(binary_cross_entropy_with_logits(model(images), torch.ones(8, 1)))
        with torch.no_grad():
            yield (model[0](torch.randn(8, 2)) > 0).float().mean().item() * random.random()
    return torch.cat([part.detach().flatten() for part in model.parameters()])


def alone(setting, position):
    """The accuracies and weights of a training without a portfolio."""
    for source in (torch.manual_seed, random.seed, np.random.seed):
        source(position)
    accuracies, rounds = [], draws(setting)
    while True:
        try:
            accuracies.append(next(rounds))
        except StopIteration as end:
            torch.set_grad_enabled(True)
            return accuracies, end.value


@pytest.mark.parametrize("winner", range(4))
def test_a_training_is_bit_for_bit_what_it_is_alone(winner):
    settings, seen = [17, 18, 19, 20], {}

    def train(setting):
        rounds, seen[setting] = draws(setting), []
        while True:
            try:
                seen[setting].append(next(rounds))
            except StopIteration as end:
                return end.value
            yield 0.9 if setting == settings[winner] else 0.01 * setting

    result = Portfolio(settings, rounds=4, keep={1: 3, 2: 2, 3: 1}, budget=3).run(train)
    assert sorted(map(len, seen.values())) == [1, 2, 3, 4]
    for position, setting in enumerate(settings):
        accuracies, weights = alone(setting, position)
        assert seen[setting] == accuracies[: len(seen[setting])]
        assert position != winner or torch.equal(result.value, weights)


def test_the_random_numbers_and_gradients_outside_stay_as_they_are():
    for source in (torch.manual_seed, random.seed, np.random.seed):
        source(5)
    expected = torch.rand(3), random.random(), np.random.rand()
    for source in (torch.manual_seed, random.seed, np.random.seed):
        source(5)
    Portfolio([1, 2], rounds=4).run(draws)
    assert torch.is_grad_enabled()
    assert torch.equal(torch.rand(3), expected[0])
    assert (random.random(), np.random.rand()) == expected[1:]


def test_the_generators_of_gpus_are_swapped_as_well(monkeypatch):
    gpu, seen = [0], {1: [], 10: []}  # a generator whose state is a number
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: list(gpu))
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", lambda states: gpu.__setitem__(0, *states))

    def train(setting):
        for _ in range(3):
            gpu[0] += setting
            seen[setting].append(gpu[0])
            yield setting / 100

    Portfolio([1, 10], rounds=3, keep={2: 1}).run(train)
    assert seen == {1: [1, 2], 10: [10, 20, 30]}
    assert gpu == [0]


def test_trainings_are_closed_even_if_somebody_keeps_them():
    kept = []

    def train(setting):
        kept.append(scripted({setting: [0.5] * 4})(setting))
        return kept[-1]

    Portfolio(range(3), rounds=4).run(train)
    assert [inspect.getgeneratorstate(one) for one in kept] == ["GEN_CLOSED"] * 3


def test_what_a_dropped_training_holds_is_freed():
    alive = {}

    def train(setting):
        network = nn.Linear(2, 2)
        alive[setting] = weakref.ref(network)
        for number in range(4):
            if setting == 2 and number == 2:
                gc.collect()
                assert [alive[one]() is None for one in (0, 1, 2)] == [True, True, False]
            yield setting / 10
            network(torch.ones(1, 2))

    assert Portfolio(range(3), rounds=4).run(train).setting == 2


def test_a_training_that_fails_is_dropped_with_a_warning():
    def train(setting):
        yield 0.1
        if setting == "zero":
            yield 1 / 0
        yield math.nan if setting == "nan" else 0.2
        yield 0.3

    settings = ["zero", "nan", "good"]
    with pytest.warns(UserWarning, match="setting") as noted:
        result = Portfolio(settings, rounds=3, budget=3).run(train)
    assert [str(one.message) for one in noted] == [
        "Portfolio drops the setting 'zero' in round 2: division by zero",
        "Portfolio drops the setting 'nan' in round 2: the training accuracy is NaN",
    ]
    assert outcomes(result) == {"zero": ("failed", 1), "nan": ("failed", 1), "good": ("won", 3)}
    assert noted[0].filename == noted[1].filename == __file__


def test_a_network_whose_logits_are_nan_is_dropped():
    a, y = z3.Bools("a y")
    layer = SMTLayer(Theory(y == a, inputs=[a], outputs=[y]))

    def train(setting):
        outputs = layer(torch.full((2, 1), setting))
        yield (outputs > 0).float().mean().item()

    with pytest.warns(UserWarning, match="SMTLayer expects finite logits"):
        assert Portfolio([math.nan, 1.0], rounds=1).run(train).setting == 1


@pytest.mark.filterwarnings("ignore:Portfolio drops")
@pytest.mark.parametrize("last", [1, 3])
def test_if_all_trainings_fail_the_last_failure_is_reported(last):
    def train(setting):
        for _ in range(last):
            yield 0.1 + setting
        yield math.nan

    message = r"no training is left\. The last one, with the setting 0\.\d, failed: the training"
    with pytest.raises(SMTLayerError, match=message) as error:
        Portfolio([0.0, 0.1], rounds=4, keep={2: 1}).run(train)
    assert isinstance(error.value.__cause__, ArithmeticError)


def test_an_error_names_its_setting_and_ends_all_trainings():
    log = []

    def train(setting):
        yield from scripted({"a": [0.5] * 3, "b": [0.1]}, log)(setting)
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as error:
        Portfolio(["a", "b"], rounds=3, keep={2: 1}).run(train)
    assert error.value.__notes__ == ["Portfolio: in round 2 of the setting 'b'."]
    assert log[-1] == "a ends"


def test_rounds_can_be_followed():
    seen = []
    curves = {"a": [0.1] * 2, "b": [0.5] * 2}
    Portfolio(["a", "b"], rounds=2, keep={1: 1}).run(
        scripted(curves), lambda setting, number, accuracy: seen.append((setting, number, accuracy))
    )
    assert seen == [("a", 1, 0.1), ("b", 1, 0.5), ("b", 2, 0.5)]


def test_a_result_prints_one_line_per_setting():
    curves = {"a": [0.1] * 10, "b": [0.25, 1.0, *[0.999] * 8]}
    result = Portfolio(["a", "b", "c"], rounds=10, keep={1: 2, 2: 1}).run(
        scripted(curves | {"c": [0.2] * 10})
    )
    assert str(result) == (
        "3 settings, 1.20 times one training\n"
        "dropped        1 round   10.0%  a\n"
        "won          10 rounds   99.9%  b\n"
        "dropped        1 round   20.0%  c"
    )


def test_a_training_may_end_early():
    curves = {"a": [0.6], "b": [0.5] * 4}
    result = Portfolio(["a", "b"], rounds=4).run(scripted(curves))
    assert (result.setting, result.value, result.cost) == ("a", "network a", 1.25)
