"""The theory of adding two long numbers, column by column."""

from typing import Any, Literal

import z3

from smtlayer.errors import ArgumentError
from smtlayer.theory import Theory, one_hot

Reading = Literal["bits", "digits"]


def long_addition_theory(digits: int, reading: Reading = "bits") -> Theory:
    """Two decimal numbers and their sum, added column by column.

    The digits are a0, a1, ... and b0, b1, ..., the most significant first. The sum has one digit
    more, s0, s1, ...: the last carry goes to s0.

    Args:
        digits: Digits per number.
        reading: The inputs of a digit: its four `"bits"`, or one input per value, `"digits"`. The
            digits of the sum are bits in both cases.
    """
    if digits < 1:
        raise ArgumentError(f"long_addition_theory: digits must be at least 1. Got {digits}.")
    a, b = ([z3.BitVec(f"{name}{i}", 4) for i in range(digits)] for name in "ab")
    total = [z3.BitVec(f"s{i}", 4) for i in range(digits + 1)]
    carry = [z3.BitVec(f"carry{i}", 1) for i in range(digits + 1)]  # out of column i

    def wide(symbol: Any) -> Any:
        return z3.ZeroExt(5 - symbol.size(), symbol)  # 9 + 9 + 1 needs 5 bits

    rules = {
        f"column {i} adds up": wide(a[i]) + wide(b[i]) + wide(carry[i + 1])
        == 10 * wide(carry[i]) + wide(total[i + 1])
        for i in range(digits)
    }
    rules["nothing is carried in"] = carry[digits] == 0
    rules["s0 is carried out"] = wide(total[0]) == wide(carry[0])
    rules |= {f"{digit} is a digit": z3.ULE(digit, 9) for digit in (*a, *b, *total)}
    read = [*a, *b] if reading == "bits" else [one_hot(digit, range(10)) for digit in (*a, *b)]
    return Theory(rules, inputs=read, outputs=total)
