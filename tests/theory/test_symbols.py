"""Symbols convert values to signs and back, one at a time and in arrays."""

import copy
import math
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from smtlayer import Theory, TheoryError, one_hot
from smtlayer.theory import OneHot, to_signs

tried = settings(deadline=None, max_examples=50)
y = z3.Bool("y")


def over(*requests):
    """A theory with these inputs, which are its outputs too."""
    symbols = [r.symbol if isinstance(r, OneHot) else r for r in requests]
    return Theory([symbol == symbol for symbol in symbols], requests, requests)


@cache
def addition():
    a, b = z3.BitVecs("a b", 4)
    total = z3.BitVec("total", 5)
    return Theory(total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b), inputs=[a, b], outputs=[total])


@cache
def bits(width):
    return over(z3.BitVec("v", width))


@cache
def planets():
    return z3.EnumSort("Planet", ["mars", "venus", "earth", "saturn"])


def widths_and_values(most):
    return st.integers(1, most).flatmap(
        lambda width: st.tuples(st.just(width), st.lists(st.integers(0, 2**width - 1)))
    )


@tried
@given(widths_and_values(70))
def test_bit_vectors_of_any_width_come_back_from_their_signs(case):
    width, values = case
    theory = bits(width)
    signs = theory.encode(v=np.array(values, dtype=object))
    assert signs.shape == (len(values), width)
    assert signs.dtype == torch.int8
    assert theory.decode(signs)["v"].tolist() == values
    for value, row in zip(values, signs, strict=True):
        assert "".join("1" if sign > 0 else "0" for sign in row) == f"{value:0{width}b}"
        assert theory.decode(row) == {"v": value}
        assert torch.equal(theory.encode(v=value), row)


@tried
@given(widths_and_values(63))
def test_plain_integer_arrays_encode_like_python_integers(case):
    width, values = case
    expected = bits(width).encode(v=np.array(values, dtype=object))
    assert torch.equal(bits(width).encode(v=np.array(values, dtype=np.int64)), expected)
    assert torch.equal(bits(width).encode(v=np.array(values, dtype=np.uint64)), expected)
    assert torch.equal(bits(width).encode(v=torch.tensor(values, dtype=torch.int64)), expected)


# The end of z3's alphabet; and numpy takes the null character for the end of a string.
CHARACTERS = st.characters(min_codepoint=1, max_codepoint=0x2FFFF)
ONE_HOT = {
    "int": (lambda: z3.Int("s"), st.integers(-(2**80), 2**80)),
    "bit-vector": (lambda: z3.BitVec("s", 8), st.integers(0, 255)),
    "real": (lambda: z3.Real("s"), st.fractions() | st.integers()),
    "string": (lambda: z3.String("s"), st.text(CHARACTERS)),
    "enumeration": (
        lambda: z3.Const("s", planets()[0]),
        st.sampled_from(["mars", "venus", "earth", "saturn"]),
    ),
}


@pytest.mark.parametrize("kind", ONE_HOT)
@tried
@given(data=st.data())
def test_one_hot_values_come_back_from_their_signs(kind, data):
    make, strategy = ONE_HOT[kind]
    values = data.draw(st.lists(strategy, min_size=2, max_size=4, unique=True))
    theory = over(one_hot(make(), values))
    for i, value in enumerate(values):
        signs = theory.encode(s=value)
        assert signs.tolist() == [1 if j == i else -1 for j in range(len(values))]
        assert theory.decode(signs) == {"s": value}
    column = np.empty(len(values), dtype=object)
    column[:] = values
    assert theory.decode(theory.encode(s=column))["s"].tolist() == values


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, np.float16, np.float64, object])
def test_one_hot_arrays_encode_like_their_values_one_by_one(dtype):
    theory = over(one_hot(z3.Int("x"), [9, 2, 5]))
    rows = np.array([[5, 2, 2, 9], [9, 9, 5, 5]], dtype=dtype)
    expected = [[theory.encode(x=int(value)).tolist() for value in row] for row in rows]
    assert theory.encode(x=rows).tolist() == expected
    rows[1, 0], rows[1, 2] = 7, 3  # the first that does not fit is named, not the least
    with pytest.raises(TheoryError, match=r"'x' takes one of \(9, 2, 5\)\. Got 7"):
        theory.encode(x=rows)


def test_decoded_numbers_of_one_row_are_python_values():
    x, v = z3.Int("x"), z3.BitVec("v", 3)
    values = over(y, v, one_hot(x, [4, 5])).decode(torch.tensor([1, -1, 1, -1, -1, 1]))
    assert values == {"y": True, "v": 2, "x": 5}
    assert [type(value) for value in values.values()] == [bool, int, int]


