"""Errors say by their type and their fields what callers need, in this process and in another."""

import inspect
import pickle

import pytest
import z3

import smtlayer.errors
from smtlayer import Sat, Table, Theory
from smtlayer.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotFiniteError,
    SMTLayerError,
    TooLargeError,
    TooManyModelsError,
    UndeclaredSymbolError,
    UnsupportedError,
)

ALL = [
    kind
    for _, kind in inspect.getmembers(smtlayer.errors, inspect.isclass)
    if issubclass(kind, BaseException) and not issubclass(kind, Warning)
]


@pytest.mark.parametrize("kind", ALL)
def test_every_error_comes_through_pickle_with_its_text(kind):
    error = kind("what is wrong")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert "what is wrong" in str(error)
    assert issubclass(kind, SMTLayerError)


def test_wrong_arguments_are_value_errors_and_type_errors():
    x = z3.Bool("x")
    with pytest.raises(ArgumentTypeError, match="Theory: inputs must be a sequence") as caught:
        Theory(x, x, [x])
    assert isinstance(caught.value, TypeError)
    with pytest.raises(ArgumentError, match="Sat expects timeout_ms above 0") as caught:
        Sat(timeout_ms=0)
    assert isinstance(caught.value, ValueError)


REALS = Theory(z3.Real("r") > 0.5, [z3.Bool("x")], [z3.Bool("y")])
WIDE = Theory(z3.BitVec("v", 30) == z3.BitVec("w", 30), [z3.BitVec("v", 30)], [z3.BitVec("w", 30)])


@pytest.mark.parametrize(
    ("backend", "theory", "kind", "remedy"),
    [
        (Sat(), REALS, NotFiniteError, "Use Z3() or Auto() instead."),
        (Sat(max_clauses=1), WIDE, TooLargeError, "Raise max_clauses, or use Z3() instead."),
        (Table(), WIDE, TooManyModelsError, "Use Sat() instead."),
    ],
)
def test_what_a_backend_does_not_support_has_a_reason_and_a_remedy(backend, theory, kind, remedy):
    with pytest.raises(UnsupportedError) as caught:
        backend.compile(theory)
    error = pickle.loads(pickle.dumps(caught.value))
    assert type(error) is kind
    assert error.remedy == remedy
    assert str(error) == f"{error.reason} {remedy}"
    assert error.reason.startswith(type(backend).__name__)
    assert error.reason.endswith(".")


def test_a_name_that_a_script_does_not_declare_has_a_reason():
    script = "(declare-const total Bool) (assert total)"
    with pytest.raises(UndeclaredSymbolError) as caught:
        Theory.from_smtlib(script, ["toatl"], ["total"])
    assert caught.value.reason == "no constant is declared as 'toatl'. Did you mean 'total'?"
    assert str(caught.value) == f"Theory.from_smtlib: {caught.value.reason}"
