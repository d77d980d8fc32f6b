import math
import re

import numpy as np
import pytest
import torch
import z3

from smtlayer.errors import ConfigError, TheoryError, TooManyModelsError
from smtlayer.lab import problems as lab_problems
from smtlayer.lab.laboratory import LabOptions, LabResult, LabRun, run_lab
from smtlayer.lab.problems import problem_of
from smtlayer.nn import core
from smtlayer.theory import Theory, one_hot
from smtlayer_studies.tasks.lab_problems import task_problem
from smtlayer_studies.tasks.registry import find_lab_problems

SHORT = LabOptions(steps=500)


def copies():
    """Each output is an input: a label leaves one choice of inputs (Theorem 1)."""
    a, b = z3.BitVecs("a b", 2)
    y, z = z3.BitVecs("y z", 2)
    return Theory([y == a, z == ~b], inputs=[a, b], outputs=[y, z])


def addition(bits=2):
    a, b = z3.BitVecs("a b", bits)
    total = z3.BitVec("total", bits + 1)
    formula = total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b)
    return Theory(formula, inputs=[a, b], outputs=[total])


def made(*tests, train=None, symbols=None):
    """A result with these test accuracies, a tuple a rule."""
    runs = tuple(
        LabRun(f"rule {i}", train or test, test, symbols or test, 1.0)
        for i, test in enumerate(tests)
    )
    return LabResult("made", 4, 2, 4, 4, len(tests[0]), LabOptions(), runs)


def test_maxsmt_grounds_a_theory_whose_labels_decide_its_inputs():
    result = run_lab(copies(), ["maxsmt"], seeds=5, options=LabOptions(steps=100))
    assert result.best.test == (1.0,) * 5
    assert result.best.symbols == (1.0,) * 5
    assert (result.models, result.kinds, result.shown, result.tested) == (16, 4, 16, 16)


def test_core_grounds_addition_where_all_pairs_are_shown():
    result = run_lab(task_problem("mnist-addition-100"), [core], seeds=6, options=SHORT)
    assert result.best.grounded == 6
    assert result.best.plateaus == ((100, 6),)


def test_maxsmt_gets_stuck_where_only_equal_pairs_are_shown_and_core_does_not():
    problem = task_problem("mnist-addition-10")
    stuck, free = run_lab(problem, ["maxsmt", "core"], seeds=6).runs
    assert stuck.grounded == 0
    assert stuck.unnoticed == 0  # the training accuracy shows it
    assert max(stuck.train) < 0.98
    assert free.grounded >= 5


def test_rules_that_follow_progress_get_it():
    cooling = "schedule((0.5, marginal(temperature=anneal(8, 1, until=0.5))), (1, core))"
    seen = []
    result = run_lab(addition(), [cooling], seeds=3, options=SHORT,
                     on_step=lambda rule, done: seen.append((rule, done)))  # fmt: skip
    assert result.best.grounded == 3
    assert seen[0] == (cooling, 1)
    assert seen[-1] == (cooling, 500)


def test_runs_repeat_and_leave_the_generator_alone():
    state = torch.get_rng_state()
    first, again = (
        run_lab(addition(), ["sample"], seeds=2, options=LabOptions(steps=20)) for _ in range(2)
    )
    assert torch.equal(torch.get_rng_state(), state)
    assert (first.best.train, first.best.symbols) == (again.best.train, again.best.symbols)


def test_symbols_that_look_alike_share_a_reader():
    a, b = z3.BitVecs("a b", 2)
    c, y = z3.Bools("c y")
    d = z3.Int("d")
    theory = Theory(
        [y == (z3.ULT(a, b) == c), d >= 0], inputs=[a, c, b, one_hot(d, [0, 1])], outputs=[y]
    )
    assert problem_of(theory).readers == (0, 1, 0, 2)
    assert problem_of(theory, separate=True).readers == (0, 1, 2, 3)
    assert problem_of(theory, widths=(3, 2, 2)).readers == (0, 1, 1)


def test_what_is_shown_has_every_kind_and_what_is_tested_is_the_rest():
    problem = problem_of(addition(3), shown=0.2, seed=3)
    assert (len(problem.shown), len(problem.tested)) == (13, 51)
    rows = torch.cat([problem.shown.inputs, problem.tested.inputs])
    assert len({tuple(row) for row in rows.tolist()}) == 64
    kinds = torch.cat(problem.shown.inputs.split(problem.widths, dim=-1))
    assert len({tuple(kind) for kind in kinds.tolist()}) == 8


def test_rows_whose_inputs_leave_outputs_open_are_left_out():
    a, b, y = z3.Bools("a b y")
    problem = problem_of(Theory(z3.Implies(a, y == b), inputs=[a, b], outputs=[y]))
    assert problem.shown.inputs.tolist() == [[1, -1], [1, 1]]
    assert problem.shown.outputs.tolist() == [[-1], [1]]


@pytest.mark.parametrize(
    ("name", "shown", "tested"),
    [
        ("mnist-addition-10", 10, 100), ("mnist-addition-100", 100, 100),
        ("visual-algebra", 45, 729), ("visual-algebra-as-printed", 45, 729),
        ("liars-puzzle", 12, 72), ("liars-puzzle-as-printed", 12, 72),
    ],
)  # fmt: skip
def test_tasks_show_what_they_show_with_images(name, shown, tested):
    problem = task_problem(name)
    assert (len(problem.shown), len(problem.tested)) == (shown, tested)
    assert name in find_lab_problems()


