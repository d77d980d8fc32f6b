import itertools
import random

import pytest
import z3

from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory
from tasks.every_model import every_model


def names(digits):
    return [f"{name}{i}" for name in "ab" for i in range(digits)], [
        f"s{i}" for i in range(digits + 1)
    ]


def written(number, digits):
    return [int(digit) for digit in str(number).zfill(digits)]


def test_one_digit_each_is_plain_addition():
    symbols = z3.BitVecs("a0 b0 s0 s1", 4)
    sums = {(a, b, *written(a + b, 2)) for a, b in itertools.product(range(10), repeat=2)}
    assert every_model(long_addition_theory(1), symbols) == sums
    plain = every_model(addition_theory(), [*z3.BitVecs("a b", 4), z3.BitVec("total", 5)])
    assert {(a, b, 10 * s0 + s1) for a, b, s0, s1 in sums} == plain


@pytest.mark.parametrize("digits", [2, 3, 15])
def test_long_numbers_have_the_sum_that_python_says_and_no_other(digits):
    theory = long_addition_theory(digits)
    inputs, outputs = (z3.BitVecs(side, 4) for side in names(digits))
    draw = random.Random(digits)
    most = 10**digits - 1
    pairs = [(0, 0), (most, most), (most, 1), (1, most)]
    pairs += [(draw.randint(0, most), draw.randint(0, most)) for _ in range(30)]
    solver = z3.SimpleSolver()
    solver.add(*theory.formulas)
    for one, other in pairs:
        given = [*written(one, digits), *written(other, digits)]
        facts = [symbol == digit for symbol, digit in zip(inputs, given, strict=True)]
        assert solver.check(*facts) == z3.sat
        model = solver.model()
        total = [model[symbol].as_long() for symbol in outputs]
        assert total == written(one + other, digits + 1)
        wrong = z3.Or([symbol != digit for symbol, digit in zip(outputs, total, strict=True)])
        assert solver.check(*facts, wrong) == z3.unsat


@pytest.mark.parametrize("name", [*names(2)[0], *names(2)[1]])
def test_every_symbol_is_a_digit(name):
    solver = z3.SimpleSolver()
    solver.add(*long_addition_theory(2).formulas, z3.UGT(z3.BitVec(name, 4), 9))
    assert solver.check() == z3.unsat


def test_columns_stand_in_the_order_in_which_numbers_are_written():
    theory = long_addition_theory(3)
    inputs, outputs = names(3)
    bits = range(3, -1, -1)
    assert theory.input_names == tuple(f"{name}[{i}]" for name in inputs for i in bits)
    assert theory.output_names == tuple(f"{name}[{i}]" for name in outputs for i in bits)


def test_a_number_has_a_digit_at_least():
    with pytest.raises(ValueError, match=r"^long_addition_theory: digits must be .* 1\. Got 0\.$"):
        long_addition_theory(0)
