"""Theories as decision diagrams: sums, orders of variables, limits, and the disk cache."""

import itertools
import re

import numpy as np
import oxidd.bdd
import pytest
import z3

from smtlayer import Theory, TooLargeError, one_hot
from smtlayer.solvers.circuit import compilation
from smtlayer.solvers.circuit.bdd import Bdd, DiagramTooLargeError
from smtlayer.solvers.circuit.compilation import to_diagram
from smtlayer.solvers.circuit.diagram import extract
from smtlayer.solvers.circuit.order import orders
from smtlayer.solvers.circuit.sums import to_problem
from smtlayer.solvers.table.models import list_models
from smtlayer.testing import FINITE, random_finite_theory

a, b, c, d = z3.Bools("a b c d")
p, q = z3.Ints("p q")


def number(x):
    return z3.If(x, 1, 0)


SUMS = {
    "at most": z3.AtMost(a, b, c, d, 2),
    "at least": z3.AtLeast(a, b, c, d, 3),
    "exactly": z3.PbEq([(x, 1) for x in (a, b, c, d)], 2),
    "weighted": z3.PbLe([(a, 3), (z3.Not(b), 5), (c, 2), (d, 7)], 9),
    "at least, weighted": z3.PbGe([(a, 3), (b, 5), (c, -2), (d, 7)], 4),
    "less": 3 * number(a) + number(b) * 5 < 7 + number(c),
    "greater": number(a) - number(b) > number(c) - number(d),
    "equal": z3.If(a, 4, 2) + 2 * number(b) == z3.If(z3.Not(c), 6, 4),
    "negated": -number(a) - 2 * number(b) >= -2,
    "of formulas": z3.AtMost(z3.And(a, b), z3.Or(c, d), z3.Xor(a, d), 1),
    "twice the same": number(a) + number(a) + number(b) <= 2,
    "implied": z3.Implies(z3.Or(a, b), z3.PbEq([(b, 1), (c, 1), (d, 1)], 2)),
    "one of several": z3.Or(a, z3.Not(b), number(c) + number(d) > 1),
    "digits": p + 2 * q <= 5,
    "digits and conditions": p - q == number(a) + 2 * number(b),
    "a digit's value": z3.Implies(a, 3 * p >= 5),
}


def theory_of(rule):
    digits = [one_hot(p, [0, 1, 2, 5]), one_hot(q, [-1, 0, 2])]
    return Theory(rule, inputs=[a, b, digits[0]], outputs=[c, d, digits[1]])


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_is_found_and_means_the_same(name):
    theory = theory_of(SUMS[name])
    problem = to_problem(theory)
    assert len(problem.sums) == 1
    assert to_diagram(theory).n_models == len(list_models(theory, 10_000))
    assert models_of(to_diagram(theory)) == listed(theory)


@pytest.mark.parametrize(
    "rule",
    [p * q > 1, z3.Not(p + q > 1), z3.Or(p > 1, q > 1), z3.Xor(a, p > 1), p % 2 == 1],
    ids=str,
)
def test_anything_else_stays_with_the_clauses(rule):
    theory = theory_of(rule)
    assert not to_problem(theory).sums
    assert models_of(to_diagram(theory)) == listed(theory)


def test_a_sum_with_too_many_partial_sums_stays_with_the_clauses():
    x = [z3.Bool(f"x{i}") for i in range(20)]
    theory = Theory(z3.PbLe([(each, 2**i) for i, each in enumerate(x)], 77_777), x, x)
    assert not to_problem(theory).sums
    assert to_diagram(theory).n_models == 77_778


@pytest.mark.parametrize(
    "theory", [*FINITE.values(), *(lambda s=s: random_finite_theory(s) for s in range(20))]
)
def test_the_paths_of_a_diagram_are_the_models(theory):
    assert models_of(to_diagram(theory())) == listed(theory())


@pytest.mark.parametrize("overhead", [-(10**6), 0, 20, 10**6])
@pytest.mark.parametrize("seed", [1, 4, 5, 8])
def test_fused_levels_have_the_same_paths(seed, overhead):
    theory = random_finite_theory(seed)
    diagram = to_diagram(theory)
    fused = diagram.fused(overhead)
    assert models_of(fused) == listed(theory)
    assert len(fused.levels) <= len(diagram.levels)
    assert all(len(level.packs) <= 4 for level in fused.levels)


def test_levels_are_fused_where_that_saves_arcs():
    diagram = to_diagram(ordered(6))
    one = diagram.fused(10**6)
    assert len(one.levels) < len(diagram.levels)
    assert one.n_arcs > diagram.n_arcs


@pytest.mark.parametrize("seed", range(6))
def test_every_order_gives_the_same_models(seed):
    theory = random_finite_theory(seed)
    problem = to_problem(theory)
    for order in orders(problem):
        assert sorted(order) == list(range(1, problem.cnf.n_variables + 1))
        assert models_of(extract(Bdd(problem, order, 10**5, 10**6), problem, 10**5)) == listed(
            theory
        )


def test_columns_of_a_one_hot_symbol_are_one_level():
    theory = theory_of(p + q == 2)
    packs = [pack for level in to_diagram(theory).levels for pack in level.packs]
    assert sorted(len(pack.signs) for pack in packs) == [2, 4, 4, 6]  # q's beside a Boolean


KNOWN = {
    "exactly 5 of 30": (lambda: counted(30, 5), 142_506),
    "exactly 10 of 60": (lambda: counted(60, 10), 75_394_027_566),
    "ordered digits": (lambda: ordered(12), 293_930),  # multisets of 12 digits
}


