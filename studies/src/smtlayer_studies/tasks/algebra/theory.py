"""The theory of visual algebra: the equation a·x + b = c, with two digits for c."""

import z3

from smtlayer.theory import Theory


def algebra_theory(*, as_printed: bool = False) -> Theory:
    """a·x + b = 10·c1 + c2, where c1 and c2 are the two digits of the right-hand side.

    Args:
        as_printed: Only the equation, as in the paper, without the ranges of its numbers.
    """
    a, b, c1, c2, x = z3.BitVecs("a b c1 c2 x", 4)
    wide_a, wide_b, wide_c1, wide_c2, wide_x = (z3.ZeroExt(4, n) for n in (a, b, c1, c2, x))
    # 8 bits: no overflow
    rules = {"a * x + b is 10 * c1 + c2": wide_a * wide_x + wide_b == 10 * wide_c1 + wide_c2}
    if not as_printed:
        rules |= {f"{n} is 1 to 9": z3.And(z3.UGE(n, 1), z3.ULE(n, 9)) for n in (a, b, x)}
        rules |= {f"{n} is a digit": z3.ULE(n, 9) for n in (c1, c2)}
    return Theory(rules, inputs=[a, b, c1, c2], outputs=[x])
