"""`Theory.check` reports properties of a theory, and which of them it could not decide."""

import random

import pytest
import torch
import z3

from smtlayer import Auto, Circuit, Sat, SMTLayer, Table, Theory, one_hot
from smtlayer.solvers import check
from smtlayer.solvers.check import Advice, LabelCounts, advise, conflict_of
from smtlayer.solvers.search.constraint_core import ConstraintRef
from smtlayer.testing import THEORIES
from smtlayer.testing.theories import addition

a, b, c, y, z = z3.Bools("a b c y z")
x = z3.Int("x")


def factoring(bits=64):
    """The factors of a product of two primes: easy to state."""
    p, q = z3.BitVecs("p q", bits)
    product = z3.BitVecVal(11400714785074694791 * 14029467366897019727, 2 * bits)
    wide = [z3.ZeroExt(bits, factor) for factor in (p, q)]
    return Theory([wide[0] * wide[1] == product, z3.ULE(p, q), p != 1], inputs=[p], outputs=[q])


def fermat():
    """A theory without a model, by Fermat's last theorem."""
    cubes = [n * n * n for n in z3.Ints("k m n")]
    return Theory([cubes[0] + cubes[1] == cubes[2], *(n > 0 for n in cubes), y == a], [a], [y])


def undecided():
    """A theory that z3 gives up on at once."""
    r = z3.Real("r")
    return Theory([r**r == 2, r > 1, y == a], inputs=[a], outputs=[y])


def test_addition_is_functional_and_total_with_labels_that_fit_several_inputs():
    report = addition(4).check()
    assert report.satisfiable is True
    assert report.conflict == ()
    assert report.functional is True
    assert report.total is True
    assert (report.n_models, report.n_models_exact) == (256, True)
    assert report.inputs_per_label == LabelCounts(labels=31, least=1, mean=256 / 31, most=16)
    assert report.converges is False


def test_the_report_prints_one_line_a_finding():
    assert str(addition(4).check()).splitlines() == [
        "Theory(1 constraint, inputs=[a, b], outputs=[total])",
        "  satisfiable       yes",
        "  outputs           determined by the inputs",
        "  inputs            every one has a model",
        "  models            256",
        "  inputs per label  1 to 16, mean 8.3, over 31 labels",
        "  convergence       labels fit several inputs: blame may go to the wrong one",
        "  backend           Table(max_models=20000, max_work=5000000), because it has 256 models "
        "over its inputs and outputs, few enough to list",
        "  rule              anneal_core",
        "                    because labels fit several inputs, and Table weighs them all; the "
        "training loop must set layer.progress from 0 to 1",
    ]


def test_symbols_that_occur_in_no_constraint_are_named():
    report = Theory(y == a, inputs=[a, b], outputs=[y, z]).check()
    assert "  unconstrained     b, z: in no constraint" in str(report).splitlines()
    assert "unconstrained" not in str(addition(4).check())


@pytest.mark.parametrize("max_models", [1, 100])  # by two copies, by the list
def test_symbols_that_occur_in_no_constraint_are_determined_by_nothing(max_models):
    open_input = Theory(y == a, inputs=[a, b], outputs=[y]).check(max_models=max_models)
    assert (open_input.functional, open_input.pinned, open_input.total) == (True, False, True)
    open_output = Theory(y == a, inputs=[a], outputs=[y, z]).check(max_models=max_models)
    assert (open_output.functional, open_output.pinned, open_output.total) == (False, True, True)


def test_unique_labels_converge():
    report = THEORIES["unique_labels"]().check()
    assert report.inputs_per_label == LabelCounts(labels=8, least=1, mean=1.0, most=1)
    assert report.converges is True
    assert "each label fits exactly one input (Theorem 1 holds)" in str(report)


def test_outputs_that_the_inputs_leave_open_are_not_functional():
    report = THEORIES["free_outputs"]().check()
    assert report.functional is False
    assert report.total is False
    assert report.converges is False
    assert "  outputs           not determined by the inputs: some inputs allow several" in str(
        report
    )
    assert "  inputs            some have no model" in str(report)


def test_an_input_with_several_labels_does_not_converge_though_each_label_fits_one_input():
    report = Theory([z3.Implies(a, y == b), a == z], inputs=[a, b], outputs=[y, z, b]).check()
    assert report.functional is False
    assert report.inputs_per_label.most == 1
    assert report.converges is False
    assert "  convergence       inputs allow several labels (Theorem 1 does not hold)" in str(
        report
    )


def test_total_counts_the_values_of_one_hot_inputs():
    theory = Theory(y == z3.Or(x > 1, a), inputs=[one_hot(x, [1, 2, 3]), a], outputs=[y])
    assert theory.check().total is True
    fewer = Theory([y == (x > 1), x != 2], inputs=[one_hot(x, [1, 2, 3])], outputs=[y])
    assert fewer.check().total is False


