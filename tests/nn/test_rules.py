"""Rules as objects: those of users in either pass, and what a CUDA graph may hold."""

import ast
import doctest
import inspect
from dataclasses import dataclass, replace

import pytest
import torch

from helpers import Changed, all_equal, input_gradient, random_logits
from smtlayer import Z3, Sat, SMTLayer, Solution, Status, Table
from smtlayer.nn import (
    BlameRule,
    ForwardRule,
    core,
    marginal,
    maxsmt,
    mix,
    passes,
    perturbed,
    sample,
    schedule,
    smt,
)
from smtlayer.nn.graph import can_capture, capturable_rules, key_of
from smtlayer.nn.rules import anneal_core as anneal_core_module
from smtlayer.nn.rules import decision as decision_module
from smtlayer.testing.theories import addition, xor


@dataclass  # with equality and so without a hash
class ByColumn(BlameRule):
    """Blames a core that does not depend on confidence."""

    capturable: bool = True

    def blame(self, solver, question):
        return core.blame(solver, replace(question, weights=torch.ones_like(question.weights)))


class Careful(ForwardRule):
    """Repairs where a repair is cheap, and has no answer elsewhere."""

    def answer(self, solver, signs, weights):
        found = solver.maximize(signs, weights())
        cheap = found.cost < 0.5
        status = torch.where(cheap, found.status, Status.UNSAT).to(torch.int8)
        outputs = found.outputs * cheap[:, None]
        return Solution(status, found.inputs, outputs, found.cost, found.proved)


@pytest.mark.parametrize(("name", "rule"), [("smt", smt), ("maxsmt", maxsmt)])
def test_forward_rules_are_names_or_objects(name, rule):
    theory, logits, slope = all_equal(3), random_logits(20, 3), random_logits(20, 1, seed=1)
    named, given = (SMTLayer(theory, forward=f, inference=f) for f in (name, rule))
    assert torch.equal(named(logits), given(logits))
    assert torch.equal(input_gradient(named, logits, slope), input_gradient(given, logits, slope))
    assert torch.equal(named.eval()(logits), given.eval()(logits))
    assert str(named.explain(logits)) == str(given.explain(logits))
    assert f"forward={rule}, inference={rule}" in repr(given)


def test_a_user_may_write_the_forward_rule():
    layer = SMTLayer(all_equal(2), forward=Careful(), inference=Careful())
    logits = torch.tensor([[1.0, 2.0], [1.0, -0.25], [2.0, -1.0]])
    for mode in (True, False):
        assert layer.train(mode)(logits).flatten().tolist() == [1, 1, 0]
        assert layer.solve(logits).status.tolist() == [Status.SAT, Status.SAT, Status.UNSAT]
    assert [row.status for row in layer.explain(logits)] == ["fits", "repaired", "contradicts"]
    assert (layer.stats.sat, layer.stats.unsat) == (8, 4)


def test_a_users_forward_rule_must_return_a_solution():
    class Wrong(ForwardRule):
        def answer(self, solver, signs, weights):
            return signs

    layer = SMTLayer(xor(), forward=Wrong())
    with pytest.raises(TypeError, match=r"the rule .*Wrong.* to return a Solution\. Got Tensor\."):
        layer(torch.ones(1, 2))


@pytest.mark.parametrize("option", ["forward", "inference"])
@pytest.mark.parametrize("wrong", [core, Careful, lambda *parts: None, None, 3])
def test_what_is_not_a_forward_rule_is_refused(option, wrong):
    with pytest.raises(TypeError, match=rf"^SMTLayer expects {option} as 'smt', 'maxsmt' or a Fo"):
        SMTLayer(xor(), **{option: wrong})


@pytest.mark.parametrize("wrong", [smt, ByColumn, lambda solver, question: None])
def test_what_is_not_a_blame_rule_is_refused(wrong):
    with pytest.raises(TypeError, match=r"^SMTLayer expects backward as a rule such as core \(a"):
        SMTLayer(xor(), backward=wrong)


def test_a_users_rule_that_needs_all_models_is_refused_where_they_are_not_listed():
    class Needy(ByColumn):
        needs_models = True

    SMTLayer(xor(), backend=Table(), backward=mix(core, Needy()))
    with pytest.raises(ValueError, match=r"^The rule .*Needy.* needs a backend that weighs"):
        SMTLayer(xor(), backend=Z3(), backward=mix(core, Needy()))


@pytest.mark.parametrize(
    ("rule", "softmax"), [(core, False), (sample, False), (marginal, False), (maxsmt, True),
                          (ByColumn(), True)],
)  # fmt: skip
def test_the_softmax_is_computed_for_rules_that_need_weights(rule, softmax, monkeypatch):
    asked, real = [], passes.confidence

    def confidence(logits, signs, weights, given):
        asked.append(weights)
        return real(logits, signs, weights, given)

    monkeypatch.setattr(passes, "confidence", confidence)
    layer = SMTLayer(xor(), backward=rule, weights="softmax")
    input_gradient(layer, random_logits(4, 2), torch.ones(4, 1))
    assert asked == ["softmax" if softmax else "logit"]


