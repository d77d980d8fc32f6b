"""The symbols of a theory: names, kinds, columns, values."""

import numpy as np
import pytest
import z3

from smtlayer import Theory, one_hot


def over(*requests):
    """A theory with these inputs, which are its outputs too, and no constraint of consequence."""
    p = z3.Bool("p")
    return Theory(z3.Or(p, z3.Not(p)), requests, requests)


def test_symbols_have_columns_and_values():
    p, v, x = z3.Bool("p"), z3.BitVec("v", 3), z3.Int("x")
    theory = over(v, one_hot(x, [4, 7]), p)
    symbols = theory.input_symbols
    assert [s.name for s in symbols] == ["v", "x", "p"]
    assert [s.kind for s in symbols] == ["bits", "one-hot", "bool"]
    assert [s.columns for s in symbols] == [slice(0, 3), slice(3, 5), slice(5, 6)]
    assert [list(s.values) for s in symbols] == [[*range(8)], [4, 7], [False, True]]
    assert [s.domain is None for s in symbols] == [True, False, True]
    for symbol in symbols:
        assert symbol.column_names == theory.input_names[symbol.columns]
        assert symbol.column_terms == theory.inputs[symbol.columns]
        signs = theory.encode(**{symbol.name: symbol.values})[:, symbol.columns]
        assert np.array_equal(symbol.encode(symbol.values), signs)
        assert symbol.decode(signs).tolist() == list(symbol.values)
        assert [symbol.value(row) for row in signs.tolist()] == list(symbol.values)
        assert symbol.value([0] * symbol.width) is None
    assert theory.symbols == theory.input_symbols + theory.output_symbols
    assert repr(symbols[1]) == "OneHotSymbol('x', columns=slice(3, 5, None))"


def test_symbols_of_a_theory_are_inputs_and_outputs_of_another():
    p, v, x = z3.Bool("p"), z3.BitVec("v", 3), z3.Int("x")
    first = over(v, one_hot(x, [4, 7]), p)
    again = Theory(first.constraints, first.input_symbols[1:], first.output_symbols)
    assert again == Theory(first.constraints, [one_hot(x, [4, 7]), p], [v, one_hot(x, [4, 7]), p])
    assert [s.columns for s in again.input_symbols] == [slice(0, 2), slice(2, 3)]
    with pytest.raises(TypeError, match="must be a sequence, such as"):
        Theory(first.constraints, first.input_symbols[0], [v])


@pytest.mark.parametrize("signs", [[1, 1], [[1], [1]], 1])
def test_a_symbol_decodes_signs_for_all_of_its_columns(signs):
    symbol = over(z3.BitVec("v", 3)).input_symbols[0]
    with pytest.raises(ValueError, match=r"Symbol 'v' expects signs of shape \(\.\.\., 3\)"):
        symbol.decode(signs)
