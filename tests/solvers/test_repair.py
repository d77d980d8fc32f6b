"""The cheapest repair, against trying every set."""

import itertools
import math
import random
import time
from fractions import Fraction

import pytest

from smtlayer import Status
from smtlayer.solvers.repair import cheapest_hitting_set, cheapest_repair, exact_integers


def subsets(members):
    return [set(s) for k in range(len(members) + 1) for s in itertools.combinations(members, k)]


@pytest.mark.parametrize("seed", range(20))
def test_the_hitting_set_is_the_cheapest_of_all(seed):
    draw = random.Random(seed)
    for _ in range(25):
        members = range(draw.randint(1, 7))
        dear = draw.choice([3, 10**20])
        weights = {i: draw.choice([1, 2, draw.randint(1, dear)]) for i in members}
        sets = [
            frozenset(draw.sample(members, draw.randint(1, min(3, len(members)))))
            for _ in range(draw.randint(0, 8))
        ]
        found = cheapest_hitting_set(sets, weights)
        assert all(found & s for s in sets)
        hitting = [s for s in subsets(members) if all(s & other for other in sets)]
        assert sum(weights[i] for i in found) == min(sum(weights[i] for i in s) for s in hitting)


def test_dear_members_that_hit_more_are_not_cut_off():
    sets = [frozenset(s) for s in ({0, 1}, {0, 2}, {0, 3}, {4, 5})]
    assert cheapest_hitting_set(sets, {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}) == {0, 4}


def test_nothing_to_hit_costs_nothing():
    assert cheapest_hitting_set([], {0: 1}) == frozenset()


def test_a_search_that_runs_out_of_time_says_so():
    with pytest.raises(TimeoutError):
        cheapest_hitting_set([frozenset({0})], {0: 1}, deadline=time.monotonic() - 1)


@pytest.mark.parametrize("seed", range(20))
def test_exact_integers_keep_all_proportions(seed):
    draw = random.Random(seed)
    weights = {i: draw.random() * 10.0 ** draw.randint(-300, 30) for i in range(6)}
    weights[6] = 5e-324  # the smallest number there is
    exact = exact_integers(weights)
    assert all(type(value) is int and value > 0 for value in exact.values())
    for i, j in itertools.combinations(weights, 2):
        assert Fraction(exact[i], exact[j]) == Fraction(weights[i]) / Fraction(weights[j])


def test_no_weights_are_no_integers():
    assert exact_integers({}) == {}


class Rules:
    """Inputs that must not hold all at once, as a way to ask; cores may be larger than need be."""

    def __init__(self, forbidden, draw):
        self.forbidden, self.draw, self.models = forbidden, draw, []

    def __call__(self, kept):
        broken = [rule for rule in self.forbidden if rule <= set(kept)]
        if not broken:
            self.models.append(frozenset(kept))
            return Status.SAT, frozenset()
        core = set(self.draw.choice(broken))
        core |= {i for i in kept if self.draw.random() < 0.3}
        return Status.UNSAT, frozenset(core)


@pytest.mark.parametrize("seed", range(40))
def test_the_last_model_is_the_best_one_whatever_cores_come_up(seed):
    draw = random.Random(seed)
    members = range(draw.randint(1, 6))
    weights = {i: draw.choice([1.0, 1e-17, 1e-30, draw.random()]) for i in members}
    forbidden = [
        frozenset(draw.sample(members, draw.randint(1, len(members))))
        for _ in range(draw.randint(0, 5))
    ]
    check = Rules(forbidden, draw)
    assert cheapest_repair(check, weights, math.inf) is Status.SAT

    def cost(overruled):
        return sum((Fraction(weights[i]) for i in overruled), Fraction(0))

    possible = [s for s in subsets(members) if all(s & rule for rule in forbidden)]
    assert cost(set(members) - check.models[-1]) == min(cost(s) for s in possible)


def test_a_contradiction_without_inputs_has_no_repair():
    assert cheapest_repair(lambda kept: (Status.UNSAT, frozenset()), {0: 1.0}, math.inf) is (
        Status.UNSAT
    )


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_question_given_up_on_the_way_is_never_an_answer(after):
    answers = [(Status.UNSAT, frozenset({0})), (Status.UNSAT, frozenset({1}))][:after]
    answers.append((Status.UNKNOWN, frozenset()))
    asked = iter(answers)
    status = cheapest_repair(lambda kept: next(asked), {0: 1.0, 1: 1.0}, math.inf)
    assert status is Status.UNKNOWN


def test_a_repair_that_runs_out_of_time_is_unknown():
    past = time.monotonic() - 1
    assert cheapest_repair(lambda kept: (Status.SAT, frozenset()), {0: 1.0}, past) is Status.UNKNOWN
