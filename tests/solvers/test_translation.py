"""Clauses have the models of the theory, with a variable for each value and without, or refuse."""

import itertools
import random
from functools import cache

import pytest
import torch
import z3
from listers import by_clauses, by_z3

from helpers import seeds
from smtlayer import Z3, Auto, NotFiniteError, Theory, TooLargeError, one_hot
from smtlayer.solvers.clauses import translation
from smtlayer.solvers.clauses.cnf import split
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.lru import Lru
from smtlayer.solvers.sat import SatRow
from smtlayer.testing import FINITE, random_finite_theory

a, b, y = z3.Bools("a b y")
u, v, w, x = z3.BitVecs("u v w x", 2)
p, q, r = z3.BitVecs("p q r", 3)
i, j, k = z3.Ints("i j k")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing was ever translated; the store's folder."""
    monkeypatch.setattr(translation, "_memory", Lru(16))
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path))
    return tmp_path


def models(theory, **options):
    return by_clauses(to_cnf(theory, **options))


def assert_same_models(theory):
    expected = by_z3(theory)
    assert models(theory) == expected
    assert models(theory, direct=False) == expected
    return expected


@pytest.mark.parametrize("seed", seeds(14, 84))
def test_random_theories_of_every_kind_keep_their_models(seed):
    assert_same_models(random_finite_theory(seed))


@cache  # z3 refuses to declare a sort twice
def planets(count):
    return z3.EnumSort(f"Planet{count}", [f"planet{n}" for n in range(count)])


def enumerated(count, seen):
    """Three planets that differ, the last of them hidden."""
    sort, members = planets(count)
    one, two, hidden = z3.Consts("one two hidden", sort)
    rules = [z3.Distinct(one, two, hidden), z3.Implies(one == members[0], hidden == members[1])]
    return Theory(rules, [one_hot(one, members[:seen])], [one_hot(two, members[:seen])])


def pairs(terms):
    return [one != other for one, other in itertools.combinations(terms, 2)]


