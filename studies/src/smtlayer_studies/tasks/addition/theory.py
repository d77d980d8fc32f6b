"""The theory of MNIST addition: two digits and their sum."""

import z3

from smtlayer.theory import Theory


def addition_theory() -> Theory:
    """Two digits and their sum."""
    a, b = z3.BitVecs("a b", 4)
    total = z3.BitVec("total", 5)
    return Theory(
        {
            "total is a + b": total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b),
            "a is a digit": z3.ULE(a, 9),
            "b is a digit": z3.ULE(b, 9),
        },
        inputs=[a, b],
        outputs=[total],
    )