def test_decoded_batches_are_arrays_of_the_natural_type():
    x, v, s = z3.Int("x"), z3.BitVec("v", 3), z3.String("s")
    theory = over(y, v, one_hot(x, [4, 5]), one_hot(s, ["a", "b"]))
    rows = theory.encode(y=[True, False], v=[7, 0], x=[4, 5], s=["b", "a"])
    values = theory.decode(rows)
    assert [values[name].dtype for name in "yvxs"] == [bool, np.int64, np.int64, object]
    assert values["s"].tolist() == ["b", "a"]


def test_z3_values_encode_like_python_ones():
    x, v, s, r = z3.Int("x"), z3.BitVec("v", 3), z3.String("s"), z3.Real("r")
    planet = z3.Const("planet", planets()[0])
    theory = over(
        y, v, one_hot(x, [4, 5]), one_hot(s, ["a", "b"]), one_hot(r, [1, 2]),
        one_hot(planet, ["mars", "venus"]),
    )  # fmt: skip
    python = theory.encode(y=True, v=6, x=5, s="b", r=2, planet="mars")
    given = theory.encode(
        y=z3.BoolVal(True), v=z3.BitVecVal(6, 3), x=z3.IntVal(5), s=z3.StringVal("b"),
        r=z3.RealVal(2), planet=planets()[1][0],
    )  # fmt: skip
    assert torch.equal(given, python)
    assert (python != 0).all()


def test_a_decimal_number_is_what_it_says():
    theory = over(one_hot(z3.Real("r"), [0.1, "1/3", 2]))
    assert theory.decode(theory.encode(r=0.1)) == {"r": Fraction(1, 10)}
    assert theory.decode(theory.encode(r=[Fraction(1, 3), 2]))["r"].tolist() == [Fraction(1, 3), 2]


def test_a_backslash_in_a_string_is_a_backslash():
    values = ["\\u{41}", "A", "\\", "\\u0041", '"']
    theory = over(one_hot(z3.String("s"), values))
    assert theory.input_names == tuple(f"s={value}" for value in values)
    assert theory.decode(theory.encode(s=values))["s"].tolist() == values


def test_whole_floats_are_whole_numbers():
    assert torch.equal(addition().encode(a=3.0, b=4), addition().encode(a=3, b=4))
    floats = torch.tensor([3.0, 15.0])
    assert torch.equal(addition().encode(a=floats), addition().encode(a=[3, 15]))


def test_zeros_and_ones_are_truth_values():
    theory = over(y)
    for values in ([0, 1], [False, True], torch.tensor([0.0, 1.0]), np.array([0, 1], np.uint8)):
        assert theory.encode(y=values).tolist() == [[-1], [1]]


def test_names_that_are_not_given_are_free():
    assert addition().encode(b=1).tolist() == [0, 0, 0, 0, -1, -1, -1, 1]
    assert addition().encode().tolist() == [0] * 8


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        (3, [1, 2], (2,)),
        ([[1], [2]], [3, 4, 5], (2, 3)),
        (np.arange(6).reshape(2, 3), 7, (2, 3)),
        (torch.arange(4), torch.arange(4).reshape(4, 1), (4, 4)),
        ([], 1, (0,)),
    ],
)
def test_arrays_of_values_broadcast(a, b, shape):
    signs = addition().encode(a=a, b=b)
    assert signs.shape == (*shape, 8)
    values = addition().decode_inputs(signs)
    np.testing.assert_array_equal(values["a"], np.broadcast_to(np.asarray(a), shape))
    np.testing.assert_array_equal(values["b"], np.broadcast_to(np.asarray(b), shape))


def test_outputs_encode_by_their_own_names():
    assert addition().encode_outputs(total=[19, 0]).tolist() == [[1, -1, -1, 1, 1], [-1] * 5]
    assert addition().encode_outputs().tolist() == [0] * 5


def test_a_row_without_a_model_decodes_to_none():
    x, w, s = z3.Int("x"), z3.BitVec("w", 70), z3.String("s")
    requests = [y, z3.BitVec("v", 3), w, one_hot(x, [4, 5]), one_hot(s, ["a", "b"])]
    theory = over(*requests)
    nothing = torch.zeros(theory.n_outputs)
    assert theory.decode(nothing) == dict.fromkeys(["y", "v", "w", "x", "s"])
    something = theory.encode(y=True, v=1, w=2**69, x=4, s="b")
    values = theory.decode(torch.stack([something.float(), nothing]))
    assert {name: array.tolist() for name, array in values.items()} == {
        "y": [True, None], "v": [1, None], "w": [2**69, None], "x": [4, None], "s": ["b", None],
    }  # fmt: skip
    assert all(array.dtype == object for array in values.values())


