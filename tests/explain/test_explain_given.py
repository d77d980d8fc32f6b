"""Explanations of rows with facts: shown as given, never overruled, never blamed."""

import itertools

import pytest
import torch
import z3

from smtlayer import Z3, Sat, SMTLayer, Table, Theory, one_hot
from smtlayer.solvers.search.constraint_core import ConstraintCores

BACKENDS = (Table(), Sat(), Z3())


def rooms():
    """A badge opens doors, by three rules; an alarm closes them all."""
    badge, alarm, office, lab = z3.Bools("badge alarm office lab")
    rules = {
        "no lab without a badge": z3.Implies(lab, badge),
        "no lab at night": z3.Implies(alarm, z3.Not(lab)),
        "no office at night": z3.Implies(alarm, z3.Not(office)),
    }
    return Theory(rules, inputs=[badge, alarm, lab], outputs=[office, lab])


def row_of(backend, logits, wanted=None, given=None, **options):
    layer = SMTLayer(rooms(), backend=backend)
    mask = torch.tensor(given or [False, False, False])
    return layer.explain(torch.tensor(logits), wanted=wanted, given=mask, **options)[0]


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_the_reading_says_what_is_given(backend):
    row = row_of(backend, [2.0, -torch.inf, 1.0], given=[False, True, False])
    assert [symbol.given for symbol in row.read] == [False, True, False]
    assert [symbol.certainty for symbol in row.read][1] == 1.0
    assert "badge = True (88.1 %), alarm = False (given), lab = True (73.1 %)" in repr(row)
    assert "alarm = False (given)" in row._repr_html_()
    assert row.to_dict()["read"][1]["columns"][0]["given"] is True


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_facts_take_part_in_a_conflict_and_are_not_overruled(backend):
    row = row_of(backend, [5.0, 0.1, 9.0], given=[False, True, False])
    assert row.status == "repaired"
    assert [part.name for part in row.overruled] == ["lab"]
    assert [part.name for part in row.conflict.inputs] == ["lab"]
    assert [part.name for part in row.conflict.given] == ["alarm"]
    assert [part.name for part in row.conflict.constraints] == ["no lab at night"]
    assert 'lab = True with the given alarm = True breaks "no lab at night"' in repr(row)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize("size", [0.1, torch.inf])
def test_facts_that_contradict_each_other_leave_no_answer(backend, size):
    row = row_of(backend, [5.0, size, size], given=[False, True, True], runner_up=True)
    assert (row.status, row.answer, row.overruled, row.runner_up) == ("contradicts", None, (), None)
    assert row.conflict.inputs == ()
    assert [part.name for part in row.conflict.given] == ["alarm", "lab"]
    text = " ".join(repr(row).split())
    assert text.startswith("What is given contradicts the theory: no answer.")
    assert 'the given alarm = True and lab = True together break "no lab at night"' in text


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_wanted_outputs_that_the_facts_rule_out(backend):
    row = row_of(backend, [5.0, 3.0, -1.0], {"office": True}, given=[False, True, False])
    assert row.blame.inputs == ()
    assert [part.name for part in row.blame.given] == ["alarm"]
    text = " ".join(repr(row).split())
    assert "office = True: impossible, with what is given" in text
    assert 'the given alarm = True with the wanted office = True breaks "no office at' in text


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_a_wanted_output_that_is_a_fact_the_other_way(backend):
    row = row_of(backend, [5.0, -3.0, -1.0], {"lab": True}, given=[False, False, True])
    assert row.blame.constraints == ()
    assert "the given lab = False excludes the wanted lab = True" in repr(row)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_inputs_facts_and_wanted_outputs_in_one_sentence(backend):
    a, b, y = z3.Bools("a b y")
    theory = Theory({"both": y == z3.And(a, b)}, inputs=[a, b], outputs=[y])
    layer = SMTLayer(theory, backend=backend)
    given = torch.tensor([False, True])
    row = layer.explain(torch.tensor([1.0, 1.0]), wanted={"y": False}, given=given)[0]
    line = 'a = True with the given b = True and the wanted y = False breaks "both"'
    assert line in " ".join(repr(row).split())


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_the_runner_up_respects_facts(backend):
    a, b, y = z3.Bools("a b y")
    theory = Theory(y == z3.Or(a, b), inputs=[a, b], outputs=[y])
    layer, logits = SMTLayer(theory, backend=backend), torch.tensor([[1.0, -1.0]])
    plain = layer.explain(logits, runner_up=True)[0]
    assert [part.name for part in plain.runner_up.overruled] == ["a"]
    row = layer.explain(logits, given=torch.tensor([True, False]), runner_up=True)[0]
    assert (row.runner_up, row.runner_up_status) == (None, "impossible")
    row = layer.explain(-logits, given=torch.tensor([True, False]), runner_up=True)[0]
    assert [part.name for part in row.runner_up.overruled] == ["b"]


def test_symbols_that_are_given_in_part_and_many_symbols():
    x, y = z3.BitVec("x", 3), z3.Bool("y")
    layer = SMTLayer(Theory(y == (x == 5), inputs=[x], outputs=[y]))
    row = layer.explain(torch.tensor([5.0, -1.0, 1.0]), given=torch.tensor([True, False, False]))[0]
    assert "x = 5 (53.4 %, partly given)" in repr(row)
    digits = [z3.Int(f"d{i}") for i in range(10)]
    columns = [one_hot(digit, [0, 1]) for digit in digits]
    theory = Theory([a <= b for a, b in itertools.pairwise(digits)], columns, columns)
    layer, logits = SMTLayer(theory), torch.tensor([-3.0, 3.0]).repeat(10)
    given = torch.arange(20) < 6
    text = repr(layer.explain(logits, given=given)[0])
    assert "10 symbols, 3 given" in text
    assert "least certain: d3 = 1" in text
    assert "least certain" not in repr(layer.explain(logits, given=given | True)[0])


@pytest.mark.parametrize("by_bits", [True, False])
def test_a_constraint_core_keeps_only_the_facts_that_it_needs(by_bits):
    cores = ConstraintCores(rooms(), by_bits=by_bits)
    found = cores.find([0, 0, 1], facts=[1, 1, 0])
    assert (found.formulas, found.facts, found.outputs) == ((1,), (1,), ())
    found = cores.find(outputs=[0, 1], facts=[-1, 0, 1])
    assert (found.formulas, found.facts, found.outputs) == ((0,), (0,), (1,))
