"""Listing models: clauses and z3 give the same list, and an incomplete list has a reason."""

import itertools
from functools import cache

import pytest
import torch
import z3
from listers import by_clauses, by_z3

from smtlayer import Theory, one_hot
from smtlayer.solvers.clauses.translation import NotFiniteError, to_cnf
from smtlayer.solvers.enumerate import Enumerate
from smtlayer.solvers.table.models import Ending, list_models
from smtlayer.testing import FINITE, THEORIES, random_theory

a, b, c, y = z3.Bools("a b c y")
v, w, u = z3.BitVecs("v w u", 3)
x = z3.Int("x")
RANDOM = {f"random{seed}": lambda s=seed: random_theory(s) for seed in range(30)}


def rows(models):
    return torch.cat([models.inputs, models.outputs], dim=1).tolist()


@cache  # z3 refuses to declare a sort twice
def days(count):
    return z3.EnumSort(f"Day{count}", [f"day{i}" for i in range(count)])


def calendar(count):
    """Two different days, a third between them that is neither input nor output."""
    sort, members = days(count)
    first, second, hidden = z3.Consts("first second hidden", sort)
    rule = [
        z3.Distinct(first, second, hidden),
        z3.Implies(first == members[0], hidden == members[1]),
    ]
    return Theory(rule, [one_hot(first, members)], [one_hot(second, members[1:])])


def calendar_rule(count):
    def holds(first, second):
        hidden = [1] if first == 0 else range(count)
        return second > 0 and any(len({first, second, day}) == 3 for day in hidden)

    return holds