def test_a_partly_known_number_decodes_to_none_alone():
    signs = addition().encode(a=3, b=5)
    signs[1] = 0
    assert addition().decode_inputs(signs) == {"a": None, "b": 5}


@pytest.mark.parametrize("signs", [[-1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 0], [0, 0, 0]])
def test_what_is_not_one_hot_decodes_to_none(signs):
    theory = over(one_hot(z3.Int("x"), [4, 5, 6]), y)
    assert theory.decode_inputs(torch.tensor([*signs, 1])) == {"x": None, "y": True}


def test_any_leading_shape_decodes():
    rows = addition().encode_outputs(total=np.arange(24).reshape(2, 3, 4))
    assert addition().decode(rows)["total"].tolist() == np.arange(24).reshape(2, 3, 4).tolist()
    assert addition().decode(torch.zeros(0, 5))["total"].shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8])
def test_logits_of_any_type_decode_by_their_sign(dtype):
    logits = torch.tensor([[3, -2, 7, -1, 5]]).to(dtype)
    assert addition().decode(logits)["total"].tolist() == [0b10101]


def test_the_smallest_logit_still_has_a_sign():
    logits = torch.tensor([1e-300, -1e-300], dtype=torch.float64, requires_grad=True)
    assert over(y, z3.Bool("z")).decode_inputs(logits) == {"y": True, "z": False}


def test_to_signs_takes_zero_for_false_and_unknown_for_free():
    logits = torch.tensor([[2.0, 0.0, -1.0, 5.0]])
    known = torch.tensor([[True, True, True, False]])
    assert to_signs(logits).tolist() == [[1, -1, -1, 1]]
    assert to_signs(logits, known).tolist() == [[1, -1, -1, 0]]
    assert to_signs(logits, known).dtype == torch.int8


def test_floating_point_values_are_floats():
    x, a = z3.FP("x", z3.Float32()), z3.Bool("a")
    theory = Theory(a == (x > 1.0), inputs=[one_hot(x, [0.5, 1.5])], outputs=[a])
    assert theory.encode(x=[1.5, 0.5]).tolist() == [[-1, 1], [1, -1]]
    assert theory.decode_inputs(torch.tensor([1, -1])) == {"x": 0.5}
    assert theory.input_names == ("x=0.5", "x=1.5")


FLOATS = """
(declare-const x (_ FloatingPoint 8 24)) (declare-const a Bool)
(assert (= a (fp.gt x ((_ to_fp 8 24) RNE 1.0))))
"""


def test_floating_point_values_are_the_same_in_every_context():
    values = [0.1, 1.5, math.inf, -math.inf, math.nan]
    theory = Theory.from_smtlib(FLOATS, inputs=[one_hot("x", values)], outputs=["a"])
    near = float(np.float32(0.1))
    names = (f"x={near}", "x=1.5", "x=inf", "x=-inf", "x=NaN")
    for other in (theory, copy.deepcopy(theory), pickle.loads(pickle.dumps(theory))):
        assert other.input_names == names
        assert other.encode(x=values).equal(2 * torch.eye(5, dtype=torch.int8) - 1)
        assert other.decode_inputs(other.encode(x=values[:4]))["x"].tolist() == [near, *values[1:4]]


def test_lists_are_taken_as_they_are_written():
    wide = bits(64)
    numbers = [1, 2**63 + 1, 2**64 - 1]
    assert wide.decode_inputs(wide.encode(v=numbers))["v"].tolist() == numbers
    x, s = z3.Int("x"), z3.String("s")
    far = over(one_hot(x, [2**63 + 1, 2**63, 1]))
    assert far.encode(x=[1, 2**63 + 1]).tolist() == [[-1, -1, 1], [1, -1, -1]]
    with pytest.raises(TheoryError, match=r"'s' takes one of \('1', 'a'\). Got 1\."):
        over(one_hot(s, ["1", "a"])).encode(s=[1, "a"])
    with pytest.raises(TheoryError, match=r"'x' takes one of .*Got \{1: 2\}\."):
        far.encode(x={1: 2})


