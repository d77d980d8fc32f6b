"""Facts, the inputs of infinite weight: never overruled, never blamed."""

import math

import pytest
import torch
import z3

from smtlayer import Z3, Circuit, Enumerate, Sat, Status, Table, Theory
from smtlayer.solvers import Row, Rowwise
from smtlayer.solvers.table import deletion
from smtlayer.solvers.table import table as table_module
from smtlayer.testing import Case, random_theory
from smtlayer.testing.conformance import facts
from smtlayer.testing.theories import xor

INF = math.inf
BACKENDS = (Enumerate(), Table(), Sat(), Sat(remember=0), Z3(), Z3(remember=0))


def signs(*rows):
    return torch.tensor(rows, dtype=torch.int8)


def weights(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def conjunction():
    """y is the conjunction of a and b; c stands alone."""
    a, b, c, y = z3.Bools("a b c y")
    return Theory(y == z3.And(a, b), inputs=[a, b, c], outputs=[y])


def exclusive():
    """At most one of three, and y says whether there is one."""
    a, b, c, y = z3.Bools("a b c y")
    some = y == z3.Or(a, b, c)
    return Theory([z3.AtMost(a, b, c, 1), some], inputs=[a, b, c], outputs=[y])


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_a_repair_keeps_the_facts_however_heavy_the_others_are(backend):
    solver = backend.compile(exclusive())
    found = solver.maximize(signs([1, 1, -1]), weights([INF, 1e308, 1.0]))
    assert (found.status.item(), found.inputs.tolist()) == (Status.SAT, [[1, -1, -1]])
    assert (found.cost.item(), found.proved.item()) == (1e308, True)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_facts_that_contradict_the_theory_leave_no_model_and_blame_nobody(backend):
    solver = backend.compile(exclusive())
    inputs, weighed = signs([1, 1, -1], [1, -1, -1]), weights([INF, INF, 1.0], [INF, 1.0, 1.0])
    for outputs in (None, signs([0], [-1])):
        found = solver.maximize(inputs, weighed, outputs)
        assert found.status.tolist() == [Status.UNSAT, Status.SAT if outputs is None else 0]
        assert not found.inputs[0].any()
        assert not found.outputs[0].any()
        assert found.cost[0].item() == INF
        assert found.proved.all()
    core = solver.core(inputs, weighed, signs([0], [-1]))
    assert core.status.tolist() == [Status.UNSAT, Status.UNSAT]
    assert not core.inputs.any()


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_a_core_contradicts_the_wanted_outputs_together_with_the_facts(backend):
    solver = backend.compile(conjunction())
    inputs, wanted = signs([1, 1, 1]).expand(4, 3), signs([-1]).expand(4, 1)
    weighed = weights([1.0, 2.0, 3.0], [INF, 2.0, 3.0], [1.0, INF, INF], [INF, INF, 3.0])
    core = solver.core(inputs, weighed, wanted)
    assert core.status.tolist() == [Status.UNSAT] * 4
    expected = [[True, True, False], [False, True, False], [True, False, False], [False] * 3]
    assert core.inputs.tolist() == expected


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_a_large_weight_is_not_a_fact_also_if_it_was_asked_about_before(backend):
    solver = backend.compile(conjunction())
    inputs, wanted = signs([1, 1, 1]), signs([-1])
    for heavy, blamed in ((1e308, [0, 1]), (INF, [1]), (1e308, [0, 1]), (INF, [1])):
        weighed = weights([heavy, 2.0, 3.0])
        core = solver.core(inputs, weighed, wanted)
        assert core.inputs[0].nonzero().flatten().tolist() == blamed
        found = solver.maximize(signs([1, 1, 1]), weighed, wanted)
        assert found.inputs.tolist() == [[1, -1, 1]]
    for heavy, status in ((3.0, Status.SAT), (INF, Status.UNSAT), (3.0, Status.SAT)):
        found = solver.maximize(inputs, weights([heavy, heavy, 1.0]), wanted)
        assert found.status.item() == status


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_free_input_is_no_fact_whatever_its_weight(backend, dtype):
    solver = backend.compile(conjunction())
    inputs, weighed = signs([0, 1, 1]), torch.full((1, 3), INF, dtype=dtype)
    found = solver.maximize(inputs, weighed, signs([-1]))
    assert (found.inputs.tolist(), found.cost.item()) == ([[-1, 1, 1]], 0.0)
    core = solver.core(inputs, weighed, signs([1]))
    assert (core.status.item(), core.inputs.any().item()) == (Status.SAT, False)


@pytest.mark.parametrize("backend", [Table(), Circuit(), Sat(), Z3()], ids=str)
def test_columns_of_one_variable_may_be_fact_and_reading_at_once(backend):
    """The same variable twice: the fact decides, and the reading is overruled at its weight."""
    a, y = z3.Bools("a y")
    b, c = z3.Bools("b c")
    theory = Theory([y == a, b == a, c == a], inputs=[a, b, c], outputs=[y])
    solver = backend.compile(theory)
    found = solver.maximize(signs([1, -1, -1]), weights([INF, 2.0, 3.0]))
    assert (found.inputs.tolist(), found.cost.item()) == ([[1, 1, 1]], 5.0)
    core = solver.core(signs([1, -1, -1]), weights([INF, 2.0, 3.0]), signs([0]))
    assert core.inputs.tolist() == [[False, True, False]]
    core = solver.core(signs([1, 1, 1]), weights([INF, 2.0, 3.0]), signs([-1]))
    assert (core.status.item(), core.inputs.any().item()) == (Status.UNSAT, False)


@pytest.mark.parametrize("word", [52, 3], ids=["one word", "several words"])
def test_a_table_without_look_up_knows_facts(word, monkeypatch):
    monkeypatch.setattr(table_module, "_LOOKUP_COLUMNS", 0)
    monkeypatch.setattr(deletion, "_WORD", word)
    for seed in range(12):
        facts(Case.make(Table(), random_theory(seed), seed))


def test_short_lists_answer_repairs_with_facts():
    theory = conjunction()
    solver = Sat().compile(theory)
    wanted, asked = signs([1]).expand(3, 1), signs([-1, -1, 1]).expand(3, 3)
    found = solver.maximize(asked, weights([1.0, 2.0, INF], [INF, 2.0, 1.0], [1.0] * 3), wanted)
    assert found.status.tolist() == [Status.SAT, Status.UNSAT, Status.SAT]
    assert found.inputs.tolist() == [[1, 1, 1], [0, 0, 0], [1, 1, 1]]
    assert found.cost.tolist() == [3.0, INF, 2.0]
    again = solver.maximize(asked[:1], weights([1.0, 2.0, INF]), wanted[:1])
    assert (again.status.item(), solver.cache_hits > 0) == (Status.SAT, True)


class Careless:
    """Takes every weight for a large number."""

    def solve(self, inputs):
        return Row(Status.SAT, [1, 1], [-1])

    def maximize(self, inputs, weights, outputs):
        return Row(Status.SAT, [1, 1], [-1])

    def core(self, inputs, weights, outputs):
        return Status.UNSAT, [0]


def test_a_row_solver_that_overrules_or_blames_a_fact_has_no_answer():
    def compiled():
        return Rowwise(
            xor(), lambda theory: Careless(), name="Careless", limit_ms=None, deterministic=True
        )

    inputs, weighed = signs([-1, 1], [1, 1], [-1, 1]), weights([INF, 1.0], [INF, 1.0], [1.0, INF])
    solver = compiled()
    with pytest.warns(RuntimeWarning, match="it overruled input 0, which is a fact"):
        found = solver.maximize(inputs, weighed)
    assert found.status.tolist() == [Status.UNKNOWN, Status.SAT, Status.SAT]
    assert found.inputs.tolist() == [[0, 0], [1, 1], [1, 1]]
    assert found.outputs.tolist() == [[0], [-1], [-1]]
    assert found.cost.tolist() == [INF, 0.0, 1.0]
    assert found.proved.tolist() == [False, True, True]
    solver = compiled()
    with pytest.warns(RuntimeWarning, match="it blamed input 0, which is a fact"):
        core = solver.core(inputs, weighed, signs([1], [1], [1]))
    assert core.status.tolist() == [Status.UNKNOWN, Status.UNKNOWN, Status.UNSAT]
    assert core.inputs.tolist() == [[False, False], [False, False], [True, False]]