# A theory and the number of its models.
HAND_MADE = {
    "as many symbols as values": (lambda: Theory(z3.Distinct(u, v, w, x), [u, v], [w, x]), 24),
    "more symbols than values": (
        lambda: Theory([*pairs([u, v, w, x, u + v + w + x])], [u, v], [w, x]), 0),
    "fewer values than the width has": (
        lambda: Theory([z3.Distinct(p, q, r), *(z3.ULT(s, 3) for s in (p, q, r))], [p, q], [r]), 6),
    "values that are not the first": (
        lambda: Theory([z3.Distinct(p, q, r), *(z3.UGT(s, 4) for s in (p, q, r))], [p, q], [r]), 6),
    "terms": (lambda: Theory(z3.Distinct(u + v, u ^ w, v * w), [u, v], [w]), 24),
    "a symbol and a number": (lambda: Theory(z3.Distinct(u, v, z3.BitVecVal(3, 2)), [u], [v]), 6),
    "a term twice": (lambda: Theory([z3.Distinct(u, v, w), z3.Distinct(w, v, u)], [u, v], [w]), 24),
    "nested": (lambda: Theory(y == z3.Distinct(u, v, w), [u, v], [w, y]), 64),
    "one or the other": (
        lambda: Theory(z3.Or(z3.Distinct(u, v, w), z3.Distinct(u, v, x)), [u, v], [w, x]), 144),
    "pairs": (lambda: Theory(pairs([u, v, w, x]), [u, v], [w, x]), 24),
    "all pairs but one": (lambda: Theory(pairs([u, v, w, x])[1:], [u, v], [w, x]), 48),
    "a ring": (lambda: Theory([u != v, v != w, w != x, x != u], [u, v], [w, x]), 84),
    "truths": (lambda: Theory(z3.Distinct(a, b), [a], [b]), 2),
    "two symbols tied": (lambda: Theory([u == v, z3.Distinct(u, w, x)], [u, w], [v, x]), 24),
    "tied, but for a bit": (lambda: Theory([u == v + 1, u != w], [u, w], [v]), 12),
    "opposites": (lambda: Theory([y == z3.Not(a), b == a], [a, b], [y]), 2),
    "columns that never change": (
        lambda: Theory([a, z3.Not(b), y == z3.Or(a, b), u == 2], [a, b, u], [y]), 1),
    "columns that nothing holds": (
        lambda: Theory([u == u, z3.Or(a, z3.Not(a)), y == b], [u, a, b], [y]), 16),
    "no model": (lambda: Theory([u == 1, u == 2, y == a], [u, a], [y]), 0),
    "no model, by search": (lambda: Theory(pairs([a, b, y]), [a, b], [y]), 0),
    "an enumeration": (lambda: enumerated(4, 4), 11),
    "an enumeration of five": (lambda: enumerated(5, 3), 5),
    "integers that differ": (
        lambda: Theory(
            [z3.Distinct(i, j, k), i >= -1, k <= 2, i <= j, j <= k],
            [one_hot(i, range(-1, 3))], [one_hot(j, range(-1, 3)), one_hot(k, range(-1, 3))]), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", HAND_MADE)
def test_theories_made_by_hand_keep_their_models(name):
    build, count = HAND_MADE[name]
    assert len(assert_same_models(build())) == count


@pytest.mark.parametrize("width", [6, 7])
def test_numbers_too_wide_for_a_variable_for_each_value_are_compared_bit_by_bit(width):
    wide = [z3.BitVec(f"wide{n}", width) for n in range(4)]
    bounds = [z3.ULE(2**width - 4, s) for s in wide]
    theory = Theory([z3.Distinct(wide), *bounds], wide[:2], wide[2:])
    assert len(assert_same_models(theory)) == 24
    with_values, bits = to_cnf(theory), to_cnf(theory, direct=False)
    assert (list(with_values.clauses) == list(bits.clauses)) == (width == 7)


def test_more_numbers_than_pairs_are_counted():
    many = [z3.BitVec(f"many{n}", 5) for n in range(24)]
    fixed = [s == n for n, s in enumerate(many[3:])]
    theory = Theory([z3.Distinct(many), *fixed, z3.ULE(many[0], 24)], many[:2], [many[2]])
    assert len(assert_same_models(theory)) == 4 * 10 * 9


@pytest.mark.parametrize("name", FINITE)
def test_variables_are_numbered_without_gaps(name):
    for found in (to_cnf(FINITE[name]()), to_cnf(FINITE[name](), direct=False)):
        used = {abs(n) for clause in found.clauses for n in clause} | set(map(abs, found.columns))
        assert used == set(range(1, found.n_variables + 1))


def test_columns_that_agree_share_a_literal():
    found = to_cnf(Theory([u == v, y == a, u != w], [u, a], [v, w, y])).columns
    assert (found[:2], found[2]) == (found[3:5], found[7])
    assert len({abs(n) for n in found}) == 5


NAMES = [f"column!{n}" for n in range(6)] + [
    "column", "column_", "column_!0", "c 5 column!3", "line\nc 1 column!0", "p cnf 1 1\nc 2 x",
    " c 1 y", "c", "1 2 0", "with space", "x!bits!7", "k!3", "ü", "c 5 column_!3\n1 0",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_looks_like_ours_is_only_a_name(name):
    odd, plain = z3.Bool(name), z3.Bool("plain")
    theory = Theory([z3.Or(odd, plain), y == z3.Xor(odd, plain)], [odd, plain], [y])
    assert assert_same_models(theory) == [[-1, 1, 1], [1, -1, 1], [1, 1, -1]]


def test_all_odd_names_at_once():
    odd = [z3.Bool(name) for name in NAMES]
    theory = Theory([z3.AtMost(*odd, 1), y == z3.Or(odd)], odd, [y])
    assert len(assert_same_models(theory)) == len(odd) + 1


@pytest.mark.parametrize("middle", ["!", "!bits!"])
def test_an_integer_as_bits_is_not_taken_for_a_symbol_that_has_its_name(middle):
    taken = [z3.BitVec(f"i{middle}{n}", 3) for n in range(12)]
    rules = [i >= 0, i <= 3, y == (i == 2), *(z3.Extract(2, 2, s) == 1 for s in taken)]
    assert len(assert_same_models(Theory([*rules, y == a], [a], [y]))) == 2


def test_what_does_not_come_down_to_bits_is_refused_and_left_to_z3():
    s = z3.String("s")
    theory = Theory([y == z3.PrefixOf("no", s), a == z3.PrefixOf("n", s)], [a], [y])
    reason = "'PrefixOf(\"n\", s)' does not come down to bits"
    with pytest.raises(NotFiniteError) as refusal:
        to_cnf(theory)
    assert str(refusal.value) in (reason, reason.replace('"n"', '"no"'))
    choice = Auto(max_models=2).choose(theory)
    assert choice.backend == Z3()
    assert choice.reason.endswith(f"too many to list, and {refusal.value}")


def multiplier(bits):
    one, two, product = z3.BitVecs("one two product", bits)
    return Theory(product == one * two, [one, two], [product])


@pytest.mark.usefixtures("fresh")
def test_a_multiplier_comes_down_to_bits_or_is_too_large():
    found = to_cnf(multiplier(64))
    assert (len(found.columns), found.n_variables > 5_000) == (192, True)
    with pytest.raises(TooLargeError, match=r"^it takes .*clauses, more than max_clauses=1,0"):
        to_cnf(multiplier(64), max_clauses=1_000)


@pytest.mark.parametrize("kept", ["in memory", "on disk", "nowhere"])
def test_what_is_too_large_stays_so_whatever_is_kept(fresh, monkeypatch, kept):
    theory = HAND_MADE["pairs"][0]()
    whole = to_cnf(theory)
    assert to_cnf(theory, max_clauses=10_000) is whole
    if kept != "in memory":
        monkeypatch.setattr(translation, "_memory", {})
    if kept == "nowhere":
        monkeypatch.setenv("SMTLAYER_CACHE", "off")
    least = int((whole.numbers == 0).sum()) - 1
    with pytest.raises(TooLargeError, match=rf"more than max_clauses={least}$"):
        to_cnf(theory, max_clauses=least)
    assert to_cnf(theory).numbers.tolist() == whole.numbers.tolist()


def test_a_translation_is_remembered_and_then_stored(fresh, monkeypatch):
    first, plain = to_cnf(FINITE["colours"]()), to_cnf(FINITE["colours"](), direct=False)
    assert to_cnf(FINITE["colours"]()) is first
    assert len(list(fresh.iterdir())) == 2
    monkeypatch.setattr(translation, "_memory", {})
    with monkeypatch.context() as patch:
        patch.setattr(translation, "_translate", None)
        for old, again in (
            (first, to_cnf(FINITE["colours"]())),
            (plain, to_cnf(FINITE["colours"](), direct=False)),
        ):
            assert again is not old
            assert (again.columns, again.n_variables) == (old.columns, old.n_variables)
            assert again.numbers.tolist() == old.numbers.tolist()
            assert type(again.columns[0]) is int
        with pytest.raises(TypeError):
            to_cnf(FINITE["xor"]())


def test_a_damaged_translation_is_made_anew(fresh, monkeypatch):
    first = to_cnf(FINITE["addition"]())
    (path,) = fresh.iterdir()
    path.write_bytes(path.read_bytes()[:-40])
    monkeypatch.setattr(translation, "_memory", {})
    assert list(to_cnf(FINITE["addition"]()).clauses) == list(first.clauses)


def test_the_memory_of_translations_is_bounded(fresh):
    for seed in range(20):
        to_cnf(random_finite_theory(seed))
    assert len(translation._memory) == 16
    assert len(list(fresh.iterdir())) == 20


def test_true_and_false_left_in_clauses_by_z3_keep_their_meaning():
    x, y = z3.BitVecs("x y", 2)
    p, a = z3.Bools("p a")
    zero, three = (z3.BitVecVal(k, 2) for k in (0, 3))
    rules = {
        "no model": [z3.Or((zero >> y) != 0, z3.ULT(y, 0))],
        "only without a": [z3.Implies(a, z3.UGT(zero >> y, x))],
        "no model either": [(three >> y) != 3],
    }
    for name, rule in rules.items():
        theory = Theory([*rule, p == a], inputs=[a], outputs=[p])
        asked = torch.tensor([[1], [-1], [0]], dtype=torch.int8)
        expected = Z3(remember=0).compile(theory).solve(asked).status
        for direct in (True, False):
            row = SatRow(to_cnf(theory, direct=direct), 1, 10_000)
            found = [row.solve(signs).status for signs in asked.tolist()]
            assert found == expected.tolist(), name


def test_a_chain_of_integers_takes_steps_that_are_counted():
    n = 60
    draw = random.Random(0)
    chain, b = [z3.Int(f"x{i}") for i in range(n)], z3.Bool("b")
    rules = [chain[i + 1] == z3.If(b, chain[i], 1 - chain[i]) for i in range(n - 1)]
    draw.shuffle(rules)
    bounds = [chain[0] >= 0, chain[0] <= 1]
    theory = Theory([*bounds, *rules, z3.Bool("y") == (chain[-1] > 0)], [b], [z3.Bool("y")])
    assert len(to_cnf(theory).columns) == 2
    message = (
        r"^proving the bounds of its integers took [\d,]+ steps, more than 10 for each clause "
    )
    with pytest.raises(TooLargeError, match=message + r"of max_clauses=1,000$"):
        to_cnf(theory, max_clauses=1_000)


def test_a_clause_with_a_constant_holds_or_does_without_it():
    true, false = z3.BoolVal(True), z3.BoolVal(False)
    s, t = z3.Bools("s t")
    clauses = [
        z3.Or(s, false), z3.Or(t, z3.Not(false)), z3.Or(z3.Not(true), z3.Not(t)), z3.Or(s, true),
        z3.Not(true), true,
    ]  # fmt: skip
    numbers, variable = translation._walk(clauses, ["s", "t", "u"])
    assert list(split(numbers)) == [[variable["s"]], [-variable["t"]], []]
    assert sorted(variable.values()) == [1, 2, 3]