@pytest.mark.parametrize(
    ("rule", "captured"),
    [
        (core, [core]),
        (maxsmt, []),
        (ByColumn(), [ByColumn()]),
        (ByColumn(capturable=False), []),
        (mix(core, ByColumn(), maxsmt, core), [core, ByColumn()]),
        (schedule((0.5, mix(marginal, sample(temperature=2))), (1, ByColumn(capturable=False))),
         [marginal, sample(temperature=2)]),
    ],
    ids=str,
)  # fmt: skip
def test_a_graph_may_hold_the_single_blame_rules_that_say_so(rule, captured):
    assert capturable_rules(SMTLayer(addition(), backward=rule)._plan()) == captured


def test_a_graph_may_hold_the_forward_pass_if_solver_and_rule_say_so():
    class Own(Careful):
        capturable = True

    rules = {smt: True, maxsmt: False, Careful(): False, Own(): True}
    for rule, possible in rules.items():
        for backend, capturable in ((Table(), True), (Sat(), False), (Z3(), False)):
            plan = SMTLayer(xor(), backend=backend, forward=rule)._plan()
            assert can_capture(plan) == (possible and capturable)


CIRCUIT = frozenset({"solve", "log_prob", "marginal", "sample"})  # a solver without cores


@pytest.mark.parametrize(
    ("forward", "backward", "questions", "captured"),
    [
        (smt, mix(core, marginal, sample), CIRCUIT, [marginal, sample]),
        (smt, core, CIRCUIT, []),
        (smt, ByColumn(), CIRCUIT, []),  # it may ask for cores
        (smt, ByColumn(), CIRCUIT | {"core"}, [ByColumn()]),
        (smt, mix(core, maxsmt), CIRCUIT | {"core", "maximize"}, [core]),
        (maxsmt, marginal, CIRCUIT, [marginal]),
        (smt, mix(core, marginal), frozenset(), []),
        (smt, marginal, frozenset({"marginal"}), [marginal]),
    ],
)
def test_a_graph_holds_the_rules_whose_questions_the_solver_can_capture(
    forward, backward, questions, captured
):
    class Some:
        def compile(self, theory):
            return Weighs(Table().compile(theory), lambda asked, answer: answer,
                          capturable=questions)  # fmt: skip

    class Weighs(Changed):
        def log_prob(self, logits, outputs):
            raise NotImplementedError

        marginal = sample = log_prob

    plan = SMTLayer(xor(), backend=Some(), forward=forward, backward=backward)._plan()
    assert can_capture(plan) == (forward is smt and "solve" in questions)
    assert capturable_rules(plan) == captured


def test_a_large_table_can_capture_all_but_cores_and_repairs():
    small, large = Table().compile(xor()).capturable, Table().compile(all_equal(33)).capturable
    assert (small - large, "maximize" in small) == ({"core"}, False)
    assert {"solve", "log_prob", "marginal", "sample"} <= large


@pytest.mark.parametrize(
    ("rule", "properties"),  # capturable, needs_models, needs_weights
    [
        (core, (True, False, False)),
        (maxsmt, (False, False, True)),
        (sample, (True, False, False)),
        (marginal, (True, True, False)),
        (perturbed, (False, False, False)),
        (mix(core, sample), (True, False, False)),
        (schedule((0.5, mix(core, marginal)), (1, maxsmt)), (False, True, True)),
    ],
    ids=str,
)
def test_rules_have_the_properties_of_the_rules_they_are_composed_of(rule, properties):
    assert (rule.capturable, rule.needs_models, rule.needs_weights) == properties
    assert rule.asks == frozenset().union(*(leaf.asks for leaf in rule.leaves))


def test_captured_passes_are_for_one_forward_rule_and_one_kind_of_batch():
    layer, logits = SMTLayer(xor(), forward="smt", inference="maxsmt"), torch.ones(4, 2)
    key = key_of(layer._plan(), logits, None)
    assert key == key_of(layer._plan(), torch.zeros(4, 2), None)
    others = [
        key_of(layer._plan(), logits[:3], None),
        key_of(layer._plan(), logits.double(), None),
        key_of(layer._plan(), logits, logits > 0),
        key_of(layer._plan(), logits, None, logits > 0),
        key_of(layer._plan(), logits, logits > 0, logits > 0),
        key_of(layer.eval()._plan(), logits, None),
    ]
    assert len({key, *others}) == 7


@pytest.mark.parametrize("module", [anneal_core_module, decision_module])
def test_the_examples_of_rules_run(module):  # doctest does not see docstrings of attributes
    texts = [
        node.value.value
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    found = doctest.DocTestParser().get_doctest(
        "\n\n".join(texts), dict(vars(module)), module.__name__, None, None
    )
    assert found.examples
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found).failed == 0
