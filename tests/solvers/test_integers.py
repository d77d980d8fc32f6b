"""Integers as bit-vectors: the same models, or an error with its reason."""

import itertools
import operator

import pytest
import z3

from helpers import seeds
from smtlayer import Theory, one_hot
from smtlayer.errors import NotFiniteError
from smtlayer.solvers.clauses.bounds import read_nodes
from smtlayer.solvers.clauses.integers import bounded_integers
from solvers.integer_terms import Draw, euclid

x, y, z, w = z3.Ints("x y z w")
a, b, c = z3.Bools("a b c")
v = z3.BitVec("v", 4)
BITS = [z3.Bool(f"bit{i}") for i in range(4)]


def models(formulas, columns):
    """The values of the columns in all models, as z3 finds them."""
    solver, found = z3.SimpleSolver(), set()
    solver.add(*formulas)
    while solver.check() == z3.sat:
        model = solver.model()
        values = [model.eval(column, model_completion=True) for column in columns]
        assert str(values) not in found
        found.add(str(values))
        pairs = zip(columns, values, strict=True)
        solver.add(z3.Or([column != value for column, value in pairs]))
    assert solver.check() == z3.unsat
    return found


def is_int_free(formulas):
    nodes, _ = read_nodes(formulas)
    return not any(node.numeric for node in nodes)


def same(formulas, columns):
    """Checks that both forms have the same models, and gives them."""
    bits = bounded_integers(formulas)
    assert is_int_free(bits)
    expected = models(formulas, columns)
    assert models(bits, columns) == expected
    return expected


@pytest.mark.parametrize("seed", seeds(40, 150))
def test_random_theories_keep_their_models(seed):
    draw = Draw(seed)
    parts = [draw.truth(3) for _ in BITS]
    extra = draw.truth(2)
    facts = [*draw.facts(), *(bit == part for bit, (part, _) in zip(BITS, parts, strict=True))]
    rule = z3.Or(extra[0], draw.symbols[0] == draw.domains[0][0])
    expected = set()
    for values in itertools.product(*draw.domains):
        if extra[1](*values) or values[0] == draw.domains[0][0]:
            expected.add(str([bool(part(*values)) for _, part in parts]))
    bits = bounded_integers([rule, *facts])
    assert is_int_free(bits)
    assert models(bits, BITS) == expected


def test_formulas_without_integers_come_back_as_they_are():
    real = z3.Real("real")
    formulas = [a == z3.Xor(b, c), v + 1 == 3, real > 2, z3.Exists([b], z3.Xor(b, c))]
    assert all(map(operator.is_, bounded_integers(formulas), formulas))
    mixed = bounded_integers([*formulas, x == z3.If(a, 3, 5)])
    assert all(one.eq(other) for one, other in zip(mixed, formulas, strict=False))


def test_one_hot_columns_keep_their_models():
    theory = Theory(
        [x + 2 * y == z, x != y],
        inputs=[one_hot(x, [-2, 0, 5]), one_hot(y, [1, 3])],
        outputs=[one_hot(z, range(-8, 12))],
    )
    columns = [*theory.inputs, *theory.outputs]
    literals = [z3.FreshBool() for _ in columns]
    links = [literal == column for literal, column in zip(literals, columns, strict=True)]
    assert len(same([*theory.formulas, *links], literals)) == 6


@pytest.mark.parametrize("edge", [3, 4, 7, 8, 127, 128, 255, 256])
def test_nothing_overflows_at_powers_of_two(edge):
    def sign(term):
        return [bit == (term == k * edge) for bit, k in zip(BITS, (-2, -1, 1, 2), strict=True)]

    limits = [x >= -edge, x <= edge, y >= -edge, y <= edge, z3.Or(x == edge, x == -edge)]
    extremes = [*limits, z3.Or(y == edge, y == -edge)]
    assert len(same([*extremes, *sign(x + y)], BITS)) == 3
    assert len(same([*extremes, *sign(x - y)], BITS)) == 3
    assert len(same([*extremes, *sign(-x)], BITS)) == 2
    assert len(same([*extremes, a == (x * y > 0), b == (x * y == edge * edge)], [a, b])) == 2
    assert len(same([*limits, a == (x + y == 2 * edge)], [a])) == 2


@pytest.mark.parametrize("divisor", [-8, -3, -1, 1, 2, 3, 4, 7, 100])
@pytest.mark.parametrize(
    "low", [*(pytest.param(low, marks=pytest.mark.slow) for low in (-9, 0)), -4, 3]
)
def test_division_leaves_a_remainder_that_is_never_negative(low, divisor):
    number, quotient, rest = z3.BitVecs("number quotient rest", 8)
    formulas = [
        x >= low,
        x <= low + 8,
        number == z3.Int2BV(x, 8),
        quotient == z3.Int2BV(x / divisor, 8),
        rest == z3.Int2BV(x % divisor, 8),
    ]
    expected = {
        str([k % 256, euclid(k, divisor) % 256, k % abs(divisor)]) for k in range(low, low + 9)
    }
    assert same(formulas, [number, quotient, rest]) == expected


def test_bits_become_integers_and_integers_bits():
    wide, narrow = z3.BitVec("wide", 6), z3.BitVec("narrow", 2)
    back = [x == z3.BV2Int(v) - 9, wide == z3.Int2BV(x, 6), narrow == z3.Int2BV(x, 2)]
    expected = {str([k, (k - 9) % 64, (k - 9) % 4]) for k in range(16)}
    assert same(back, [v, wide, narrow]) == expected
    signed = [a == (z3.BV2Int(v, is_signed=True) < -6), b == (z3.BV2Int(v) == z3.BV2Int(v + 1) - 1)]
    assert len(same(signed, [v, a, b])) == 16


