"""Options that cannot work are refused; modes of torch do not matter."""

import math
import pickle
import re
from fractions import Fraction
from functools import partial

import pytest
import torch
import z3

from smtlayer import (
    Z3,
    Auto,
    Circuit,
    Enumerate,
    Sat,
    SMTLayer,
    SolverCrashedError,
    SolverUnknownError,
    Status,
    Table,
    Theory,
)
from smtlayer.nn import LikelihoodLoss, SemanticLoss
from smtlayer.nn.weights import confidence
from smtlayer.solvers import Rowwise
from smtlayer.testing.theories import addition, xor
from smtlayer.theory import to_signs


def test_a_backend_must_make_a_solver():
    class Forgetful:
        def __repr__(self):
            return "Forgetful()"

        def compile(self, theory):
            pass

    with pytest.raises(TypeError, match=r"Forgetful\(\): compile must return a solver. Got None"):
        SMTLayer(xor(), backend=Forgetful())


NAMES = {
    "auto": Auto,
    "table": Table,
    "circuit": Circuit,
    "sat": Sat,
    "z3": Z3,
    "enumerate": Enumerate,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_backend_has_a_name(name):
    layer = pickle.loads(pickle.dumps(SMTLayer(xor(), backend=name)))
    assert layer.backend == NAMES[name]()
    assert f"backend={NAMES[name]()!r}," in repr(layer)
    assert layer(torch.tensor([[1.0, -1.0]])).tolist() == [[1.0]]


def test_losses_take_the_name_of_a_backend():
    for loss in (SemanticLoss, LikelihoodLoss):
        assert loss(xor(), "table").layer.backend == Table()
        assert loss(xor(), backend="circuit").layer.backend == Circuit()


LISTED = "'auto', 'table', 'circuit', 'sat', 'z3', 'enumerate'."


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Sat", " Did you mean 'sat'?"), ("tables", " Did you mean 'table'?"), ("", "")],
)
def test_an_unknown_name_gets_the_list_and_the_nearest_one(name, hint):
    message = f"SMTLayer: backend={name!r} is not one of {LISTED}{hint}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SMTLayer(xor(), backend=name)


@pytest.mark.parametrize("backend", [3, Table, None])
def test_something_else_than_a_backend_is_refused(backend):
    with pytest.raises(
        TypeError, match=r"SMTLayer expects a backend such as Auto\(\) or Z3\(\), or its name"
    ):
        SMTLayer(xor(), backend=backend)