def test_no_rows_encode_to_no_rows():
    assert over(one_hot(z3.Int("x"), range(3))).encode(x=[]).shape == (0, 3)
    assert bits(4).encode(v=[]).shape == (0, 4)
    assert over(y).encode(y=np.zeros((2, 0), dtype=bool)).shape == (2, 0, 1)


def test_tensors_of_any_type_and_lists_of_z3_values_encode():
    assert bits(4).encode(v=torch.tensor([1.0], dtype=torch.bfloat16)).tolist() == [[-1, -1, -1, 1]]
    assert bits(4).encode(v=[z3.BitVecVal(3, 4), 1]).tolist() == [[-1, -1, 1, 1], [-1, -1, -1, 1]]
    assert over(y).encode(y=[z3.BoolVal(True), False]).tolist() == [[1], [-1]]
    with pytest.raises(TheoryError, match="expects one value for 'v', or an array of them"):
        bits(4).encode(v=torch.ones(2, device="meta"))


def test_truth_values_decode_as_signs():
    assert addition().decode(torch.tensor([True, False, False, True, True])) == {"total": 19}
    assert addition().decode(np.ones(5, dtype=np.uint64)) == {"total": 31}
    with pytest.raises(TypeError, match=r"of signs.* Got a Tensor of torch.complex64 on cpu"):
        addition().decode(torch.ones(5, dtype=torch.complex64))


def test_values_that_are_deep_inside_differ():
    chain = z3.Datatype("NumbersInARow")
    chain.declare("end")
    chain.declare("link", ("number", z3.IntSort()), ("rest", chain))
    chain = chain.create()

    def of(numbers):
        term = chain.end
        for number in numbers:
            term = chain.link(number, term)
        return term

    long, other = of(range(40)), of([7, *range(1, 40)])
    theory = over(one_hot(z3.Const("c", chain), [long, other, chain.end]))
    assert theory.encode(c=[other]).tolist() == [[-1, 1, -1]]
    assert len(set(copy.deepcopy(theory).input_names)) == 3


def test_one_value_written_in_two_ways_is_refused():
    zeros = z3.K(z3.IntSort(), 0)
    one, same = z3.Store(z3.Store(zeros, 0, 2), 3, 5), z3.Store(z3.Store(zeros, 3, 5), 0, 2)
    table = z3.Array("table", z3.IntSort(), z3.IntSort())
    with pytest.raises(TheoryError, match="of symbol 'table' may be equal"):
        over(one_hot(table, [one, same]))
    assert over(one_hot(table, [one, zeros])).n_inputs == 2


def test_values_of_one_hot_may_come_from_tensors_but_not_from_another_context():
    x = z3.Int("x")
    assert over(one_hot(x, torch.arange(2))).input_names == ("x=0", "x=1")
    with pytest.raises(TheoryError, match=r"1 belongs to another z3 context than .x.\. Move it"):
        over(one_hot(x, [z3.IntVal(1, z3.Context()), 2]))


def test_decoding_something_else_than_signs_says_what_to_pass():
    theory = Theory(z3.Bool("b") == z3.Bool("a"), inputs=[z3.Bool("a")], outputs=[z3.Bool("b")])
    with pytest.raises(TypeError, match=r"such as layer\(logits\) or .*outputs. Got object"):
        theory.decode(object())


def test_encoding_and_decoding_ask_z3_nothing(monkeypatch):
    # Then threads may share a theory: z3 answers one thread at a time.
    x, r = z3.Int("x"), z3.Real("r")
    b, p = z3.BitVec("b", 3), z3.Bool("p")
    theory = Theory(
        [r * 2 == x, p == (b > 1)], [one_hot(x, range(3)), b], [one_hot(r, [0, 0.5, 1]), p]
    )
    given, wanted = {"x": [0, 2], "b": [5, 1]}, {"r": [0.5, 1.0], "p": [True, False]}
    first = theory.encode(**given), theory.encode_outputs(**wanted)
    for name in dir(z3.z3core):
        if name.startswith("Z3_") and name not in {"Z3_inc_ref", "Z3_dec_ref"}:
            for module in (z3.z3, z3.z3core):
                monkeypatch.setattr(module, name, _refuse, raising=False)
    again = theory.encode(**given), theory.encode_outputs(**wanted)
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
    decoded = theory.decode(again[1])
    assert decoded["r"].tolist() == [Fraction(1, 2), 1]
    with pytest.raises(TheoryError, match="symbol 'b' has 3 bits"):
        theory.encode(b=9)
    with pytest.raises(TheoryError, match="symbol 'x' takes one of"):
        theory.encode(x=9)


def _refuse(*_):
    raise AssertionError("z3 was asked")
