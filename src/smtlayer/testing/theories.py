"""Small theories of many kinds, and random theories."""

import random
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import z3

from smtlayer.theory import Theory, one_hot


def xor() -> Theory:
    """One output, the exclusive or of two inputs."""
    a, b, y = z3.Bools("a b y")
    return Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y])


def addition(bits: int = 2) -> Theory:
    """The sum of two numbers, one bit wider."""
    a, b = z3.BitVecs("a b", bits)
    total = z3.BitVec("total", bits + 1)
    return Theory(total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b), inputs=[a, b], outputs=[total])


def unique_labels() -> Theory:
    """Outputs that determine the inputs: three bits, rotated and inverted."""
    a, y = z3.BitVecs("a y", 3)
    return Theory(y == ~z3.RotateLeft(a, 1), inputs=[a], outputs=[y])


@cache  # z3 refuses to declare a sort twice
def colours() -> Theory:
    """A one-hot enumeration as input and output."""
    sort, (red, green, blue) = z3.EnumSort("Colour", ["red", "green", "blue"])
    mine, yours = z3.Consts("mine yours", sort)
    rule = z3.And(mine != yours, z3.Implies(mine == red, yours == blue))
    values = [red, green, blue]
    return Theory(rule, inputs=[one_hot(mine, values)], outputs=[one_hot(yours, values)])


def integers() -> Theory:
    """Unbounded integers between Boolean inputs and outputs."""
    x, y = z3.Ints("x y")
    a, b, big = z3.Bools("a b big")
    rules = [x == z3.If(a, 3, 5), y == z3.If(b, 2 * x, x - 1), big == (x + y > 10)]
    return Theory(rules, inputs=[a, b], outputs=[big])


def reals() -> Theory:
    """Real arithmetic; some inputs have no model."""
    x, y = z3.Reals("x y")
    a, b, above = z3.Bools("a b above")
    rules = [z3.Implies(a, x > y), z3.Implies(b, x + y < 1), x * 2 > 1]
    rules += [above == (y > 0), a == (y >= 0)]
    return Theory(rules, inputs=[a, b], outputs=[above])


def strings() -> Theory:
    """String length and concatenation, with a one-hot output."""
    word = z3.String("word")
    a, b = z3.Bools("a b")
    text = z3.Concat(z3.If(a, z3.StringVal("no"), z3.StringVal("yes")), z3.If(b, "w", ""))
    rules = [word == text, z3.Length(word) < 4]
    return Theory(rules, inputs=[a, b], outputs=[one_hot(word, ["no", "now", "yes"])])


def arrays() -> Theory:
    """An array that is written at one index and read at another."""
    memory = z3.Array("memory", z3.IntSort(), z3.IntSort())
    i, j = z3.Ints("i j")
    same, seen = z3.Bools("same seen")
    rules = [same == (i == j), memory[j] == 0, seen == (z3.Store(memory, i, 7)[j] == 7)]
    return Theory(rules, inputs=[same], outputs=[seen])


@cache
def datatypes() -> Theory:
    """A recursive data type: the length of a list, up to two."""
    declared: Any = z3.Datatype("Chain")
    declared.declare("nil")
    declared.declare("cons", ("head", z3.IntSort()), ("tail", declared))
    sort = declared.create()
    items = z3.Const("items", sort)
    empty, single = z3.Bools("empty single")
    last = z3.And(sort.is_cons(items), sort.tail(items) == sort.nil)
    rules = [empty == (items == sort.nil), single == last]
    return Theory(rules, inputs=[empty], outputs=[single])


def functions() -> Theory:
    """An uninterpreted function applied twice; equal arguments give equal results."""
    sort = z3.DeclareSort("Thing")
    f = z3.Function("f", sort, sort)
    x, y = z3.Consts("x y", sort)
    same, images = z3.Bools("same images")
    rules = [same == (x == y), images == (f(f(x)) == f(f(y)))]
    return Theory(rules, inputs=[same], outputs=[images])