def test_an_attribute_error_in_a_backend_is_reported_as_it_is():
    class Broken:
        def __repr__(self):
            return "Broken()"

        def compile(self, theory):
            return theory.no_such_thing

    with pytest.raises(RuntimeError, match=r"Broken\(\) failed to compile: .*no_such_thing"):
        SMTLayer(xor(), backend=Broken())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Table(max_models=-1),
            "Table expects max_models as a whole number of 1 or more. Got -1",
        ),
        (lambda: Table(max_work=0), "Table expects max_work above 0. Got 0"),
        (
            lambda: Auto(max_models=0),
            "Auto expects max_models as a whole number of 1 or more. Got 0",
        ),
        (lambda: Auto(max_work=-1), "Auto expects max_work above 0. Got -1"),
        (lambda: Auto(timeout_ms=-5), "Auto expects timeout_ms above 0. Got -5"),
        (lambda: Enumerate(timeout_ms=0), "Enumerate expects timeout_ms above 0. Got 0"),
        (lambda: Z3(timeout_ms=0), "Z3 expects timeout_ms above 0. Got 0"),
        (
            lambda: xor().check(max_models=-2),
            "Theory.check expects max_models as a whole number of 1 or more. Got -2",
        ),
    ],
)
def test_limits_must_be_above_zero(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("wrong", [None, "10", True, [1]])
def test_limits_must_be_numbers(wrong):
    layer = SMTLayer(xor())
    for who, name, make in (
        ("Z3", "timeout_ms", Z3),
        ("Sat", "timeout_ms", Sat),
        ("Auto", "max_work", Auto),
        ("Theory.check", "max_work", xor().check),
        ("Theory.check", "timeout_s", xor().check),
        ("SMTLayer.explain", "timeout_s", partial(layer.explain, torch.ones(2))),
    ):
        message = f"{who} expects {name} above 0. Got {wrong!r}."
        with pytest.raises(TypeError, match=re.escape(message)):
            make(**{name: wrong})


@pytest.mark.parametrize("limit", [math.inf, pytest.param(2**40, marks=pytest.mark.slow)])
def test_limits_may_be_as_good_as_none(limit):
    theory, signs = addition(2), torch.tensor([[1, -1, 1, 1]], dtype=torch.int8)
    unbounded = [Z3(limit), Sat(limit), Table(max_work=limit), Enumerate(timeout_ms=limit),
                 Auto(timeout_ms=limit, max_work=limit), Z3(limit, workers=1)]  # fmt: skip
    for backend in unbounded:
        solver = backend.compile(theory)
        assert solver.solve(signs).status.item() == Status.SAT
        assert theory.decode(solver.maximize(signs, torch.ones(1, 4)).outputs)["total"].item() == 5
        layer = SMTLayer(theory, backend=backend)
        explained = layer.explain(signs.double(), {"total": [0]}, runner_up=True, timeout_s=limit)[
            0
        ]
        assert explained.blame.constraints
        assert explained.runner_up is not None
    assert theory.check(timeout_s=limit, max_work=limit).satisfiable


def test_training_works_after_a_first_call_in_inference_mode():
    layer = SMTLayer(xor())
    with torch.inference_mode():
        layer.eval()(torch.ones(2, 2))
    logits = torch.ones(2, 2, requires_grad=True)
    layer.train()(logits).sum().backward()
    assert logits.grad.any()
    assert layer.stats.rows == 4
    layer.stats.reset()
    assert layer.stats.rows == 0


def test_counts_survive_pickling_as_plain_numbers():
    layer = SMTLayer(xor())
    layer(torch.ones(3, 2))
    other = pickle.loads(pickle.dumps(layer))
    assert other.stats.rows == 3
    other(torch.ones(2, 2))
    assert (other.stats.rows, layer.stats.rows) == (5, 3)


def test_a_crash_is_raised_where_errors_are_wanted_even_without_a_time_limit():
    class Row:
        def __init__(self, theory):
            self.theory = theory

        def solve(self, inputs):
            if all(inputs):
                raise SolverCrashedError("boom")
            from smtlayer.solvers import Row as Answer
            from smtlayer.solvers import Status

            return Answer(Status.SAT, (-1, -1), (-1,))

    class Crashing:
        def compile(self, theory):
            return Rowwise(theory, Row, name="Crashing", limit_ms=None, deterministic=True)

    message = r"Crashing gave up on 2 of 2 rows \(first: row 0\). See that its solver runs, or pass"
    layer = SMTLayer(xor(), backend=Crashing(), on_unknown="raise")
    with pytest.raises(SolverUnknownError, match=message):
        layer(torch.ones(2, 2))
    assert not SMTLayer(xor(), backend=Crashing())(torch.ones(2, 2)).any()


@pytest.mark.parametrize(("logits", "overruled"), [([1.0, 2.0, 800.0], 0), ([2.0, 1.0, 800.0], 1)])
def test_softmax_weights_too_small_for_a_float_keep_their_order(logits, overruled):
    a, b, c, y = z3.Bools("a b c y")
    theory = Theory([z3.Not(z3.And(a, b)), y == c], inputs=[a, b, c], outputs=[y])
    layer = SMTLayer(theory, weights="softmax").eval()
    answer = layer.solve(torch.tensor([logits]))
    assert (answer.inputs[0] < 0).nonzero().flatten().tolist() == [overruled]


def test_softmax_weights_are_the_softmax_where_a_float_can_hold_it():
    logits = torch.tensor([[0.5, -3.0, 2.0, float("nan")]])
    signs = to_signs(logits, torch.tensor([True, True, True, False]))
    weights = confidence(logits, signs, "softmax")
    torch.testing.assert_close(
        weights[0, :3], torch.tensor([0.5, 3.0, 2.0], dtype=torch.float64).softmax(-1)
    )


def test_the_largest_floats_do_not_overflow_into_unsat():
    a, b, c, y = z3.Bools("a b c y")
    theory = Theory([z3.Not(a), z3.Not(b), y == c], inputs=[a, b, c], outputs=[y])
    layer = SMTLayer(theory).eval()
    answer = layer.solve(torch.tensor([[1.7e308, 1.7e308, 1.0]], dtype=torch.float64))
    assert answer.status.tolist() == [1]
    assert answer.outputs.tolist() == [[1]]


def test_repr_names_every_option():
    assert "cuda_graphs=False" in repr(SMTLayer(addition(1), cuda_graphs=False))


def test_costs_are_in_the_units_of_the_weights():
    a, y = z3.Bools("a y")
    layer = SMTLayer(Theory([z3.Not(a), y == a], inputs=[a], outputs=[y])).eval()
    for size in (1e-3, 7.0, 1e300):
        cost = layer.solve(torch.tensor([[size]], dtype=torch.float64)).cost.item()
        assert Fraction(cost) == Fraction(size)
