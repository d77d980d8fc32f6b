import pytest
import torch
import z3

from reports.made import examples_of
from smtlayer import SMTLayer, Theory
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.examples import Examples

THEORY = addition_theory()


def additions(read, truth, logits=None):
    """Rows of pairs of numbers as they were read and as they are."""
    totals = [sum(pair) for pair in truth]
    read, truth = (
        THEORY.encode(a=[a for a, _ in pairs], b=[b for _, b in pairs]) for pairs in (read, truth)
    )
    wanted = THEORY.encode_outputs(total=totals)
    return examples_of(THEORY, torch.zeros(len(read), 2, 28, 28), read, truth, wanted)


def test_readings_tell_what_was_read_taken_and_true():
    a, b = additions(read=[(11, 5)], truth=[(3, 4)]).readings(0)
    assert (a.name, a.read, a.truth, a.overruled) == ("a", 11, 3, True)
    assert a.taken <= 9
    assert a.text == f"11 → {a.taken}"
    assert sum(bit.overruled for bit in a.bits) == 1
    assert (b.read, b.taken, b.truth, b.overruled, b.wrong) == (5, 5, 4, False, True)
    assert b.text == "5"
    assert [bit.taken for bit in b.bits] == [False, True, False, True]
    assert all(0.9 < bit.certainty < 1 for bit in b.bits)


def test_answers_and_notes_stand_beside_each_other():
    examples = additions(read=[(3, 4), (3, 5)], truth=[(3, 4), (3, 4)])
    assert examples.answers(0) == ("total = 7", "7")
    assert examples.notes(0, "7") == []
    assert examples.answers(1) == ("total = 8", "7")
    assert examples.notes(1, "7") == ["truth: 7"]


def test_a_row_without_a_model_has_no_answer_and_nothing_overruled():
    layer = SMTLayer(THEORY, inference="smt").eval()
    good = additions(read=[(11, 5)], truth=[(3, 5)])
    examples = Examples.of(layer, good.logits, good.batch)
    assert examples.answers(0) == ("no answer", "8")
    assert not examples.overruled.any()
    a, _ = examples.readings(0)
    assert (a.read, a.taken, a.text, a.wrong) == (11, None, "11", True)
    assert [bit.taken for bit in a.bits] == [True, False, True, True]


def test_inputs_that_are_not_known_are_never_overruled():
    a, b, y = z3.Bools("a b y")
    theory = Theory([y == z3.And(a, b), b], inputs=[a, b], outputs=[y])
    ones = torch.ones(1, 2, dtype=torch.int8)
    known = torch.tensor([[True, False]])
    wanted = torch.ones(1, 1)
    examples = examples_of(theory, torch.zeros(1), -ones * ones, ones, wanted, known)
    assert examples.signs.tolist() == [[-1, 0]]
    assert not examples.overruled.any()
    assert examples.readings(0)[1].read is None


@pytest.mark.parametrize("count", [1, 3, 6, 12, 40])
def test_selected_examples_are_repaired_ones_wrong_ones_and_others(count):
    read = [(1, 1)] * 20 + [(11, 5)] * 5 + [(2, 2)] * 5
    shown = additions(read, truth=[(1, 1)] * 30)
    repaired = additions([(11, 5)], [(3, 5)])  # whatever it was taken for is the truth here
    taken = repaired.answer.outputs[0]
    shown.batch.targets[20:25] = (taken > 0).float()
    selected = shown.selected(count)
    assert len(selected) == min(count, 30)
    changed = selected.right & selected.overruled.any(-1)
    assert changed.sum() >= min(5, -(-count // 3))
    if count >= 3:
        assert not selected.right.all()
    numbers = [tuple(row) for row in selected.logits.tolist()]
    assert len(numbers) == len(selected)


def test_selected_examples_are_filled_up_where_a_kind_is_missing():
    selected = additions(read=[(2, 2)] * 9, truth=[(1, 1)] * 9).selected(6)
    assert len(selected) == 6
    assert not selected.right.any()