def test_what_only_smtlib_can_say_is_read_too():
    text = """
        (declare-const x Int) (declare-const v (_ BitVec 4))
        (declare-const a Bool) (declare-const b Bool)
        (assert (<= (- 3) x 4)) (assert (= a (< (abs x) 3)))
        (assert (= b (= (sbv_to_int v) (* (- 2) x))))
    """
    assert len(same(list(z3.parse_smt2_string(text)), [a, b, v])) == 40
    squares = [x**2 + y**3 == 17, x > 0, y > 0, a == (x == 3), b == (y == 1)]
    assert same(squares, [a, b]) == {str([True, False]), str([False, True])}


def test_distinct_symbols_stay_distinct_symbols_of_one_width():
    limits = [x >= 1, x <= 2, y >= 0, y <= 9, z >= -1, z <= 1]
    (first, *_) = bounded_integers([z3.Distinct(x, y, z), *limits])
    assert z3.is_distinct(first)
    assert all(z3.is_const(child) for child in first.children())
    assert {child.size() for child in first.children()} == {5}
    wide = z3.Distinct(x, y, 30 * z)
    (first, *_) = bounded_integers([wide, *limits])
    assert {child.size() for child in first.children()} == {6}
    assert len(same([wide, *limits, a == (x > y), b == (y + z > 3)], [a, b])) == 3


def test_an_equation_with_a_number_stays_one():
    (first, *_) = bounded_integers([z3.Or(x == 3, x == -7), x <= 3])
    for equation in first.children():
        value, symbol = sorted(equation.children(), key=lambda side: not z3.is_bv_value(side))
        assert z3.is_bv_value(value)
        assert symbol.decl().kind() == z3.Z3_OP_UNINTERPRETED
        assert symbol.size() == value.size() == 4


def test_bounds_that_chains_and_products_prove_are_enough():
    chain = z3.Ints([f"k{i}" for i in range(20)])
    steps = [one == other + 1 for one, other in itertools.pairwise(chain)]
    assert len(same([*steps, chain[7] >= 0, chain[3] <= 5, a == (chain[0] == 8)], [a])) == 2
    algebra = [10 * x + y == z * w + 5, y >= 0, y <= 9, z > 0, z <= 9, w > 0, w <= 9]
    assert len(same([*algebra, a == (x > 7), b == (x * y == 48)], [a, b])) == 3


@pytest.mark.parametrize("formulas", [[x > 3, x < 3], [x == 2, z3.Or(x > 5, x == y), y == 1]])
def test_contradictions_have_no_model(formulas):
    (answer,) = bounded_integers([a, *formulas])
    assert z3.is_false(answer)


def test_deep_terms_are_no_trouble():
    bits = [z3.Bool(f"p{i}") for i in range(1200)]  # deeper than Python may recurse
    total, choice, rule, power = z3.IntVal(0), z3.IntVal(7), z3.BoolVal(True), x
    for bit in bits:
        total = total + z3.If(bit, 1, 0)
        choice = z3.If(bit, choice, x)
        rule = z3.Not(z3.And(rule, z3.Or(bit, x == 2)))
    for _ in range(40):
        power = power + power
    formulas = [
        z3.And(bits[1:]),
        z3.Or(x == 1, x == 2),
        z3.Or(rule, a),
        b == (total == len(bits)),
        c == (choice == 7),
        a == (power == 2**41),
    ]
    bits = bounded_integers(formulas)
    assert is_int_free(bits)
    expected = {str([True, True, True]), str([False, False, False])}
    assert models([*bits, b == c, a == c], [a, b, c]) <= expected


def refusals():
    f, p = (
        z3.Function("f", z3.IntSort(), z3.IntSort()),
        z3.Function("p", z3.IntSort(), z3.BoolSort()),
    )
    memory = z3.Array("memory", z3.IntSort(), z3.IntSort())
    k = z3.Int("k")
    return {
        "unbounded": (x > 3, r"^the integer 'x' has no bounds that could be proved$"),
        "bounded if": (z3.Implies(a, z3.And(x > 3, x < 5)), "the integer 'x' has no bounds"),
        "function": (f(3) == 2, r"^'f\(3\)' does not come down to bits$"),
        "predicate": (p(3), r"^'p\(3\)' does not come down to bits$"),
        "array": (memory[2] == 0, r"^'memory\[2\]' does not come down to bits$"),
        "quantifier": (z3.Exists([k], z3.And(k > 0, a)), r"^'Exists.* does not come down"),
        "integer in a quantifier": (z3.Exists([b], z3.Xor(b, w > 3)), r"^'Exists.* come down"),
        "real": (z3.ToReal(w) < z3.Real("r"), r"^'ToReal\(w\)' does not come down to bits$"),
        "length": (z3.Length(z3.String("word")) < 3, r"^'Length\(word\)' does not come down"),
        "division": (w / z == 1, r"^'w/z' does not come down to bits$"),
        "division by zero": (w % 0 == 1, r"^'w%0' does not come down to bits$"),
        "wide": (w * w * 2**60 > 3, r"^'w\*w\*1152.*' needs more than 64 bits$"),
        "very wide": (w < 2**100, r"' needs more than 64 bits$"),
        "power": (w**100 > 3, r"^'w\*\*100' does not come down to bits$"),
    }  # fmt: skip


@pytest.mark.parametrize("name", refusals())
def test_what_has_no_bits_is_refused_with_its_reason(name):
    formula, reason = refusals()[name]
    limits = [w >= 0, w <= 9, z >= 1, z <= 3]
    with pytest.raises(NotFiniteError, match=reason):
        bounded_integers([a == formula if name != "unbounded" else formula, *limits])