def quantified() -> Theory:
    """A quantified formula: is a number the largest below a bound?"""
    x, k = z3.Ints("x k")
    a, largest = z3.Bools("a largest")
    rule = z3.ForAll([k], z3.Implies(k < 10, k <= x))
    return Theory([x == z3.If(a, 9, 8), largest == rule], inputs=[a], outputs=[largest])


def free_outputs() -> Theory:
    """Outputs that the inputs do not determine, and inputs without a model."""
    a, b, c, y, z = z3.Bools("a b c y z")
    rules = [z3.AtMost(a, b, c, 2), z3.Or(y, z), z3.Implies(a, z3.Not(z))]
    return Theory(rules, inputs=[a, b, c], outputs=[y, z])


def unconstrained() -> Theory:
    """Symbols that occur in no constraint, among the inputs and the outputs."""
    a, free, y, idle = z3.Bools("a free y idle")
    spare = z3.BitVec("spare", 2)
    return Theory(y == a, inputs=[a, free], outputs=[y, idle, spare])


def mixed_inputs() -> Theory:
    """One-hot symbols of two sizes, a Boolean and bits as inputs; an input is also an output."""
    size, shade = z3.Ints("size shade")
    heavy, bits = z3.Bool("heavy"), z3.BitVec("bits", 2)
    rules = [z3.Implies(heavy, size > 1), z3.Implies(shade == 0, bits == 1), size + shade < 4]
    inputs = [one_hot(size, [1, 2, 3]), heavy, bits, one_hot(shade, [0, 1])]
    return Theory(rules, inputs=inputs, outputs=[one_hot(shade, [0, 1])])


THEORIES: Mapping[str, Callable[[], Theory]] = {
    builder.__name__: builder
    for builder in (
        xor, addition, unique_labels, colours, integers, reals, strings, arrays, datatypes,
        functions, quantified, free_outputs, unconstrained, mixed_inputs,
    )
}  # fmt: skip
"""Functions that build the named theories."""


def random_theory(seed: int) -> Theory:
    """A satisfiable theory with up to 4 inputs and 3 outputs, chosen by the seed.

    It has clauses, definitions of outputs, a sum, and symbols that are neither input nor output.

    Examples:
        >>> random_theory(3) == random_theory(3)
        True
    """
    draw = random.Random(seed)
    inputs = [z3.Bool(f"x{i}") for i in range(draw.randint(1, 4))]
    outputs = [z3.Bool(f"y{i}") for i in range(draw.randint(1, 3))]
    hidden = z3.Bools("h0 h1")
    symbols = [*inputs, *outputs, *hidden]
    truth = {symbol: draw.random() < 0.5 for symbol in symbols}
    constraints = [_true_clause(draw, symbols, truth) for _ in range(draw.randint(1, 5))]
    for output in outputs:  # which may stay undetermined
        others = draw.sample([*inputs, *hidden], k=min(2, len(inputs) + 2))
        definition = draw.choice([z3.Xor, z3.And, z3.Or])(*others)
        strict = draw.random() < 0.6
        constraints.append(output == definition if strict else z3.Implies(output, definition))
    count = z3.Sum([z3.If(x, 1, 0) for x in inputs])
    limit = draw.randint(1, len(inputs))
    constraints.append(z3.Or(count <= limit, hidden[0]))
    return Theory(constraints, inputs=inputs, outputs=outputs)


def _true_clause(draw: random.Random, symbols: list[Any], truth: Mapping[Any, bool]) -> Any:
    """A random clause that is true under an assignment."""
    members = draw.sample(symbols, k=draw.randint(2, 3))
    literals = [x if draw.random() < 0.5 else z3.Not(x) for x in members]
    literals[0] = members[0] if truth[members[0]] else z3.Not(members[0])
    return z3.Or(*literals)
