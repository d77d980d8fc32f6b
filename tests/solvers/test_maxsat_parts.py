"""Parts of the MaxSAT search: strata, exact weights, literals."""

import itertools
import random
from fractions import Fraction

import pytest

from smtlayer.solvers.search.maxsat import next_stratum
from smtlayer.solvers.search.oracle import exact_integers, signed


def test_strata_end_where_many_literals_have_few_weights():
    def strata(*weights):
        soft, found, least = dict(enumerate(weights)), [], None
        while (least := next_stratum(soft, least)) is not None:
            found.append(least)
        return found

    assert strata() == []
    assert strata(7) == strata(7, 7, 7) == [7]
    assert strata(8, 4, 2, 1) == [1]  # all different: one stratum
    assert strata(9, 9, 9, 5, 5, 1) == [9, 5, 1]
    assert strata(9, 8, 7, 7, 6, 5, 5) == [7, 6, 5]
    assert strata(9, 8, 7, 7, 6) == [7, 6]
    assert strata(10**300, 1) == [1]


@pytest.mark.parametrize("seed", range(20))
def test_integers_keep_the_proportions_of_floats(seed):
    draw = random.Random(seed)
    weights = {i: draw.random() * 10.0 ** draw.randint(-300, 300) for i in range(6)}
    weights[6] = 5e-324  # the smallest number there is
    exact = exact_integers(weights)
    assert all(type(value) is int and value > 0 for value in exact.values())
    assert exact_integers({}) == {}
    for i, j in itertools.combinations(weights, 2):
        assert Fraction(exact[i], exact[j]) == Fraction(weights[i]) / Fraction(weights[j])


def test_signs_become_literals_of_columns():
    assert signed([3, -4, 5, -6], [1, -1, 0, 1]) == [3, 4, -6]