def test_a_conflict_has_index_and_text():
    report = Theory(
        [c == z3.Or(a, b), z3.Implies(a, b), y, z3.And(a, z3.Not(b)), x > 3], [a, b], [c]
    ).check()
    assert report.satisfiable is False
    assert report.conflict == (
        ConstraintRef(1, None, "Implies(a, b)"),
        ConstraintRef(3, None, "And(a, Not(b))"),
    )
    assert (report.n_models, report.n_models_exact) == (0, True)
    assert report.inputs_per_label is None
    assert str(report).splitlines() == [
        "Theory(5 constraints, inputs=[a, b], outputs=[c])",
        "  satisfiable       no: it has no model at all",
        "                    constraint 1: Implies(a, b)",
        "                    constraint 3: And(a, Not(b))",
    ]


def test_what_one_hot_adds_can_take_part_in_a_conflict():
    report = Theory([y == a, x > 7], inputs=[a, one_hot(x, [1, 2])], outputs=[y]).check()
    assert report.conflict == (
        ConstraintRef(1, None, "x > 7"),
        ConstraintRef(None, None, "x is one of 1, 2"),
    )
    assert "                    one_hot: x is one of 1, 2" in str(report).splitlines()


def test_names_that_z3_gives_to_fresh_constants_are_the_users_own():
    taken = [z3.Bool(f"{stem}!{i}") for stem in ("constraint", "copy") for i in range(8)]
    theory = Theory([z3.Or(taken), z3.Not(taken[0]), y == a, z3.Or(a, taken[1])], [a], [y])
    report = theory.check(max_models=1)
    assert (report.satisfiable, report.functional, report.total) == (True, True, True)
    assert conflict_of(Theory([taken[0], y == a, z3.Not(taken[0])], [a], [y])) == (
        ConstraintRef(0, None, "constraint!0"), ConstraintRef(2, None, "Not(constraint!0)"),
    )  # fmt: skip


def test_a_conflict_of_one_constraint_is_found_alone():
    assert conflict_of(Theory([y == a, False, b], [a, b], [y])) == (
        ConstraintRef(1, None, "False"),
    )
    assert conflict_of(Theory([y == a], [a], [y])) == ()


@pytest.mark.parametrize("seed", range(8))
def test_a_conflict_is_minimal(seed):
    draw = random.Random(seed)
    symbols = [z3.Bool(f"x{i}") for i in range(7)]
    clauses = [
        z3.Or([draw.choice([s, z3.Not(s)]) for s in draw.sample(symbols, 3)]) for _ in range(60)
    ]
    indices = [p.index for p in conflict_of(Theory(clauses, symbols[:3], symbols[3:]))]
    assert _satisfiable(clauses, indices) is False
    assert all(_satisfiable(clauses, [j for j in indices if j != i]) for i in indices)


def _satisfiable(clauses, indices):
    solver = z3.Solver()
    solver.add(*(clauses[i] for i in indices))
    return solver.check() == z3.sat


def test_models_beyond_the_limit_are_more_than_it():
    report = addition(4).check(max_models=10)
    assert (report.n_models, report.n_models_exact) == (10, False)
    assert report.inputs_per_label is None
    assert report.pinned is report.converges is False  # two of the ten have the same label
    lines = str(report).splitlines()
    assert "  models            more than 10" in lines
    assert "  inputs per label  not counted: the models were not all listed" in lines
    assert addition(4).check(max_models=256).n_models_exact is True
    assert addition(4).check(max_models=255).n_models_exact is False


@pytest.mark.parametrize("name", [n for n in THEORIES if n not in ("functions", "xor")])
def test_questions_about_a_long_list_are_answered_without_it(name):
    theory = THEORIES[name]()
    listed, asked = theory.check(), theory.check(max_models=1)
    assert not asked.n_models_exact
    assert asked.satisfiable is True
    assert asked.functional == listed.functional
    assert asked.total in (listed.total, None)


def test_functional_and_total_are_proved_without_the_list():
    report = addition(8).check(max_models=5)
    assert (report.functional, report.total) == (True, True)
    partial = Theory([y == z3.Xor(a, b), z3.Not(z3.And(a, b))], [a, b], [y]).check(max_models=1)
    assert (partial.functional, partial.total) == (True, False)
    hot = Theory(y == (x > 1), [one_hot(x, [1, 2, 3])], [y]).check(max_models=1)
    assert (hot.functional, hot.total) == (True, True)


def test_questions_that_copies_of_a_function_would_need_stay_open():
    report = THEORIES["functions"]().check(max_models=1)
    assert report.satisfiable is True
    assert (report.functional, report.total, report.converges) == (None, None, None)
    unknown = "unknown: not decided within 5,000,000 steps of the solver"
    assert f"  outputs           {unknown}" in str(report).splitlines()
    assert f"  inputs            {unknown}" in str(report).splitlines()
    assert f"  convergence       {unknown}" in str(report).splitlines()


