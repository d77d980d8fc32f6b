import itertools

import pytest

from smtlayer.solvers.search.totalizer import Totalizer


def implied(clauses, literals, signs, outputs):
    """Outputs that the clauses force, given which literals hold: all others may be false."""
    true = {x * s for x, s in zip(literals, signs, strict=True)}
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            open_ = [x for x in clause if -x not in true]
            if len(open_) == 1 and open_[0] not in true:
                true.add(open_[0])
                changed = True
    return [x in true for x in outputs]


@pytest.mark.parametrize("size", range(1, 7))
def test_an_output_is_forced_just_when_enough_literals_hold(size):
    literals = [x if x % 2 else -x for x in range(1, size + 1)]
    names = itertools.count(100)
    totalizer, clauses = Totalizer(literals), []
    for most in range(1, size + 1):  # grown step by step, as a search does
        clauses += totalizer.grow(most, lambda: next(names))
        outputs = [totalizer.at_least(r) for r in range(1, most + 1)]
        for signs in itertools.product((1, -1), repeat=size):
            holding = signs.count(1)
            expected = [holding >= r for r in range(1, most + 1)]
            assert implied(clauses, literals, signs, outputs) == expected


def test_it_grows_no_further_than_asked_and_nothing_twice():
    names = itertools.count(100)
    totalizer = Totalizer(list(range(1, 33)))
    few = list(totalizer.grow(2, lambda: next(names)))
    assert list(totalizer.grow(2, lambda: next(names))) == []
    more = list(totalizer.grow(3, lambda: next(names)))
    assert len(few) < 200
    assert more
    assert not {tuple(c) for c in few} & {tuple(c) for c in more}
    whole = list(totalizer.grow(1000, lambda: next(names)))
    assert whole
    assert totalizer.size == 32
