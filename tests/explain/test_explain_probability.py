"""Explanations show how probable the answer and the runner-up are, where that is known."""

import json
import math

import pytest
import torch
import z3

from helpers import GivesUp
from smtlayer import Sat, SMTLayer, Table, Theory, one_hot
from smtlayer.testing.theories import addition


def digits():
    a, b, total = z3.Ints("a b total")
    symbols = [one_hot(a, range(4)), one_hot(b, range(4))]
    return Theory(total == a + b, inputs=symbols, outputs=[one_hot(total, range(7))])


def shares(logits):
    """The distribution of the sum of two digits read by softmax."""
    a, b = logits.double().reshape(2, 4).softmax(-1).tolist()
    return [sum(a[i] * b[t - i] for i in range(4) if 0 <= t - i < 4) for t in range(7)]


@pytest.mark.parametrize("shift", [0.0, -3.0, 5.0])
def test_both_probabilities_are_exact(shift):
    logits = torch.tensor([-1.0, 3.0, -2.0, 0.5, -4.0, -1.0, 2.0, -3.0])
    logits[4:] += shift
    (row,) = SMTLayer(digits(), backend=Table()).explain(logits, runner_up=True)
    exact = shares(logits)
    assert row.probability == pytest.approx(exact[row.answer["total"]])
    assert row.runner_up.probability == pytest.approx(exact[row.runner_up.answer["total"]])
    assert row.answer["total"] == 3
    text = f"total = 3 ({100 * exact[3]:.1f} %)"
    assert text in str(row)
    assert text in row._repr_html_()
    other = row.runner_up.answer["total"]
    assert f"total = {other} ({100 * exact[other]:.1f} %) at a cost" in str(row)
    plain = json.loads(json.dumps(row.to_dict()))
    assert plain["probability"] == row.probability
    assert plain["runner_up"]["probability"] == row.runner_up.probability


def test_the_probability_is_given_theory_and_facts():
    a, b, y = z3.Bools("a b y")
    theory = Theory([y == z3.And(a, b), z3.Or(a, b)], inputs=[a, b], outputs=[y])
    layer = SMTLayer(theory, backend=Table())
    logits = torch.tensor([1.0, -2.0])
    p, q = torch.sigmoid(logits.double()).tolist()
    (row,) = layer.explain(logits)
    assert row.answer == {"y": False}
    assert row.probability == pytest.approx((p + q - 2 * p * q) / (p + q - p * q))
    (row,) = layer.explain(logits, given=torch.tensor([True, False]), runner_up=True)
    assert (row.probability, row.runner_up.probability) == pytest.approx((1 - q, q))
    (row,) = layer.explain(logits, known=torch.tensor([False, False]))
    assert row.probability == pytest.approx(1 / 3 if row.answer["y"] else 2 / 3)
    (row,) = layer.explain(-torch.ones(2), given=torch.tensor([True, True]))
    assert (row.status, row.answer, row.probability) == ("contradicts", None, None)
    assert "%" not in str(row).split("read")[0]


@pytest.mark.parametrize("backend", [Sat(), GivesUp((9, 9, 9, 9))], ids=["sat", "other"])
def test_solvers_that_do_not_weigh_models_show_none(backend):
    (row,) = SMTLayer(addition(), backend=backend).explain(torch.ones(4), runner_up=True)
    assert (row.probability, row.runner_up.probability) == (None, None)
    assert "answer      total = 6\n" in str(row)


def test_extreme_logits_make_no_nan():
    layer = SMTLayer(digits(), backend=Table())
    logits = torch.tensor([[1e30, -1e30, 5.0, 1e30] * 2, [-1e30] * 8])
    for row in layer.explain(logits, runner_up=True):
        assert math.isfinite(row.probability)
        assert math.isfinite(row.runner_up.probability)


def test_a_one_hot_symbol_is_as_certain_as_its_softmax():
    layer = SMTLayer(digits(), backend=Table())
    logits = torch.tensor([-1.0, 3.0, -2.0, -0.5, 1.0, 1.0, -2.0, -3.0])
    known = torch.tensor([True] * 8)
    (row,) = layer.explain(logits)
    assert row.read[0].certainty == pytest.approx(logits[:4].softmax(-1)[1].item())
    assert row.read[1].certainty == 0.0  # two values cannot both be right
    logits[4:] = torch.tensor([-1.0, -1.0, -2.0, 0.0])
    assert layer.explain(logits)[0].read[1].certainty == 0.0  # nor can none
    known[7] = False
    (row,) = layer.explain(logits, known=known)
    assert row.read[1].certainty == pytest.approx(logits[4:].softmax(-1)[3].item())
    given = torch.tensor([False] * 4 + [True, True, True, False])
    (row,) = layer.explain(logits, known=known, given=given)
    assert row.read[1].certainty == 1.0


@pytest.mark.parametrize("length", range(8, 20))
def test_a_percentage_stays_on_one_line(length):
    a, b, c, d = (z3.Bool(name * length) for name in "abcd")
    layer = SMTLayer(Theory(a == b, inputs=[a, b, c], outputs=[d]), backend=Table())
    for logits in (torch.full((3,), 20.0), torch.tensor([20.0, -20.0, 0.5])):
        lines = str(layer.explain(logits)).splitlines()
        assert all(line.count("(") == line.count(")") for line in lines if "%" in line)
