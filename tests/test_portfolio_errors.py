"""What a portfolio refuses, with the words that say what to change."""

import math
import re

import pytest

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.portfolio import Portfolio


def yielding(*accuracies):
    def train(setting):
        yield from accuracies

    return train


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ([], {"rounds": 3}, "a list of settings, and rounds as a whole number, at least one of"),
        ("core", {"rounds": 3}, "at least one of each. Got 'core' and 3."),
        ([1], {"rounds": 0}, "at least one of each. Got [1] and 0."),
        ([1], {"rounds": 1, "enough": math.nan}, "Portfolio expects enough as an accuracy from 0"),
        (
            [1],
            {"rounds": 1, "enough": 95},
            "as 0.99 (2 for none), and budget as a number of at least",
        ),
        ([1], {"rounds": 1, "budget": 0.5}, "a number of at least 1. Got 0.99 and 0.5."),
        (
            range(8),
            {"rounds": 5},
            "Portfolio: 8 settings with rounds=5 do not fit into budget=2: there is no time to "
            "compare them. Yield the accuracy several times per epoch, give fewer settings, or",
        ),
        (range(2), {"rounds": 5, "budget": 1}, "with rounds=5 do not fit into budget=1"),
        (
            range(4),
            {"rounds": 8, "keep": {4: 1}},
            "Portfolio: with keep={4: 1} all trainings have 2.50 times the rounds of one, above "
            "budget=2. Drop more of them or earlier, give fewer settings, or raise budget.",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(settings, options, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Portfolio(settings, **options)


@pytest.mark.parametrize(
    "keep", [{2: 3}, {8: 1}, {0: 1}, {2: 1, 1: 2}, {1: 2, 2: 2}, {0.5: 1}, {1: 0}]
)
def test_fewer_trainings_are_kept_after_later_rounds(keep):
    message = (
        "Portfolio expects keep as fewer and fewer of 3 trainings after later and later of 8 "
        f"rounds, as in {{3: 2, 6: 1}}. Got {keep}."
    )
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Portfolio(range(3), rounds=8, keep=keep)


@pytest.mark.parametrize("wrong", [87.5, -0.1, math.inf, "high", None])
def test_what_is_no_accuracy_is_refused(wrong):
    message = f"expects the training accuracy of each round, a number from 0 to 1. Got {wrong!r}."
    with pytest.raises(ArgumentError, match=re.escape(message)) as error:
        Portfolio(["a"], rounds=2).run(yielding(wrong, wrong))
    assert error.value.__notes__ == ["Portfolio: in round 1 of the setting 'a'."]


def test_a_training_yields_one_to_all_rounds():
    with pytest.raises(ArgumentTypeError, match=r"generator function, .* Got one that returns 0.5"):
        Portfolio(["a"], rounds=1).run(lambda setting: 0.5)
    with pytest.raises(ArgumentError, match=r"a number from 0 to 1\. Got None"):
        Portfolio(["a"], rounds=1).run(yielding())
    seen = []
    with pytest.raises(ArgumentError, match=r"a training of rounds=2\. Got one that goes on\. Let"):
        Portfolio(["a"], rounds=2).run(yielding(0.5, 0.5, 0.5), lambda *round: seen.append(round))
    assert len(seen) == 2


def test_keep_and_train_of_another_type_are_refused():
    with pytest.raises(TypeError, match=r"keep as rounds and numbers of trainings, as in \{3: 2"):
        Portfolio([1, 2], rounds=4, keep=[2, 1])
    with pytest.raises(TypeError, match=r"expects a generator function, without calling it"):
        Portfolio([1, 2], rounds=4).run(iter([0.5]))
