"""What the search for repairs is made of: layers, exact weights, literals and signs."""

import itertools
import random
from fractions import Fraction

import pytest

from smtlayer import Status
from smtlayer.solvers.search.maxsat import Repair, next_layer, row_of
from smtlayer.solvers.search.oracle import exact_integers, signed


class Plain:
    """An oracle that only reads models."""

    def signs(self, model, literals):
        return [1 if x in model else -1 for x in literals]


def test_layers_end_where_many_literals_have_few_weights():
    def layers(*weights):
        owed, found, layer = dict(enumerate(weights)), [], None
        while (layer := next_layer(owed, layer)) is not None:
            found.append(layer)
        return found

    assert layers() == []
    assert layers(7) == layers(7, 7, 7) == [7]
    assert layers(8, 4, 2, 1) == [1]  # all different: nothing to be gained
    assert layers(9, 9, 9, 5, 5, 1) == [9, 5, 1]
    assert layers(9, 8, 7, 7, 6, 5, 5) == [7, 6, 5]
    assert layers(9, 8, 7, 7, 6) == [7, 6]
    assert layers(10**300, 1) == [1]


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


def test_signs_ask_literals_of_columns_and_a_repair_answers_with_signs():
    assert signed([3, -4, 5, -6], [1, -1, 0, 1]) == [3, 4, -6]
    oracle, model = Plain(), frozenset({1, -2, 3})
    row = row_of(oracle, Repair(Status.SAT, model, proved=False), [1, 2, -3], [-2, 2])
    assert row == (Status.SAT, [1, -1, -1], [1, -1], False)
    assert row_of(oracle, Repair(Status.UNKNOWN), [1], [2]) == (
        Status.UNKNOWN,
        (),
        (),
        True,
    )
