"""Probabilities of columns by symbol and value."""

import math

import numpy as np
import pytest
import torch

from smtlayer import SMTLayer, Table
from smtlayer.testing.theories import addition, colours, mixed_inputs


def test_each_symbol_and_each_bit_has_a_distribution():
    theory = mixed_inputs()
    probabilities = torch.tensor([0.2, 0.3, 0.5, 0.9, 0.1, 0.4, 0.25, 0.75], dtype=torch.float64)
    found = theory.decode_input_probabilities(probabilities)
    assert found.keys() == {"size", "heavy", "bits[1]", "bits[0]", "shade"}
    assert found["size"] == {1: 0.2, 2: 0.3, 3: 0.5}
    assert found["heavy"] == {False: pytest.approx(0.1), True: 0.9}
    assert found["bits[0]"] == {False: 0.6, True: 0.4}
    assert found["shade"] == {0: 0.25, 1: 0.75}


def test_several_rows_give_arrays():
    layer = SMTLayer(colours(), backend=Table())
    marginals = layer.marginals(torch.randn(2, 4, 3))
    found = layer.theory.decode_probabilities(marginals.outputs)["yours"]
    assert list(found) == ["red", "green", "blue"]
    assert all(isinstance(share, np.ndarray) and share.shape == (2, 4) for share in found.values())
    np.testing.assert_allclose(sum(found.values()), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([0.5, 0.5], ValueError, r"of outputs of shape \(\.\.\., 3\)\. Got \(2,\)\."),
        (0.5, ValueError, r"of shape \(\.\.\., 3\)\. Got \(\)\."),
        ([0.5, 1.5, 0.0], ValueError, r"from 0 to 1, such as layer\.marginals\(logits\)\.outputs\. "
         r"Got 1\.5\."),
        ([0.5, math.nan, 0.0], ValueError, r"Got nan\."),
        ([-1, 1, 1], ValueError, r"Got -1\."),
        ("half", TypeError, r"as a tensor, such as layer\.marginals\(logits\)\.outputs\. Got str"),
    ],
)  # fmt: skip
def test_what_is_no_probability_is_refused(given, error, message):
    with pytest.raises(error, match=r"^Theory\.decode_probabilities expects .*" + message):
        addition().decode_probabilities(given)
