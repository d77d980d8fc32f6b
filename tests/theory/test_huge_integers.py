"""Integers of more digits than Python reads or writes at once."""

import pytest
import z3

from smtlayer import Auto, Sat, Theory, TheoryError, one_hot
from smtlayer.errors import NotFiniteError
from smtlayer.theory.values import whole_number

a, y = z3.Bools("a y")
h = z3.Int("h")


def script(number):
    return f"""(declare-const a Bool) (declare-const h Int) (declare-const y Bool)
        (assert (= a (> h {number}))) (assert (= y a))"""


@pytest.mark.parametrize("sign", ["1", "-1"])
@pytest.mark.parametrize("digits", [3, 3999, 4000, 4001, 9000])
def test_whole_numbers_are_read_whatever_their_length(sign, digits):
    product = f"(* {'(- 1)' if sign == '-1' else '1'} 1{'0' * digits}7)"
    text = f"(declare-const h Int) (assert (= h {product}))"
    term = z3.parse_smt2_string(text)[0].arg(1)
    assert whole_number(z3.simplify(term)) == int(sign) * (10 ** (digits + 1) + 7)


def test_a_theory_with_one_is_solved():
    theory = Theory.from_smtlib(script("1" + "0" * 5000), ["a"], ["y"])
    found = Auto().compile(theory).solve(theory.encode(a=[True, False]))
    assert theory.decode(found.outputs)["y"].tolist() == [True, False]
    with pytest.raises(NotFiniteError, match="'h' has no bounds that could be proved"):
        Sat().compile(theory)


def test_a_value_that_long_is_refused_with_what_to_do():
    message = (
        r"^one_hot: an integer of thousands of digits is too long a value for 'h'\. Give values "
    )
    with pytest.raises(TheoryError, match=message + "of at most 4000 digits"):
        Theory(h > 0, [one_hot(h, [1, 10**5000])], [y])
    theory = Theory(y == a, [a, z3.BitVec("w", 2), one_hot(h, [1, 2])], [y])
    for name in ("a", "w", "h"):
        with pytest.raises(TheoryError, match=r"Got an integer of thousands of digits\.$"):
            theory.encode(**{name: 10**5000})
