"""Merged variables: fewer of them, and the same models over whatever the caller wants to find."""

import itertools
import random

import numpy as np
import pytest

from helpers import seeds
from smtlayer.solvers.clauses.cnf import Cnf, join, split
from smtlayer.solvers.clauses.equivalence import merge


def projections(clauses, literals, top):
    """The values that literals have in models of the clauses."""
    found = set()
    for signs in itertools.product((1, -1), repeat=top):
        model = {sign * variable for variable, sign in enumerate(signs, start=1)}
        if not any(model.isdisjoint(clause) for clause in clauses):
            found.add(tuple(x in model for x in literals))
    return found


def equal(one, other):
    return [[-one, other], [one, -other]]


def random_clauses(seed):
    """Clauses over up to 8 variables, with planted equations, some of them negated."""
    draw = random.Random(seed)
    top = draw.randint(1, 8)

    def literal():
        return draw.randint(1, top) * draw.choice([1, -1])

    clauses = [[literal() for _ in range(draw.randint(1, 4))] for _ in range(draw.randint(0, 6))]
    for _ in range(draw.randint(0, 6)):
        clauses += [draw.sample(c, 2) for c in equal(literal(), literal())]
    draw.shuffle(clauses)
    literals = [literal() for _ in range(draw.randint(1, 5))]
    return clauses, literals, top


@pytest.mark.parametrize("seed", seeds(40, 150))
def test_the_models_over_the_given_literals_stay(seed):
    clauses, literals, top = random_clauses(seed)
    numbers, found, count = merge(join(clauses), literals)
    assert count <= top
    assert projections(list(split(numbers)), found, count) == projections(clauses, literals, top)
    used = {abs(x) for x in (*numbers.tolist(), *found)} - {0}
    assert used == set(range(1, count + 1))


def test_a_chain_of_equations_leaves_one_variable():
    draw = random.Random(0)
    links = [c for n in range(1, 40) for c in equal(n, -(n + 1))]
    draw.shuffle(links)
    numbers, found, count = merge(join(links), [1, 2, 40, -40])
    assert (numbers.tolist(), count) == ([], 1)
    assert (found[1], found[2], found[3]) == (-found[0], -found[0], found[0])


def test_an_implication_one_way_is_no_equation():
    numbers, found, count = merge(join([[-1, 2], [-2, 3], [3, 1]]), [1, 2, 3])
    assert (list(split(numbers)), found, count) == ([[-1, 2], [-2, 3], [3, 1]], (1, 2, 3), 3)


def test_what_is_and_is_not_equal_has_no_model():
    numbers, found, count = merge(join([*equal(1, 2), *equal(2, -1)]), [1, 2])
    assert sorted(split(numbers)) == [[-1], [1]]
    assert (set(map(abs, found)), count) == ({1}, 1)


def test_tautologies_and_repeated_literals_are_dropped():
    numbers, found, count = merge(join([[5, -5, 7], [7, 9, 7], [9, -2, 2]]), [9, 7, -5])
    assert list(split(numbers)) == [[2, 3]]
    assert (found, count) == ((3, 2, -1), 3)


@pytest.mark.parametrize("clauses", [[], [[]], [[], [1]], [[3]]])
def test_no_clauses_and_empty_clauses_are_kept_as_they_are(clauses):
    numbers, found, count = merge(join(clauses), [2])
    assert len(list(split(numbers))) == len(clauses)
    assert projections(list(split(numbers)), found, count) == projections(clauses, [2], 3)
    assert numbers.dtype == np.int32


@pytest.mark.parametrize("clauses", [[], [[]], [[1, -2], [], [3]], [[-7]]])
def test_clauses_in_a_row_are_split_again(clauses):
    assert list(split(join(clauses))) == clauses
    assert list(Cnf(join(clauses), (1,), 7).clauses) == clauses
    assert join(clauses).dtype == np.int32