def counted(n, k):
    x = [z3.Bool(f"x{i}") for i in range(n)]
    return Theory(z3.PbEq([(each, 1) for each in x], k), inputs=x, outputs=x)


def ordered(n):
    x = [z3.Int(f"x{i}") for i in range(n)]
    shown = [one_hot(each, range(10)) for each in x]
    return Theory([u <= v for u, v in itertools.pairwise(x)], inputs=shown, outputs=shown)


@pytest.mark.parametrize("name", KNOWN)
def test_large_diagrams_have_the_known_number_of_models(name):
    build, count = KNOWN[name]
    assert to_diagram(build()).n_models == count


def test_the_smallest_diagram_of_all_orders_is_kept(monkeypatch):
    x, y = ([z3.Bool(f"{name}{i}") for i in range(6)] for name in "xy")
    theory = Theory([z3.Implies(u, v) for u, v in zip(x, y, strict=True)], inputs=x, outputs=y)
    problem = to_problem(theory)
    sizes = [Bdd(problem, order, 10**5, 10**6).n_nodes for order in orders(problem)]
    assert len(set(sizes)) > 1
    found = []
    monkeypatch.setattr(
        compilation, "extract", lambda bdd, *args: found.append(bdd.n_nodes) or extract(bdd, *args)
    )
    compilation._compile(theory, 10_000)
    assert found == [min(sizes)]


def test_an_order_that_fails_early_gets_no_second_try(monkeypatch):
    tried = []

    def fails(problem, order, max_nodes, room):
        tried.append(room)
        raise DiagramTooLargeError("too large", progress=0.1)

    monkeypatch.setattr(compilation, "Bdd", fails)
    assert compilation._compile(ordered(5), 100_000) == "too large"
    assert set(tried) == {50_000}


def test_a_symbol_of_far_too_many_values_is_refused():
    theory = Theory(True, [one_hot(p, range(120))], [one_hot(q, range(3))])
    problem = to_problem(theory)
    bdd = Bdd(problem, next(orders(problem)), 10**5, 10**6)
    with pytest.raises(TooLargeError, match=r"^the values of its one-hot symbols take [\d,]+ "
                       r"signs, more than 100 for each of max_nodes=100$"):  # fmt: skip
        extract(bdd, problem, 100)


def test_a_theory_of_far_too_many_clauses_is_not_begun(monkeypatch):
    monkeypatch.setattr(compilation, "orders", None)
    x, y = z3.BitVecs("x y", 16)
    reason = compilation._compile(Theory(x * y == 7, inputs=[x], outputs=[y]), 200)
    assert re.fullmatch(
        r"its decision diagram would be compiled from [\d,]+ clauses, more than 2 for each of "
        r"max_nodes=200", reason,
    )  # fmt: skip


def test_a_diagram_is_compiled_once_and_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path))
    monkeypatch.setattr(compilation, "_memory", {})
    theory = ordered(4)
    first = to_diagram(theory)
    assert to_diagram(theory) is first
    monkeypatch.setattr(compilation, "_memory", {})
    monkeypatch.setattr(compilation, "_compile", None)
    again = to_diagram(theory)
    assert again.columns == first.columns
    for one, other in zip(again.levels, first.levels, strict=True):
        for mine, yours in zip(one.packs, other.packs, strict=True):
            assert mine.variables == yours.variables
            assert np.array_equal(mine.signs, yours.signs)
        assert np.array_equal(one.child, other.child)
        assert np.array_equal(one.value, other.value)


def test_a_refusal_is_kept_on_disk_too(monkeypatch, tmp_path):
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path))
    monkeypatch.setattr(compilation, "_memory", {})
    theory = ordered(4)
    with pytest.raises(TooLargeError, match="max_nodes=3") as first:
        to_diagram(theory, 3)
    monkeypatch.setattr(compilation, "_memory", {})
    monkeypatch.setattr(compilation, "_compile", None)
    with pytest.raises(TooLargeError) as again:
        to_diagram(theory, 3)
    assert str(again.value) == str(first.value)


def models_of(diagram):
    """All paths, as signs of the columns."""
    found = []

    def walk(i, node, signs):
        if i == len(diagram.levels):
            found.append(tuple(signs[abs(x)] * (1 if x > 0 else -1) for x in diagram.columns))
            return
        level = diagram.levels[i]
        for child, values in zip(level.child[node], level.value[:, node].T, strict=True):
            if values[0] >= 0:
                own = dict(signs)
                for pack, value in zip(level.packs, values, strict=True):
                    own.update(zip(pack.variables, pack.signs[value].tolist(), strict=True))
                walk(i + 1, child, own)

    walk(0, 0, {})
    assert len(found) == len(set(found)) == diagram.n_models
    return set(found)


def listed(theory):
    models = list_models(theory, 10_000)
    assert models.complete
    return {(*x, *y) for x, y in zip(models.inputs.tolist(), models.outputs.tolist(), strict=True)}


def test_garbage_is_collected_seldom_if_most_nodes_are_in_use(monkeypatch):
    class Counted:
        def __init__(self, *limits):
            self._manager, self.collections = manager(*limits), 0

        def __getattr__(self, name):
            return getattr(self._manager, name)

        def gc(self):
            self.collections += 1
            return self._manager.gc()

    manager = oxidd.bdd.BDDManager
    monkeypatch.setattr(oxidd.bdd, "BDDManager", Counted)
    problem = to_problem(ordered(20))
    found = Bdd(problem, next(orders(problem)), 10_000, room=3_000)
    assert found.n_nodes == 1921
    assert 5 < found.manager.collections < 20  # one per constraint would be 80
