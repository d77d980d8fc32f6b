"""Facts: inputs that are given are neither overruled nor blamed, and get no gradient."""

import copy
import pickle

import pytest
import torch
import z3

from helpers import random_logits
from smtlayer import Z3, Enumerate, Sat, SMTLayer, Status, Table, Theory, one_hot
from smtlayer.nn import Blame, BlameRule, core, marginal, maxsmt, mix, sample, schedule
from smtlayer.nn.weights import confidence
from smtlayer.testing import random_theory
from smtlayer.testing.theories import addition
from smtlayer.theory import to_signs

INF = torch.inf
BACKENDS = (Table(), Sat(), Z3(), Enumerate())
RULES = (core, maxsmt, sample, marginal, mix(core, marginal), schedule((0.5, core), (1, maxsmt)))


def shield():
    """Two sensors, and a floor to go to that is safe; with fire and flood none is."""
    fire, flood = z3.Bools("fire flood")
    floor = z3.Int("floor")
    safe = [z3.Implies(fire, floor != 1), z3.Implies(flood, floor != 0)]
    columns = one_hot(floor, [0, 1])
    return Theory(safe, inputs=[fire, flood, columns], outputs=[columns])


def conjunction():
    a, b, y = z3.Bools("a b y")
    return Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y])


def gradient(layer, logits, slope, **masks):
    leaf = logits.detach().clone().requires_grad_()
    outputs = layer(leaf, **masks)
    outputs.backward(slope.to(outputs.dtype))
    return outputs.detach(), leaf.grad


def problem(theory, seed, rows=16):
    """Logits, facts among them, and a gradient of the outputs."""
    generator = torch.Generator().manual_seed(seed)
    logits = random_logits(rows, theory.n_inputs, seed)
    given = torch.rand(logits.shape, generator=generator) < 0.3
    slope = torch.randn(rows, theory.n_outputs, generator=generator).double()
    return logits, given, slope


@pytest.mark.parametrize("backend", [Table(), Sat(), Z3()], ids=str)
@pytest.mark.parametrize("size", [0.1, INF])
def test_a_state_without_a_safe_action_is_unsat_and_no_sensor_is_overruled(backend, size):
    theory = shield()
    layer = SMTLayer(theory, backend=backend).eval()
    sensors = theory.encode(fire=False, flood=False) != 0
    state = theory.encode(fire=[True, True, False], flood=[True, False, False], floor=[1, 1, 1])
    logits = torch.where(sensors, size, 5.0) * state
    found = layer.solve(logits, given=sensors)
    assert found.status.tolist() == [Status.UNSAT, Status.SAT, Status.SAT]
    assert found.cost.tolist() == [INF, 10.0, 0.0]
    assert not found.inputs[0].any()
    assert torch.equal(found.inputs[1:, :2], state[1:, :2])
    assert theory.decode(found.outputs[1:])["floor"].tolist() == [0, 1]
    assert layer(logits, given=sensors)[0].tolist() == [0, 0]
    assert layer.stats.unsat == 2
    if size < INF:  # without facts a sensor is overruled
        assert layer.solve(logits).status.tolist() == [Status.SAT] * 3


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_maxsmt_with_all_inputs_given_is_smt(backend):
    for seed in range(6):
        theory = random_theory(seed)
        logits, _, slope = problem(theory, seed)
        everything = torch.ones(theory.n_inputs, dtype=torch.bool)
        strict = SMTLayer(theory, backend=backend, forward="smt")
        layer = SMTLayer(theory, backend=backend, forward="maxsmt")
        ours, theirs = layer.solve(logits, given=everything), strict.solve(logits)
        assert torch.equal(ours.status, theirs.status)
        assert torch.equal(ours.inputs, theirs.inputs)
        assert torch.equal(ours.cost, theirs.cost)
        outputs, pull = gradient(layer, logits, slope, given=everything)
        assert torch.equal(outputs.abs().any(-1), ours.status == Status.SAT)
        assert not pull.any()


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("weights", ["logit", "softmax"])
@pytest.mark.parametrize("forward", ["smt", "maxsmt"])
def test_facts_get_no_gradient_and_their_size_does_not_matter(rule, weights, forward):
    for seed in range(4):
        theory = random_theory(seed)
        logits, given, slope = problem(theory, seed)
        layer = SMTLayer(theory, backend=Table(), backward=rule, weights=weights, forward=forward)
        found = []
        for size in (0.0, 1e-3, 1e300, INF):
            sized = torch.where(given & (logits > 0), max(size, 1e-9), logits)
            sized = torch.where(given & (logits <= 0), -size, sized)
            torch.manual_seed(seed)
            found.append(gradient(layer, sized, slope, given=given))
        for outputs, pull in found:
            assert pull.isfinite().all()
            assert not pull[given].any()
            assert torch.equal(outputs, found[0][0])
            assert torch.equal(pull, found[0][1])


@pytest.mark.parametrize("rule", [core, maxsmt, marginal])
def test_without_facts_a_mask_changes_nothing(rule):
    theory = addition()
    logits, given, slope = problem(theory, 0)
    layer = SMTLayer(theory, backward=rule, forward="maxsmt")
    plain = gradient(layer, logits, slope)
    for pair in zip(plain, gradient(layer, logits, slope, given=given & False), strict=True):
        assert torch.equal(*pair)


