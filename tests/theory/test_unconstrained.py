"""Inputs and outputs that occur in no constraint are free, for theories and all backends."""

import copy
import pickle

import pytest
import torch
import z3

from smtlayer import Z3, Auto, Enumerate, Sat, SMTLayer, Table, Theory, TheoryError, one_hot

a, b, y, free = z3.Bools("a b y free")
wide = z3.BitVec("wide", 2)
digit = z3.Int("digit")
BACKENDS = [Z3(), Auto(), Enumerate(), Sat(), Table()]


def spare():
    """One unconstrained input and output of each kind."""
    other, letter = z3.BitVec("other", 2), z3.Int("letter")
    return Theory(
        y == a,
        inputs=[a, free, wide, one_hot(digit, [3, 5, 7])],
        outputs=[y, z3.Bool("idle"), other, one_hot(letter, [-1, 1])],
    )


def test_they_are_named_and_all_others_are_not():
    assert spare().unconstrained == ("free", "wide", "digit", "idle", "other", "letter")
    assert Theory(y == a, [a], [y]).unconstrained == ()
    assert Theory([y == a, digit > 2], [a, one_hot(digit, [1, 3])], [y]).unconstrained == ()
    assert Theory(True, [a], [a]).unconstrained == ("a",)


def test_a_bound_variable_does_not_count_as_occurring():
    theory = Theory(y == z3.ForAll([b], z3.Or(b, y)), inputs=[b], outputs=[y])
    assert theory.unconstrained == ("b",)
    assert copy.deepcopy(theory).unconstrained == ("b",)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_keep_them(copied):
    theory = spare()
    twin = copied(theory)
    assert twin == theory
    assert twin.unconstrained == theory.unconstrained
    assert (twin.input_names, twin.output_names) == (theory.input_names, theory.output_names)
    signs = twin.encode(a=True, free=False, wide=2, digit=5)
    assert signs.tolist() == theory.encode(a=True, free=False, wide=2, digit=5).tolist()
    assert twin.decode_inputs(signs) == {"a": True, "free": False, "wide": 2, "digit": 5}


def test_declared_constants_that_are_not_used_can_be_read():
    script = """
        (declare-const |a name| Bool)
        (declare-const a Bool) (declare-const y Bool) (declare-const free Bool)
        (declare-const wide (_ BitVec 2)) (assert (= y a))
    """
    theory = Theory.from_smtlib(script, ["a", "free"], ["y", "wide", "a name"])
    assert theory.unconstrained == ("free", "wide", "a name")
    again = Theory.from_smtlib(theory.to_smtlib(), ["a", "free"], ["y", "wide", "a name"])
    assert again == theory


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: type(b).__name__)
def test_every_value_of_them_has_a_model(backend):
    theory = spare()
    solver = backend.compile(theory)
    inputs = theory.encode(
        a=[True, False, True], free=[False, True, True], wide=[0, 3, 2], digit=[3, 5, 7]
    )
    found = solver.solve(inputs)
    assert found.status.tolist() == [1, 1, 1]
    assert found.inputs.tolist() == inputs.tolist()
    assert theory.decode(found.outputs)["y"].tolist() == [True, False, True]
    wanted = theory.encode_outputs(y=[False] * 3, idle=[True] * 3, other=[0, 1, 2], letter=[-1] * 3)
    repair = solver.maximize(inputs, torch.ones(inputs.shape), wanted)
    assert repair.outputs.tolist() == wanted.tolist()
    assert repair.cost.tolist() == [1, 0, 1]
    core = solver.core(inputs, torch.ones(inputs.shape), wanted)
    assert core.inputs.nonzero().tolist() == [[0, 0], [2, 0]]


def test_a_layer_answers_with_them():
    layer = SMTLayer(Theory(y == a, inputs=[a, free], outputs=[y]))
    assert layer(torch.tensor([[1.0, -2.0], [-1.0, 3.0]])).tolist() == [[1], [-1]]


def test_their_names_are_checked_as_all_others():
    with pytest.raises(TheoryError, match="'a' belongs to two different symbols"):
        Theory(z3.Int("a") > 2, inputs=[a], outputs=[y])
    with pytest.raises(TheoryError, match="is one that z3 uses when"):
        Theory(y == a, inputs=[z3.Bool("a!1")], outputs=[y])