def test_the_best_rule_grounds_most_seeds():
    result = made((1.0, 0.5, 0.5), (1.0, 1.0, 0.2), (1.0, 1.0, 0.3))
    assert result.best.rule == "rule 2"
    assert [run.rule for run in result.as_good] == ["rule 0", "rule 1"]


def test_with_twenty_seeds_twenty_differs_from_fourteen_but_not_from_sixteen():
    good, fair, poor = ((1.0,) * k + (0.5,) * (20 - k) for k in (20, 16, 14))
    assert [run.rule for run in made(good, fair, poor).as_good] == ["rule 1"]


def test_seeds_that_only_training_takes_for_right_are_counted():
    run = made((1.0, 0.5, 0.5), train=(1.0, 1.0, 0.6), symbols=(0.5, 0.5, 0.5)).best
    assert (run.grounded, run.unnoticed, run.renamed) == (1, 1, 1)


def test_a_task_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"has mnist-addition-10, .*Did you mean 'liars-puzzle'"):
        task_problem("liar-puzzle")


def test_options_out_of_range_are_errors():
    with pytest.raises(ConfigError, match=r"steps must be above 0. Got 0"):
        LabOptions(steps=0)
    with pytest.raises(ConfigError, match=r"noise must be at least 0. Got -1"):
        LabOptions(noise=-1)
    with pytest.raises(ConfigError, match=r"at least one rule and one seed. Got 0 and 20"):
        run_lab(addition(), [])
    with pytest.raises(ValueError, match=r"Did you mean 'core'\?"):
        run_lab(addition(), ["cor"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": math.inf}, "LabOptions: lr must be finite. Got inf."),
        ({"noise": math.nan}, "LabOptions: noise must be finite. Got nan."),
        ({"steps": 1.5}, "LabOptions: steps expects a whole number. Got 1.5."),
        ({"rows": None}, "LabOptions: rows expects a whole number. Got None."),
        ({"start": "1"}, "LabOptions: start expects a number. Got '1'."),
    ],
)
def test_options_that_are_no_numbers_are_refused(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        LabOptions(**options)


@pytest.mark.parametrize("seeds", ["3", 1.5, None, 0])
def test_seeds_that_are_no_number_of_starts_are_refused(seeds):
    message = re.escape(f"run_lab expects at least one rule and one seed. Got 1 and {seeds!r}.")
    with pytest.raises(ConfigError, match=message):
        run_lab(addition(), ["core"], seeds=seeds)


@pytest.mark.parametrize(
    ("theory", "rules", "options", "message"),
    [
        (None, ["core"], SHORT, "run_lab expects a Theory, or a LabProblem such as problem_of"),
        ("liars-puzzle", ["core"], SHORT, "such as problem_of returns. Got 'liars-puzzle'."),
        (addition(), None, SHORT, "run_lab expects a list of rules, as ['core']. Got None."),
        (addition(), core, SHORT, "run_lab expects a list of rules, as ['core']. Got core."),
        (addition(), [None], SHORT, "run_lab expects rules such as core, or their text. Got None."),
        (addition(), ["core"], None, "run_lab expects options as LabOptions(...). Got None."),
    ],
)
def test_arguments_of_another_type_are_errors(theory, rules, options, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        run_lab(theory, rules, options=options)


def test_results_say_how_many_inputs_were_left_out():
    a, b, total = z3.BitVec("a", 2), z3.BitVec("b", 2), z3.BitVec("total", 3)
    adds = total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b)
    options = LabOptions(steps=5)
    found = run_lab(Theory(adds, [total], [a, b]), ["core"], seeds=1, options=options)
    assert (found.shown, found.left_out) == (2, 5)
    assert run_lab(Theory(adds, [a, b], [total]), "core", seeds=1, options=options).left_out == 0


def test_a_text_alone_is_one_rule():
    result = run_lab(addition(), "core", seeds=np.int64(1), options=LabOptions(steps=1))
    assert [run.rule for run in result.runs] == ["core"]
    assert type(result.seeds) is int


def test_impossible_problems_are_errors():
    with pytest.raises(ConfigError, match=r"shown above 0 and at most 1. Got 0"):
        problem_of(addition(), shown=0)
    with pytest.raises(ConfigError, match=r"every value of a symbol, which takes \d here. Got 1"):
        problem_of(addition(), shown=0.05)
    with pytest.raises(ConfigError, match=r"add up to the theory's 4 input columns. Got 3, 2"):
        problem_of(addition(), widths=(3, 2))


def test_theories_that_determine_no_outputs_are_errors(monkeypatch):
    a, y = z3.Bools("a y")
    with pytest.raises(TheoryError, match="inputs that determine the outputs"):
        problem_of(Theory(z3.Or(a, z3.Not(a), y), inputs=[a], outputs=[y]))
    monkeypatch.setattr(lab_problems, "MAX_MODELS", 15)
    with pytest.raises(TooManyModelsError, match=r"has more than 15 models. Try a smaller"):
        problem_of(addition())