def test_what_is_not_decided_within_the_limits_is_reported_so():
    report = factoring().check(max_work=20_000, timeout_s=0.01)
    assert (report.satisfiable, report.functional, report.pinned) == (None, None, None)
    assert (report.n_models, report.n_models_exact, report.more_than) == (0, False, None)
    lines = str(report).splitlines()
    unknown = "unknown: not decided within 20,000 steps of the solver"
    assert f"  satisfiable       {unknown}, nor in 0.01 s" in lines
    assert f"  outputs           {unknown}" in lines
    assert "  models            none found within 20,000 steps of the solver" in lines
    assert "  inputs per label  not counted: the models were not all listed" in lines


def test_a_satisfiable_theory_has_a_model_though_none_was_listed(monkeypatch):
    monkeypatch.setattr(check, "_satisfiable", lambda theory, timeout_s: (True, ()))
    report = fermat().check(max_work=20_000)
    assert (report.satisfiable, report.n_models) == (True, 0)
    line = "  models            at least 1; not all found within 20,000 steps of the solver"
    assert line in str(report).splitlines()


def test_a_theory_that_z3_cannot_decide_is_reported_so():
    report = undecided().check(timeout_s=0.1)
    assert report.satisfiable is None
    assert (report.n_models, report.n_models_exact) == (0, False)
    assert report.backend_reason.startswith("it makes z3 answer unknown (incomplete (")


@pytest.mark.parametrize(
    ("max_models", "backend", "reason"),
    [
        (256, Table(256, 5_000_000), "it has 256 models over its inputs and outputs, few enough to "
                                     "list"),
        (255, Circuit(20_000), "it has 256 models over its inputs and outputs, too many to list, "
                               "but its decision diagram has 11 nodes in 4 levels"),
    ],
)  # fmt: skip
def test_auto_gives_its_choice_and_the_reason(max_models, backend, reason):
    choice = Auto(max_models=max_models).choose(addition(4))
    assert (choice.backend, choice.reason) == (backend, reason)


def test_a_single_model_is_not_called_models():
    theory = Theory(z3.And(a, y), inputs=[a], outputs=[y])
    assert theory.check().backend_reason == (
        "it has 1 model over its inputs and outputs, few enough to list"
    )


def test_the_backend_is_what_auto_takes_whatever_the_limit_of_the_count():
    report = addition(4).check(max_models=100)
    assert not report.n_models_exact
    choice = Auto().choose(addition(4))
    assert (report.backend, report.backend_reason) == (choice.backend, choice.reason)
    assert isinstance(report.backend, Table)


def test_a_theory_with_a_model_in_hand_is_satisfiable(monkeypatch):
    monkeypatch.setattr(check, "_satisfiable", None)
    assert addition(2).check().satisfiable is True


def pinned():
    """Too many models to list, and each label fits one input."""
    p, q = z3.BitVecs("p q", 16)
    return Theory(q == 7 * p + 2, inputs=[p], outputs=[q])


def products():
    """Too many models to list, and too large a diagram."""
    p, q = z3.BitVecs("p q", 16)
    return Theory(z3.Concat(p, q) * z3.Concat(q, p) > 7, inputs=[p], outputs=[q])


def open_labels():
    """Too many models to list, and labels fit many inputs."""
    p, q = z3.BitVecs("p q", 16)
    return Theory(y == z3.UGT(p, q), inputs=[p, q], outputs=[y])


RULES = {
    "pinned, Table": (THEORIES["unique_labels"], Table, True, "maxsmt"),
    "pinned, Circuit": (pinned, Circuit, True, "maxsmt"),
    "open, Sat": (products, Sat, False, "anneal_core"),
    "open, Table": (lambda: addition(4), Table, False, "anneal_core"),
    "open, Table by z3": (THEORIES["reals"], Table, False, "anneal_core"),
    "open, Circuit": (open_labels, Circuit, False, "anneal_core"),
}


@pytest.mark.parametrize("name", RULES)
def test_the_rule_to_begin_with_trains_a_layer_as_it_is(name):
    build, backend, pinned, rule = RULES[name]
    report = build().check()
    assert isinstance(report.backend, backend)
    assert (report.pinned, report.rule) == (pinned, rule)
    assert str(report).splitlines()[-2:] == [
        f"  rule              {rule}",
        f"                    because {report.rule_reason}",
    ]
    layer = SMTLayer(build(), backward=report.rule)
    for layer.progress in (0.0, 0.4, 1.0):
        logits = torch.randn(8, layer.theory.n_inputs, requires_grad=True)
        layer(logits).sum().backward()
        assert logits.grad.any()


@pytest.mark.parametrize(
    ("backend", "way"), [(Sat(), "draws one of them at a time"), (Table(), "weighs them all")]
)
def test_the_rule_is_advised_where_it_is_not_known_what_labels_fit(backend, way):
    assert advise(backend, pinned=None) == Advice(
        "anneal_core",
        f"labels may fit several inputs, and {type(backend).__name__} {way}; the training loop "
        "must set layer.progress from 0 to 1",
    )


def test_a_theory_without_a_model_gets_no_rule():
    report = Theory([y == a, False], [a], [y]).check()
    assert (report.rule, report.rule_reason) == (None, "")
    assert "rule" not in str(report)