# Each theory, and the same in Python.
HAND_MADE = {
    "multiply": (lambda: Theory(u == v * w, [v, w], [u]), lambda v, w, u: u == v * w % 8),
    "divide": (
        lambda: Theory(u == z3.UDiv(v, w), [v, w], [u]),
        lambda v, w, u: u == (v // w if w else 7),
    ),
    "remainder": (
        lambda: Theory(u == z3.URem(v, w), [v, w], [u]),
        lambda v, w, u: u == (v % w if w else v),
    ),
    "shift left": (lambda: Theory(u == v << w, [v, w], [u]), lambda v, w, u: u == (v << w) % 8),
    "shift right": (lambda: Theory(u == z3.LShR(v, w), [v, w], [u]), lambda v, w, u: u == v >> w),
    "if": (
        lambda: Theory(u == z3.If(a, v, w + 1), [a, v, w], [u]),
        lambda a, v, w, u: u == (v if a else (w + 1) % 8),
    ),
    "compare": (
        lambda: Theory([y == z3.ULT(v, w), a == (v < w)], [v, w], [y, a]),
        lambda v, w, y, a: y == (v < w) and a == ((v ^ 4) < (w ^ 4)),
    ),
    "distinct": (
        lambda: Theory([z3.Distinct(v, w, u), z3.ULT(v, 4)], [v, w], [u]),
        lambda v, w, u: len({v, w, u}) == 3 and v < 4,
    ),
    "distinct bools": (lambda: Theory(z3.Distinct(a, b), [a], [b]), lambda a, b: a != b),
    "at most": (
        lambda: Theory(z3.AtMost(a, b, c, y, 2), [a, b], [c, y]),
        lambda *bits: sum(bits) <= 2,
    ),
    "at least": (
        lambda: Theory(z3.AtLeast(a, b, c, y, 3), [a, b], [c, y]),
        lambda *bits: sum(bits) >= 3,
    ),
    "weighted": (
        lambda: Theory(z3.PbEq([(a, 2), (b, 3), (c, 1), (y, 4)], 5), [a, b], [c, y]),
        lambda a, b, c, y: 2 * a + 3 * b + c + 4 * y == 5,
    ),
    "a count of three": (lambda: calendar(3), calendar_rule(3)),
    "a count of five": (lambda: calendar(5), calendar_rule(5)),
    "hardly constrained": (
        lambda: Theory([v == v, z3.Or(a, z3.Not(a)), y == y], [v, a], [y]),
        lambda v, a, y: True,
    ),
    "the same symbol twice": (
        lambda: Theory(v * v == v, [v], [v]),
        lambda v, again: v == again and v < 2,
    ),
    "contradiction": (lambda: Theory([a, z3.Not(a), y], [a], [y]), lambda a, y: False),
    "false": (lambda: Theory([y == a, False], [a], [y]), lambda a, y: False),
}  # fmt: skip


@pytest.mark.parametrize("name", HAND_MADE)
def test_finite_theories_have_the_models_that_python_says(name):
    build, holds = HAND_MADE[name]
    theory = build()
    models = list_models(theory, max_models=10_000)
    ranges = [range(_size(symbol)) for symbol in theory.symbols]
    expected = {values for values in itertools.product(*ranges) if holds(*values)}
    assert models.complete
    assert len(models) == len(expected)
    assert set(_values(theory, models)) == expected


def _size(symbol):
    """How many values a symbol has; those of the calendar are numbered."""
    return len(days_of(symbol)) if symbol.domain is not None else 2**symbol.width


def days_of(symbol):
    return days(symbol.term.sort().num_constructors())[1]


def _values(theory, models):
    inputs, outputs = theory.decode_inputs(models.inputs), theory.decode(models.outputs)
    columns = [*inputs.values(), *outputs.values()]
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield tuple(
            int(value.removeprefix("day")) if type(value) is str else value for value in row
        )


@pytest.mark.parametrize("name", [*HAND_MADE, *RANDOM, *FINITE])
def test_clauses_and_z3_list_the_same_models(name):
    build = HAND_MADE[name][0] if name in HAND_MADE else {**THEORIES, **RANDOM}[name]
    assert by_clauses(to_cnf(build())) == by_z3(build())


@pytest.mark.parametrize("name", [*THEORIES, *RANDOM])
def test_the_list_holds_every_model_and_nothing_else(name):
    theory = {**THEORIES, **RANDOM}[name]()
    models = list_models(theory, max_models=1000)
    oracle = Enumerate().open(theory)
    assert rows(models) == sorted([*inputs, *outputs] for inputs, outputs in oracle.models())
    assert (models.ending, models.complete, models.reason) == (Ending.COMPLETE, True, "")
    assert models.inputs.dtype == models.outputs.dtype == torch.int8
    assert models.inputs.shape == (len(models), theory.n_inputs)
    assert models.outputs.shape == (len(models), theory.n_outputs)


def sorts():
    """Terms of sorts that do not come down to bits, whatever surrounds them."""
    number, real, word = z3.Int("number"), z3.Real("real"), z3.String("word")
    thing, other = z3.Consts("thing other", z3.DeclareSort("Thing"))
    bits, truth = z3.BitVecSort(3), z3.BoolSort()
    f, p = z3.Function("f", bits, bits), z3.Function("p", bits, truth)
    g, h = z3.Function("g", truth, truth), z3.Function("h", days(3)[0], truth)
    memory, flags = z3.Array("memory", bits, bits), z3.Array("flags", bits, truth)
    day, night = z3.Consts("day night", days(3)[0])
    half = z3.FP("half", z3.Float16())
    return {
        "integer": (number > 3, "number"),
        "real": (real < 3, "real"),
        "string": (z3.Contains(word, "ab"), "Contains(word"),
        "quantifier": (z3.Exists([b], z3.Xor(b, c)), "Exists("),
        "function of bits": (f(v) == f(w), "f("),
        "predicate of bits": (p(v) == p(w), "p("),
        "function of truth": (g(b) == g(c), "g("),
        "predicate of an enumeration": (h(day) == h(night), "h("),
        "array of bits": (memory[v] == memory[w], "memory["),
        "array of truth": (flags[v] == flags[w], "flags["),
        "uninterpreted sort": (thing == other, "thing"),
        "integer as bits": (z3.Int2BV(number, 3) == v, "number"),
        "bits as integer": (z3.BV2Int(v) == number, "number"),
        "floating point": (half > 1.0, "half"),
    }


@pytest.mark.parametrize("kind", sorts())
def test_a_theory_with_a_part_that_is_no_bits_is_refused_with_that_part(kind):
    part, text = sorts()[kind]
    theory = Theory([y == z3.Xor(a, part), z3.Or(a, v != w)], inputs=[a], outputs=[y])
    with pytest.raises(NotFiniteError) as refusal:
        to_cnf(theory)
    assert text in str(refusal.value)
    unbounded = "the integer 'number' has no bounds that could be proved"
    assert str(refusal.value).endswith(unbounded if text == "number" else "come down to bits")


@pytest.mark.parametrize("kind", sorts())
def test_a_part_that_is_no_bits_keeps_its_meaning_in_the_list(kind):
    # equal arguments, equal results: what a part left behind as an atom would forget
    part, _ = sorts()[kind]
    pairs = [(v, w), (b, c), tuple(z3.Consts("day night", days(3)[0]))]
    rule = [*(one == other for one, other in pairs), a == part, y == z3.substitute(part, *pairs)]
    models = list_models(Theory(rule, [a], [y]), max_models=10)
    assert models.complete
    assert rows(models)
    assert all(before == after for before, after in rows(models))


@pytest.mark.parametrize("name", THEORIES)
def test_a_theory_is_finite_or_refused(name):
    try:
        cnf = to_cnf(THEORIES[name]())
    except NotFiniteError:
        assert name not in FINITE
    else:
        assert name in FINITE
        assert len(cnf.columns) == THEORIES[name]().n_inputs + THEORIES[name]().n_outputs
        used = {abs(x) for clause in cnf.clauses for x in clause} | {abs(x) for x in cnf.columns}
        assert used == set(range(1, cnf.n_variables + 1))


@pytest.mark.parametrize("name", ["addition", "strings"])  # by clauses, by z3
def test_a_list_that_ends_at_the_limit_has_the_reason(name):
    theory = THEORIES[name]()
    everything = list_models(theory, max_models=100)
    count = len(everything)
    exact = list_models(theory, max_models=count)
    assert (rows(exact), exact.complete) == (rows(everything), True)
    cut = list_models(theory, max_models=count - 1)
    assert (cut.ending, cut.complete, cut.many) == (Ending.MANY, False, True)
    assert cut.reason == f"has more than {count - 1} models"
    assert len(cut) == count - 1
    assert all(row in rows(everything) for row in rows(cut))
