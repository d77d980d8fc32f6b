"""A list of models ends by counted work, by a count or by an estimate, and has the reason."""

import itertools
import os
import signal
import sys
import threading

import pytest
import z3
from listers import PLENTY

from helpers import seeds
from smtlayer import Theory, one_hot
from smtlayer.solvers import z3_calls
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.table import models as listing
from smtlayer.solvers.table.listing import ClauseLister, TermLister, UndecidedError
from smtlayer.solvers.table.models import Ending, has_far_more, list_models
from smtlayer.testing import THEORIES, random_theory

a, y = z3.Bools("a y")


def pigeons(holes=12):
    """One pigeon more than there are holes: few clauses, long search."""
    home = [[z3.Bool(f"p{i}h{j}") for j in range(holes)] for i in range(holes + 1)]
    rules = [z3.Or(row) for row in home]
    for hole in zip(*home, strict=True):
        rules += [z3.Not(z3.And(pair)) for pair in itertools.combinations(hole, 2)]
    return Theory(rules, inputs=home[0], outputs=home[1])


def factoring(bits=96):
    p, q = z3.BitVecs("p q", bits)
    product = z3.ZeroExt(bits, p) * z3.ZeroExt(bits, q)
    return Theory([product == (2**89 - 1) * (2**61 - 1), p != 1, q != 1], inputs=[p], outputs=[q])


def cubes():
    k, m, n = z3.Ints("k m n")
    rule = k * k * k + m * m * m == n * n * n
    return Theory([rule, k > 0, m > 0, n > 0, y == a], inputs=[a], outputs=[y])


def free_bits():
    p, q = z3.BitVecs("p q", 24)
    return Theory(p != q, inputs=[p], outputs=[q])


def endless():
    """As many models, and not finite."""
    p, q = z3.BitVecs("p q", 16)
    return Theory(y == (z3.ToReal(z3.BV2Int(p)) / 3 > z3.ToReal(z3.BV2Int(q))), [p, q], [y])


@pytest.mark.parametrize("build", [pigeons, factoring, cubes])
def test_a_list_ends_at_the_work_limit_and_has_the_reason(build):
    models = list_models(build(), max_models=10**9, max_work=200_000)
    assert (models.ending, models.complete, models.many) == (Ending.WORK, False, False)
    assert models.reason == "needs more than 200,000 steps to list"
    assert len(models) == 0


@pytest.mark.parametrize("name", ["addition", "strings"])  # by clauses, by z3
def test_more_steps_find_more_models_and_the_same_steps_the_same(name):
    found = {steps: len(_fresh(THEORIES[name](), steps)) for steps in (1, 20, 200, 2_000, 20_000)}
    assert sorted(found.values()) == list(found.values())
    assert found[1] < found[20_000] == len(list_models(THEORIES[name](), 100))
    assert {steps: len(_fresh(THEORIES[name](), steps)) for steps in found} == found


def _fresh(theory, max_work):
    return listing._list(theory, 100, max_work)


@pytest.mark.parametrize("build", [free_bits, endless])
def test_far_too_many_models_are_estimated(build):
    models = list_models(build(), max_models=10_000)
    assert (models.ending, models.complete, models.many) == (Ending.ESTIMATED, False, True)
    assert models.reason == "has far more than 10000 models"
    assert len(models) == 256


def choices(count, rules=()):
    bits = z3.Bools(" ".join(f"bit{i}" for i in range(count)))
    return Theory([z3.Or(bits), *rules], inputs=bits[:-1], outputs=bits[-1:])


@pytest.mark.parametrize("lister", [lambda t: ClauseLister(to_cnf(t), PLENTY),
                                    lambda t: TermLister(t, PLENTY)])  # fmt: skip
def test_an_estimate_never_exceeds_what_there_is(lister):
    # 2**20 - 1 models over independent columns: the estimate is all but exact
    theory = choices(20)
    assert has_far_more(lister(theory), 2**20 // 1000 - 10)
    assert not has_far_more(lister(theory), 2**20 // 1000 + 10)
    assert not has_far_more(lister(choices(4)), 1)


@pytest.mark.parametrize("seed", seeds(4, 20))
def test_theories_with_few_models_of_many_columns_are_listed_in_full(seed):
    # One-hot columns: descents see a choice at every turn, yet there are only 300 models.
    symbols = [z3.Int(f"digit{i}") for i in range(3)]
    digits = [one_hot(symbol, range(20)) for symbol in symbols]
    total = (7 * symbols[0] + seed * symbols[1] + 3 * symbols[2]) % 23 == 5
    models = list_models(Theory([total], digits[:2], digits[2:]), max_models=400)
    assert models.complete
    assert len(models) > 256


def test_what_z3_cannot_decide_ends_the_list():
    real = z3.Real("r")
    models = list_models(Theory([real**real == 2, real > 1, y == a], [a], [y]), max_models=10)
    assert (models.ending, models.complete, models.many) == (Ending.UNKNOWN, False, False)
    assert models.reason == "makes z3 answer unknown (incomplete (theory arithmetic))"
    assert not models.fits_sat
    assert models.sat_error == "'r**r == 2' does not come down to bits"


def test_an_undecided_question_counts_as_no_in_an_estimate():
    class Undecided:
        literals = range(1, 60)

        def check(self, literals=()):
            if literals:
                raise UndecidedError("incomplete")
            return True

        def values(self):
            return {1}

    assert not has_far_more(Undecided(), 10)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("build", [pigeons, cubes])  # by clauses, by z3
def test_ctrl_c_ends_a_list_that_has_work_left(build):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        list_models(build(), max_models=10, max_work=PLENTY)


def test_a_fork_that_stops_z3_changes_neither_the_list_nor_the_work(monkeypatch):
    undisturbed = _fresh(THEORIES["strings"](), 10_000)
    asked = []

    def stoppable(interrupt, ask):
        asked.append(ask())
        return (None, True) if len(asked) == 3 else (asked[-1], False)

    monkeypatch.setattr(z3_calls, "stoppable", stoppable)
    stopped = _fresh(THEORIES["strings"](), 10_000)
    assert len(asked) > 3
    assert len(stopped) == len(undisturbed)
    assert (stopped.ending, stopped.reason) == (undisturbed.ending, undisturbed.reason)
    assert stopped.inputs.tolist() == undisturbed.inputs.tolist()


def test_lists_with_different_limits_are_kept_apart():
    theory = THEORIES["addition"]
    assert list_models(theory(), max_models=77, max_work=1).complete is False
    assert list_models(theory(), max_models=77).complete is True
    assert list_models(theory(), max_models=77, max_work=1).complete is False


def test_a_list_is_remembered_for_theories_built_alike():
    models = list_models(THEORIES["xor"](), max_models=78)
    assert list_models(THEORIES["xor"](), max_models=78) is models
    assert list_models(THEORIES["xor"](), max_models=79) is not models
    a, y = z3.Bools("a y")
    impossible = Theory([y == a, y != a], inputs=[a], outputs=[y])
    assert list_models(impossible, max_models=78) is list_models(impossible, max_models=78)
    for seed in range(20):
        list_models(random_theory(seed), max_models=1000)
    assert len(listing._memory) == 16
    assert list_models(THEORIES["xor"](), max_models=78) is not models
