"""Boolean formulas become clauses as they are, with all that they share shared."""

import copy
import pickle
import random

import pytest
import z3
from listers import by_clauses, by_z3

from helpers import seeds
from smtlayer import Theory, one_hot
from smtlayer.solvers.clauses import translation
from smtlayer.solvers.clauses.cnf import Budget, split
from smtlayer.solvers.clauses.tseitin import logical_clauses
from smtlayer.testing import random_theory
from smtlayer.theory.terms import read_terms

a, b, c, y = z3.Bools("a b c y")


def made(*formulas):
    """The clauses of formulas, with symbols by name."""
    terms = read_terms(formulas)
    numbers, variable, top = logical_clauses(terms, terms.roots)
    names = {number: name for name, number in variable.items()}
    signed = [[("-" if x < 0 else "") + names.get(abs(x), "?") for x in k] for k in split(numbers)]
    return signed, top


def test_clauses_stay_as_they_are():
    assert made(z3.Or(a, z3.Not(b), c), z3.Not(a), b, z3.Not(z3.Not(c)))[0] == [
        ["a", "-b", "c"], ["-a"], ["b"], ["c"],
    ]  # fmt: skip
    assert made(z3.Implies(a, b), z3.Not(z3.And(a, c)), z3.Or(a, z3.Or(b, z3.Not(c))))[0] == [
        ["-a", "b"], ["-a", "-c"], ["a", "b", "-c"],
    ]  # fmt: skip


def test_what_holds_together_falls_apart():
    nested = z3.And(a, z3.Not(z3.Or(b, z3.Not(c))), z3.Not(z3.Implies(y, b)))
    assert sorted(made(nested)[0]) == [["-b"], ["a"], ["c"], ["y"]]
    assert made(a == b, z3.Xor(a, c), z3.If(a, b, c), z3.Distinct(a, y))[0] == [
        ["-a", "b"], ["a", "-b"], ["-a", "-c"], ["a", "c"], ["-a", "b"], ["a", "c"],
        ["-a", "-y"], ["a", "y"],
    ]  # fmt: skip


def chain(kind, count):
    """A formula of which each step uses the last one, and outputs that use every step."""
    found, rules = z3.Bool("x"), []
    for i in range(count):
        step = z3.Bool(f"a{i}")
        found = {
            "or": lambda now, s: z3.Or(now, s),
            "gates": lambda now, s: z3.Xor(z3.And(now, s), z3.Or(now, z3.Not(s))),
            "xor by hand": lambda now, s: z3.Or(z3.And(now, s), z3.And(z3.Not(now), z3.Not(s))),
            "negated": lambda now, s: z3.Not(z3.And(z3.Not(now), s)),
            "if": lambda now, s: z3.If(s, now, z3.Not(now)),
        }[kind](found, step)
        rules.append(z3.Bool(f"y{i}") == found)
    return Theory(rules, [z3.Bool("x")], [z3.Bool(f"y{i}") for i in range(count)])


@pytest.mark.parametrize("kind", ["or", "gates", "xor by hand", "negated", "if"])
def test_what_is_shared_is_written_once(kind):
    """Twice the steps take twice the text, the clauses and the literals, and never their square."""

    def size(count):
        theory = chain(kind, count)
        cnf = translation.to_cnf(theory)
        assert copy.deepcopy(theory) == theory
        return (
            len(pickle.dumps(theory)),
            int((cnf.numbers == 0).sum()),
            int((cnf.numbers != 0).sum()),
        )

    whole = size(400)
    for small, large in zip(size(100), whole, strict=True):
        assert large < 5 * small
    assert whole[2] < 30 * 400


def test_a_long_chain_takes_no_stack():
    theory = chain("gates", 1_500)  # deeper than Python may recurse
    assert len(translation.to_cnf(theory).columns) == 1_501


def random_formulas(seed):
    """Formulas of all Boolean kinds over few symbols, with terms that are used again and again."""
    draw = random.Random(seed)
    symbols = [z3.Bool(f"s{i}") for i in range(draw.randint(3, 6))]
    terms = [*symbols, z3.BoolVal(True), z3.BoolVal(False)]
    kinds = [
        z3.And, z3.Or, z3.Xor, z3.Implies, z3.If, z3.Not, z3.Distinct, lambda p, q: p == q,
        lambda *args: z3.Not(z3.Or(*args)), lambda *args: z3.Not(z3.And(*args)),
    ]  # fmt: skip
    sizes = [(1, 4), (1, 4), (2, 2), (2, 2), (3, 3), (1, 1), (2, 3), (2, 2), (1, 3), (1, 3)]
    for _ in range(draw.randint(3, 25)):
        build, (least, most) = draw.choice(list(zip(kinds, sizes, strict=True)))
        terms.append(build(*draw.choices(terms, k=draw.randint(least, most))))
    return symbols, draw.choices(terms[len(symbols) + 2 :], k=draw.randint(1, 4))


def by_tactics(theory):
    """Clauses by z3's tactics alone."""
    twin = copy.deepcopy(theory)
    twin.terms.logical[:] = bytes(len(twin.terms.logical))
    return translation._translate(twin, True, Budget())


@pytest.mark.parametrize("seed", seeds(30, 2000))
def test_random_formulas_keep_their_models(seed):
    symbols, formulas = random_formulas(seed)
    hidden = random.Random(seed).randint(0, 2)
    theory = Theory(formulas, symbols[:2], symbols[2:][: len(symbols) - 2 - hidden] or symbols[2:])
    found = by_clauses(translation.to_cnf(theory))
    assert found == by_z3(theory) == by_clauses(by_tactics(theory))


@pytest.mark.parametrize("seed", seeds(10, 1000))
def test_formulas_beside_numbers_keep_their_models(seed):
    """Some formulas are Boolean, others not, and they share symbols."""
    draw = random.Random(seed)
    symbols, formulas = random_formulas(seed)
    wide, digit = z3.BitVec("wide", 2), z3.Int("digit")
    formulas += [
        draw.choice(symbols) == (wide == draw.randrange(4)),
        z3.Or(z3.ULT(wide, draw.randrange(1, 4)), formulas[0]),
        z3.Implies(draw.choice(symbols), digit > 1),
    ]
    sides = [wide, one_hot(digit, range(3)), *symbols[:2]], symbols[2:]
    theory = Theory(formulas, *sides)
    found = by_clauses(translation.to_cnf(theory))
    assert found == by_z3(theory) == by_clauses(by_tactics(theory))


@pytest.mark.parametrize("seed", seeds(10, 1000))
def test_random_theories_keep_their_models(seed):
    theory = random_theory(seed)
    found = by_clauses(translation.to_cnf(theory))
    assert found == by_z3(theory) == by_clauses(by_tactics(theory))
