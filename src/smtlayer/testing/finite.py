"""Random theories of every kind that translates to clauses."""

import random
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import z3

from smtlayer.testing.theories import THEORIES
from smtlayer.theory import Theory, one_hot

FINITE: Mapping[str, Callable[[], Theory]] = {
    name: THEORIES[name]
    for name in (
        "xor", "addition", "unique_labels", "colours", "integers", "free_outputs", "unconstrained",
        "mixed_inputs",
    )
}  # fmt: skip
"""The named theories that translate to clauses."""


def random_finite_theory(seed: int) -> Theory:
    """A theory of one of the kinds below, chosen by the seed, satisfiable or not.

    Kinds: bit-vector arithmetic; numbers that must differ, by `Distinct` or in pairs, with terms
    and conditions among them; cardinality constraints and weighted sums; enumerations; one-hot
    integers; bounded integers. Theories have at most 9 inputs and outputs.

    Examples:
        >>> random_finite_theory(5) == random_finite_theory(5)
        True
    """
    return _KINDS[seed % len(_KINDS)](random.Random(seed))


def _bit_vectors(draw: random.Random) -> Theory:
    a, b, y = z3.BitVecs("a b y", 3)
    operations: list[Callable[[Any, Any], Any]] = [
        lambda x, z: x + z, lambda x, z: x - z, lambda x, z: x * z, lambda x, z: x & z,
        lambda x, z: x ^ z, lambda x, z: x | ~z, z3.UDiv, z3.URem, lambda x, z: x << z,
        lambda x, z: z3.If(z3.ULT(x, z), x, z), lambda x, z: x >> z,
    ]  # fmt: skip
    f, g = draw.sample(operations, 2)
    constraints = [y == f(a, g(b, draw.randrange(8)))]
    if draw.random() < 0.7:
        constraints.append(draw.choice([z3.ULE, z3.UGE, z3.ULT])(a, draw.randrange(1, 7)))
    if draw.random() < 0.5:
        constraints.append(z3.Or(a < b, z3.Extract(0, 0, y) == 1))
    return Theory(constraints, inputs=[a, b], outputs=[y])


def _different(draw: random.Random) -> Theory:
    """Terms that must differ, sometimes as many as there are values."""
    width = draw.choice([2, 3])
    symbols = [z3.BitVec(f"d{i}", width) for i in range(4 if width == 2 else 3)]
    terms: list[Any] = [x + draw.randrange(4) if draw.random() < 0.3 else x for x in symbols]
    form = draw.random()
    if form < 0.4:
        constraints = [z3.Distinct(terms)]
    elif form < 0.8:
        constraints = [x != y for i, x in enumerate(terms) for y in terms[:i]]
        if draw.random() < 0.5:
            constraints.pop(draw.randrange(len(constraints)))
    else:
        constraints = [z3.Or(z3.Distinct(terms), symbols[0] == symbols[1])]
    constraints += [z3.ULE(x, draw.randrange(2, 2**width)) for x in symbols if draw.random() < 0.5]
    constraints.append(z3.Or(symbols[2] == symbols[0] ^ symbols[1], symbols[0] == 1))
    half = draw.choice([1, 2])
    return Theory(constraints, inputs=symbols[:half], outputs=symbols[half:])


def _counted(draw: random.Random) -> Theory:
    inputs, outputs = z3.Bools("c0 c1 c2 c3 c4"), z3.Bools("y0 y1 y2")
    weights = [(x, draw.randint(1, 5)) for x in inputs]
    bound = draw.randint(2, 9)
    constraints = [
        outputs[0] == draw.choice([z3.PbLe, z3.PbGe, z3.PbEq])(weights, bound),
        outputs[1] == draw.choice([z3.AtMost, z3.AtLeast])(*inputs, draw.randint(1, 4)),
        z3.Implies(outputs[2], z3.PbGe([(z3.Not(x), w) for x, w in weights], bound)),
    ]
    if draw.random() < 0.5:
        constraints.append(z3.AtMost(*inputs, draw.randint(2, 4)))
    return Theory(constraints, inputs=inputs, outputs=outputs)


@cache  # z3 refuses to declare a sort twice
def _suits() -> tuple[Any, list[Any]]:
    sort, values = z3.EnumSort("Suit", ["clubs", "diamonds", "hearts", "spades"])
    return sort, list(values)


def _enumerated(draw: random.Random) -> Theory:
    sort, values = _suits()
    x, y, z = z3.Consts("suit0 suit1 suit2", sort)
    constraints = [
        z3.Distinct(x, y, z) if draw.random() < 0.5 else x != y,
        z3.Implies(x == draw.choice(values), y == draw.choice(values)),
        z3.Or(y != z, z == draw.choice(values)),
    ]
    kept = values[: draw.choice([3, 4])]
    return Theory(constraints, inputs=[one_hot(x, kept)], outputs=[one_hot(z, kept)])


def _one_hot_integers(draw: random.Random) -> Theory:
    x, y, total = z3.Ints("x y total")
    values = draw.sample(range(-3, 6), 3)
    c, d = draw.randint(-2, 3), draw.randint(-3, 3)
    constraints = [total == c * x + y * draw.choice([1, 2]) + d]
    if draw.random() < 0.6:
        constraints.append(z3.Distinct(x, y, total))
    big = z3.Bool("big")
    constraints.append(big == (total > draw.randint(-3, 6)))
    sides = [one_hot(x, values), one_hot(y, sorted(values))]
    return Theory(constraints, inputs=sides, outputs=[big])


def _bounded_integers(draw: random.Random) -> Theory:
    x, y = z3.Ints("x y")
    a, b, c, even, less = z3.Bools("a b c even less")
    low = draw.randint(-4, 1)
    constraints = [
        x >= low, x <= low + draw.randint(2, 6), y == z3.If(a, x * x, 3 - x) + z3.If(b, 1, -2),
        even == (y % 2 == 0), less == (y / draw.choice([2, 3]) < x),
        c == (x + y >= draw.randint(0, 6)),
    ]  # fmt: skip
    return Theory(constraints, inputs=[a, b, c], outputs=[even, less])


_KINDS = (
    _bit_vectors, _different, _counted, _enumerated, _one_hot_integers, _bounded_integers,
    _different,
)  # fmt: skip
