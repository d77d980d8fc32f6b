"""Every error of the layer, by its text."""

import re

import pytest
import torch
import z3

from smtlayer import SMTLayer, SMTLayerError, Theory, UnsatisfiableTheoryError, one_hot
from smtlayer.testing.theories import addition, xor


def exactly(text):
    return f"^{re.escape(text)}$"


@pytest.fixture(scope="module")
def layer():
    p, q = z3.BitVecs("p q", 2)
    y = z3.BitVec("y", 2)
    return SMTLayer(Theory(y == p + q, inputs=[p, q], outputs=[y]))


@pytest.mark.parametrize("shape", [(3, 5), (3,), (), (2, 3), (4, 0), (2, 2, 5)])
def test_a_wrong_shape_is_reported_beside_the_right_one(layer, shape):
    message = (
        f"SMTLayer expects logits of shape (batch, 4), one column per theory input "
        f"({', '.join(layer.theory.input_names[:3])}, ...). Got {shape}."
    )
    for call in (layer, layer.solve):
        with pytest.raises(ValueError, match=exactly(message)):
            call(torch.zeros(shape))


def test_few_inputs_are_all_named():
    message = (
        "SMTLayer expects logits of shape (batch, 2), one column per theory input (a, b). "
        "Got (2, 3)."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        SMTLayer(xor())(torch.zeros(2, 3))


@pytest.mark.parametrize(
    ("given", "kind", "instead"),
    [
        (torch.zeros(2, 4, dtype=torch.int64), "torch.int64", "logits.float()"),
        (torch.zeros(2, 4, dtype=torch.bool), "torch.bool", "logits.float()"),
        (torch.zeros(2, 4, dtype=torch.complex64), "torch.complex64", "logits.real"),
        ([[0.0] * 4], "list", "torch.as_tensor(logits, dtype=torch.float32)"),
    ],
)
def test_logits_are_floats(layer, given, kind, instead):
    message = (
        f"SMTLayer expects logits as a floating-point tensor. Got {kind}. Call layer({instead})."
    )
    with pytest.raises(TypeError, match=exactly(message)):
        layer(given)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_logits_that_are_not_finite_are_reported_by_row_and_column(layer, bad, dtype):
    logits = torch.zeros(5, 4, dtype=dtype)
    logits[3, 2] = logits[4, 0] = float(bad)
    message = (
        f"SMTLayer expects finite logits. Row 3, column 2 ({layer.theory.input_names[2]}) is "
        f"{bad}. Look for a diverging loss, or clip gradients"
        f"{'' if bad == 'nan' else '; only a fact (given) may be infinite'}."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        layer(logits)
    layer(logits, logits.isfinite())  # where they are not known they do not matter


@pytest.mark.parametrize(
    ("known", "kind"),
    [(torch.ones(2, 4), "torch.float32"), (torch.ones(2, 4).int(), "torch.int32"), (True, "bool")],
)
def test_known_is_a_mask(layer, known, kind):
    message = f"SMTLayer expects known as a bool tensor. Got {kind}."
    with pytest.raises(TypeError, match=exactly(message)):
        layer(torch.zeros(2, 4), known)


@pytest.mark.parametrize("shape", [(3,), (3, 4), (1, 2, 4)])
def test_known_broadcasts_to_the_logits(layer, shape):
    message = f"SMTLayer expects known of the logits' shape (2, 4). Got {shape}."
    with pytest.raises(ValueError, match=exactly(message)):
        layer(torch.zeros(2, 4), torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("forward", "'smt', 'maxsmt'"),
        ("inference", "'smt', 'maxsmt'"),
        ("weights", "'logit', 'softmax'"),
        ("scale", "'gradient', 'batch'"),
        ("on_unknown", "'zero', 'raise'"),
    ],
)
def test_a_choice_that_does_not_exist_is_reported_beside_those_that_do(option, choices):
    message = f"SMTLayer: {option}='sat' is not one of {choices}."
    with pytest.raises(ValueError, match=exactly(message)):
        SMTLayer(xor(), **{option: "sat"})


def test_a_layer_is_made_of_a_theory():
    with pytest.raises(TypeError, match=exactly("SMTLayer expects a Theory. Got BoolRef.")):
        SMTLayer(z3.Bool("a"))


def refusal(constraints, inputs, outputs):
    with pytest.raises(UnsatisfiableTheoryError) as caught:
        SMTLayer(Theory(constraints, inputs, outputs))
    assert isinstance(caught.value, SMTLayerError)
    start = "Theory has no model at all, whatever its inputs. "
    assert str(caught.value).startswith(start)
    return str(caught.value)[len(start) :]


def test_a_theory_without_a_model_is_refused_by_the_constraints_at_fault():
    a, b, y = z3.Bools("a b y")
    harmless = y == z3.Or(a, b)
    assert refusal([harmless, a, b, z3.Not(a)], [a, b], [y]) == (
        "Constraints 1 and 3 already contradict each other."
    )
    three = [harmless, z3.Or(a, b), z3.Not(a), z3.Not(b)]
    assert refusal(three, [a, b], [y]) == "Constraints 1, 2 and 3 already contradict each other."
    assert refusal([harmless, z3.And(a, z3.Not(a))], [a, b], [y]) == (
        "Constraint 1 already contradicts itself."
    )


def test_one_hot_symbols_are_named_where_they_take_part_in_a_contradiction():
    x, y = z3.Int("x"), z3.Bool("y")
    digit = one_hot(x, [1, 2])
    assert refusal([y == (x > 1), x > 5], [digit], [y]) == (
        "Constraint 1 already contradicts itself, given the values of its one-hot symbols."
    )
    assert refusal(x > 0, [digit], [one_hot(x, [3, 4])]) == (
        "The values of its one-hot symbols already contradict each other."
    )


def test_a_contradiction_that_is_not_found_in_time_is_refused_all_the_same(monkeypatch):
    monkeypatch.setattr("smtlayer.nn.options.conflict_of", lambda theory: ())
    a, y = z3.Bools("a y")
    assert (
        refusal([y == a, a, z3.Not(y)], [a], [y])
        == "Theory.check may find out why, given more time."
    )


def test_a_layer_that_refused_a_batch_still_answers_the_next():
    layer = SMTLayer(addition())
    with pytest.raises(ValueError, match="finite"):
        layer(torch.full((1, 4), float("nan")))
    assert layer.theory.decode(layer(torch.ones(4))) == {"total": 6}
