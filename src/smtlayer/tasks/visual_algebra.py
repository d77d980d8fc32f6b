"""This file holds visual algebra: solve a·x + b = c for x, the numbers being images."""

import z3

from smtlayer.theory import Theory


def algebra_theory() -> Theory:
    """a·x + b = 10·c1 + c2, where c1 and c2 are the two digits of the right-hand side."""
    a, b, c1, c2, x = z3.BitVecs("a b c1 c2 x", 4)
    wide_a, wide_b, wide_c1, wide_c2, wide_x = (z3.ZeroExt(4, n) for n in (a, b, c1, c2, x))
    return Theory(
        [
            wide_a * wide_x + wide_b == 10 * wide_c1 + wide_c2,  # 8 bits: never too large
            *(z3.And(z3.UGE(n, 1), z3.ULE(n, 9)) for n in (a, b, x)),
            *(z3.ULE(n, 9) for n in (c1, c2)),
        ],
        inputs=[a, b, c1, c2],
        outputs=[x],
    )