@pytest.mark.parametrize("backend", [Table(), Sat(), Z3()], ids=str)
@pytest.mark.parametrize("rule", [core, maxsmt, sample], ids=str)
def test_the_blame_falls_on_inputs_that_are_not_facts(backend, rule):
    """Wanted: not both. What is given stays, so the other one must change, however sure it is."""
    layer = SMTLayer(conjunction(), backend=backend, backward=rule)
    logits = torch.tensor([[0.1, 9.0], [9.0, 0.1], [1.0, 1.0]])
    given = torch.tensor([[True, False], [False, True], [True, True]])
    for seed in range(5):
        torch.manual_seed(seed)
        _, pull = gradient(layer, logits, torch.ones(3, 1), given=given)
        assert not pull[given].any()
        assert pull[0, 1] > 0
        assert pull[1, 0] > 0
    assert layer.stats.blamed == 15
    assert layer.stats.contradicted == 5  # facts alone rule the label out


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_what_is_given_is_known(backend):
    layer = SMTLayer(conjunction(), backend=backend, forward="maxsmt")
    logits, known = torch.tensor([[3.0, 2.0]]), torch.tensor([False, False])
    found = layer.solve(logits, known, given=torch.tensor([True, True]))
    assert (found.inputs.tolist(), found.outputs.tolist()) == ([[1, 1]], [[1]])
    same = layer.solve(logits, known | True)
    assert torch.equal(same.outputs, found.outputs)


def test_softmax_weights_are_over_the_known_inputs_that_are_not_facts():
    logits = torch.tensor([[1.0, -2.0, 3.0, 50.0]])
    given, known = torch.tensor([[False, False, False, True]]), torch.tensor([[True] * 4])
    known[0, 2] = False
    weights = confidence(logits, to_signs(logits, known), "softmax", given)
    share = torch.tensor([1.0, 2.0]).double().softmax(-1)
    assert weights[0, 3] == INF
    torch.testing.assert_close(weights[0, :2], share)
    assert weights[0, 2] == 0
    all_given = confidence(logits, to_signs(logits), "softmax", torch.ones_like(given))
    assert (all_given == INF).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
@pytest.mark.parametrize("backend", [Table(), Sat()], ids=str)
def test_any_shape_and_dtype_also_under_autocast(dtype, shape, backend):
    layer = SMTLayer(conjunction(), backend=backend, forward="maxsmt")
    logits = torch.tensor([-INF, 2.0], dtype=dtype).expand(*shape, 2).clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = layer(logits, given=torch.tensor([True, False]))
    assert (outputs.shape, outputs.dtype) == ((*shape, 1), dtype)
    assert (outputs == -1).all()
    outputs.sum().backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[..., 0].any()


class PushesEverything(BlameRule):
    """A user's rule that knows nothing of facts, on the fields of a question that it needs."""

    def blame(self, solver, question):
        nobody = torch.zeros_like(question.wrong)
        targets = torch.full_like(question.logits, 0.25) * question.logits
        return Blame(targets, torch.ones_like(question.signs, dtype=torch.bool), nobody, nobody)


def test_a_rule_that_pushes_facts_has_no_effect_on_them():
    layer = SMTLayer(conjunction(), backward=PushesEverything())
    logits, given = torch.tensor([[INF, 1.0]]), torch.tensor([[True, False]])
    _, pull = gradient(layer, logits, torch.ones(1, 1), given=given)
    assert pull[0, 0] == 0
    assert pull[0, 1] != 0
    assert pull.isfinite().all()


def test_copies_know_facts_too():
    layer = SMTLayer(conjunction(), forward="maxsmt")
    logits, given = torch.tensor([[5.0, 1.0]]), torch.tensor([[False, True]])
    layer(logits, given=given)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(copied(logits, None, given), layer(logits, None, given))


@pytest.mark.parametrize("call", ["__call__", "solve", "explain"])
def test_a_logit_may_be_infinite_where_it_is_given_and_only_there(call):
    ask = getattr(SMTLayer(conjunction()), call)
    given = torch.tensor([True, False])
    ask(torch.tensor([[INF, 1.0]]), given=given)
    ask(torch.tensor([[INF, 1.0]]), known=~given, given=given)
    message = r"Row 0, column 1 \(b\) is -inf\. .*; only a fact \(given\) may be infinite\.$"
    with pytest.raises(ValueError, match=message):
        ask(torch.tensor([[INF, -INF]]), given=given)
    for masks in ({"given": given}, {"known": ~given, "given": given}):
        with pytest.raises(ValueError, match=r"Row 0, column 0 \(a\) is nan\."):
            ask(torch.tensor([[torch.nan, 1.0]]), **masks)


@pytest.mark.parametrize("call", ["__call__", "solve", "explain"])
def test_given_is_a_mask(call):
    ask = getattr(SMTLayer(conjunction()), call)
    for given, kind in ((torch.ones(2), "torch.float32"), (True, "bool"), ([True, False], "list")):
        with pytest.raises(
            TypeError, match=f"^SMTLayer expects given as a bool tensor. Got {kind}"
        ):
            ask(torch.zeros(1, 2), given=given)
    with pytest.raises(ValueError, match=r"^SMTLayer expects given of the logits' shape \(1, 2\)"):
        ask(torch.zeros(1, 2), given=torch.ones(3, dtype=torch.bool))
