"""The minimal core: the one that deletion ends with, for few questions."""

import random

import pytest

from helpers import seeds
from smtlayer import Status
from smtlayer.solvers.search.oracle import Answer
from smtlayer.solvers.search.unsat_core import blamed_columns, minimal_core


class Rules:
    """Literals that must not hold all at once; a core is some of what was asked, not the least."""

    def __init__(self, forbidden, draw=None, patience=10**9):
        self.forbidden = [frozenset(rule) for rule in forbidden]
        self.draw, self.patience, self.asked = draw, patience, []

    def check(self, literals):
        self.asked.append(list(literals))
        if len(self.asked) > self.patience:
            return Answer(Status.UNKNOWN)
        opposites = [frozenset({x, -x}) for x in literals]
        broken = [rule for rule in (*self.forbidden, *opposites) if rule <= set(literals)]
        if not broken:
            return Answer(Status.SAT)
        if self.draw is None:
            return Answer(Status.UNSAT, core=sorted(broken[0]))
        more = {x for x in literals if self.draw.random() < 0.3}
        return Answer(Status.UNSAT, core=sorted(self.draw.choice(broken) | more))


def random_rules(seed, **options):
    """Rules, wanted literals and others, lightest first."""
    draw = random.Random(seed)
    literals = [x * draw.choice([1, -1]) for x in draw.sample(range(1, 20), draw.randint(1, 9))]
    forbidden = [draw.sample(literals, draw.randint(1, len(literals))) for _ in range(seed % 6)]
    cut = draw.choice([0, 0, 1, 2])
    return Rules(forbidden, draw, **options), literals[:cut], literals[cut:]


def plain_deletion(rules, wanted, order):
    kept = list(order)
    for x in order[::-1]:
        rest = {*wanted, *kept} - {x}
        if any(rule <= rest for rule in rules.forbidden):
            kept.remove(x)
    return kept[::-1]


@pytest.mark.parametrize("seed", seeds(40, 200))
def test_the_core_is_the_one_that_plain_deletion_leaves(seed):
    rules, wanted, order = random_rules(seed)
    status, core = minimal_core(rules, wanted, order)
    if not rules.forbidden:
        assert (status, core) == (Status.SAT, [])
    else:
        assert (status, core) == (Status.UNSAT, plain_deletion(rules, wanted, order))
    assert len(rules.asked) <= 1 + len(order)


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_those_outside_a_core_are_not_asked_about(seed):
    draw = random.Random(seed)
    order = draw.sample(range(1, 30), 12)
    guilty = draw.sample(order, draw.randint(0, 6))
    rules = Rules([guilty])
    assert set(minimal_core(rules, [], order)[1]) == set(guilty)
    assert len(rules.asked) == 1 + len(guilty)


def test_a_question_holds_what_is_wanted_and_needed_and_then_the_lightest_first():
    rules = Rules([{9, 1, 3}])
    assert minimal_core(rules, [9], [1, 2, 3, 4]) == (Status.UNSAT, [3, 1])
    assert rules.asked == [[9, 1, 2, 3, 4], [9, 1, 2], [9, 3]]


def test_wanted_literals_that_cannot_hold_have_an_empty_core():
    rules = Rules([{7}])
    assert minimal_core(rules, [7], [1, 2]) == (Status.UNSAT, [])
    assert minimal_core(rules, [7], []) == (Status.UNSAT, [])
    assert len(rules.asked) == 2


def test_a_question_given_up_on_the_way_is_never_an_answer():
    given_up = 0
    for seed in range(60):
        rules, wanted, order = random_rules(seed)
        minimal_core(rules, wanted, order)
        for patience in range(len(rules.asked)):
            again, wanted, order = random_rules(seed, patience=patience)
            assert minimal_core(again, wanted, order) == (Status.UNKNOWN, [])
            assert len(again.asked) == patience + 1
            given_up += patience > 0
    assert given_up > 50


def test_columns_are_deleted_from_the_heaviest_and_equal_ones_in_their_order():
    def blamed(weights):
        # any two of four inputs contradict the output
        rules = Rules([{x, y, -5} for x in (1, 2, 3, 4) for y in (1, 2, 3, 4) if x < y])
        columns = ([1, 2, 3, 4], [5])
        return blamed_columns(rules, columns, [1, 1, 1, 1], weights, [-1])[1]

    assert sorted(blamed([1.0, 1.0, 1.0, 1.0])) == [2, 3]
    assert sorted(blamed([1.0, 9.0, 2.0, 1.5])) == [0, 3]
    assert sorted(blamed([2.0, 1.0, 2.0, 2.0])) == [1, 3]


def test_free_inputs_and_free_outputs_take_no_part():
    rules = Rules([{1, 3}, {-2, 3}])
    ask = [[1, 2], [3]], [0, -1], [float("nan"), 1.0]
    assert blamed_columns(rules, *ask, [1]) == (Status.UNSAT, [1])
    assert blamed_columns(rules, *ask, [0]) == (Status.SAT, [])
    assert rules.asked[0] == [3, -2]


def test_of_columns_that_share_a_literal_the_one_deleted_last_is_blamed():
    rules, columns = Rules([{1, 2}]), ([1, 1, -1, 2], [2])
    assert blamed_columns(rules, columns, [1, 1, -1, 1], [3.0, 2.0, 4.0, 1.0], [1]) == (
        Status.UNSAT, [1],
    )  # fmt: skip
    assert blamed_columns(rules, columns, [1, 1, -1, 0], [2.0, 2.0, 2.0, 1.0], [1])[1] == [2]


def test_columns_that_contradict_each_other_are_blamed_together():
    answer = blamed_columns(Rules([]), ([4, 4, 4], [6]), [1, -1, 1], [1.0, 5.0, 2.0], [0])
    assert answer == (Status.UNSAT, [1, 0])
