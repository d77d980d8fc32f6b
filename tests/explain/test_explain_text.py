"""Explanations in a terminal, in a notebook, and as plain data."""

import dataclasses
import json
import pickle
from fractions import Fraction
from html.parser import HTMLParser

import pytest
import torch
import z3

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer.explain import (
    BlamedSymbol,
    Column,
    Contradiction,
    Explanation,
    Explanations,
    SymbolRead,
)
from smtlayer.explain.text import number, percent, statements
from smtlayer.solvers.search.constraint_core import ConstraintRef
from smtlayer_studies.tasks.addition.theory import addition_theory

LOGITS = torch.tensor(
    [[3.0, 0.5, -2.0, -1.0, -4.0, -1.0, 2.0, 1.0], [-3.0, 1.0, -2.0, 1.0, -4.0, -1.0, 2.0, 1.0]]
)


@pytest.fixture(scope="module")
def layer() -> SMTLayer:
    return SMTLayer(addition_theory())


def test_a_batch_prints_row_by_row(layer):
    assert (
        str(layer.explain(LOGITS, wanted={"total": 8}, runner_up=True))
        == """\
Row 0. Contradicts the theory: repaired at a cost of 0.50, the least possible.
  read        a = 12 (38.2 %), b = 3 (46.2 %)
  conflict    a = 12 (a[3] = 1, a[2] = 1) breaks "a is a digit"
  overruled   a: 8 instead of 12 (cost 0.50)
  answer      total = 11 (35.0 %)
  runner-up   total = 15 (12.5 %) at a cost of 1.50; a: 8 instead of 12
              (cost 0.50), b: 7 instead of 3 (cost 1.00)
  wanted      total = 8: ruled out
              a = 12 (a[0] = 0) and b = 3 (b[0] = 1) with the wanted total = 8
              together break "total is a + b"

Row 1. Fits the theory.
  read        a = 5 (44.8 %), b = 3 (46.2 %)
  answer      total = 8 (25.9 %)
  runner-up   total = 4 (8.8 %) at a cost of 1.00; a: 1 instead of 5 (cost 1.00)
  wanted      total = 8: the answer"""
    )


def test_one_row_prints_without_a_number(layer):
    explained = layer.explain(LOGITS[1])
    assert str(explained) == str(explained[0]) == repr(explained) == repr(explained[0])
    assert str(explained).startswith("Fits the theory.\n  read ")


def test_a_long_batch_prints_its_first_rows_and_counts_all(layer):
    explained = layer.explain(LOGITS.repeat(15, 1))
    assert str(explained).endswith(
        "\n\n... and 10 more rows. Of all 30: 15 fit the theory, 15 repaired."
    )
    assert str(explained).count("\n\n") == 20
    assert "Row 19. " in str(explained)
    assert "Row 20. " not in str(explained)
    assert "10 more rows" in explained._repr_html_()
    assert explained._repr_html_().count("<table") == 20
    assert "more row." in str(explained[:21])


def test_no_rows_are_reported_as_such(layer):
    explained = layer.explain(torch.zeros(0, 8), wanted={"total": 8}, runner_up=True)
    assert len(explained) == 0
    assert explained.to_list() == []
    assert str(explained) == "No rows to explain."
    assert "No rows to explain." in explained._repr_html_()


def test_a_batch_of_any_shape_is_explained_row_by_row(layer):
    explained = layer.explain(LOGITS.reshape(2, 1, 8), wanted={"total": [[8], [9]]})
    assert [row.wanted["total"] for row in explained] == [8, 9]
    assert [row.status for row in explained] == ["repaired", "fits"]


def test_explanations_are_a_sequence(layer):
    explained = layer.explain(LOGITS)
    assert isinstance(explained, Explanations)
    assert [row.status for row in explained] == [explained[0].status, explained[-1].status]
    assert explained[1:] == layer.explain(LOGITS[1:])
    assert isinstance(explained[:1], Explanations)
    assert explained[0] in explained
    with pytest.raises(IndexError):
        explained[2]
    assert pickle.loads(pickle.dumps(explained)) == explained
    with pytest.raises(dataclasses.FrozenInstanceError):
        explained[0].status = "fits"


def test_plain_data_goes_through_json(layer):
    explained = layer.explain(LOGITS, wanted={"total": 8}, runner_up=True).to_list()
    assert json.loads(json.dumps(explained, allow_nan=False)) == explained
    assert explained[0]["fits"] is False
    assert explained[0]["answer"] == {"total": 11}
    assert explained[0]["overruled"] == [
        {"name": "a", "read": 12, "taken": 8, "cost": 0.5, "columns": ["a[2]"]}
    ]
    assert explained[0]["conflict"] == {
        "inputs": [{"name": "a", "kind": "bits", "value": 12, "columns": ["a[3]", "a[2]"]}],
        "constraints": [
            {"index": 1, "name": "a is a digit", "text": "ULE(a, 9)", "label": "a is a digit"}
        ],
        "minimal": True,
        "wanted": [],
        "given": [],
    }
    assert explained[0]["read"][0]["columns"][1] == {
        "name": "a[2]", "value": True, "logit": 0.5, "given": False,
    }  # fmt: skip


def test_values_that_json_lacks_are_written_out():
    half, y = z3.Real("half"), z3.Bool("y")
    theory = Theory(y == (half > 1), [one_hot(half, [Fraction(1, 2), Fraction(3, 2)])], [y])
    (row,) = SMTLayer(theory).explain(torch.tensor([-1.0, 1.0]))
    assert row.read[0].value == Fraction(3, 2)
    assert row.to_dict()["read"][0]["value"] == "3/2"
    assert "half = 3/2" in str(row)


class _Texts(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def test_html_is_escaped_and_stands_alone():
    x, y = z3.Bools('<b>x</b> "y"&')
    theory = Theory({"<script>no</script> & never": z3.Not(x), "same": x == y}, [x], [y])
    explained = SMTLayer(theory, inference="smt").explain(torch.tensor([[2.0], [-2.0]]))
    page = _Texts()
    page.feed(explained._repr_html_())
    assert page.tags <= {"div", "table", "tr", "th", "td", "b", "br"}
    assert page.attributes == {"style"}
    assert '<b>x</b> = True breaks "<script>no</script> & never"' in page.text
    assert "url(" not in explained._repr_html_()


def test_html_says_what_the_terminal_says(layer):
    explained = layer.explain(LOGITS, wanted={"total": 8}, runner_up=True)
    page = _Texts()
    page.feed(explained._repr_html_())
    squeezed = "".join(page.text.split())
    assert squeezed == "".join(str(explained).split())


def test_a_theory_of_many_symbols_prints_short():
    count = 60
    switches = [z3.Bool(f"switch_{i}") for i in range(count)]
    lamps = [z3.Bool(f"lamp_{i}") for i in range(count)]
    rules = {
        f"lamp {i}": lamp == s for i, (lamp, s) in enumerate(zip(lamps, switches, strict=True))
    }
    rules["one is off"] = z3.Not(z3.And(switches))
    layer = SMTLayer(Theory(rules, switches, lamps))
    logits = torch.arange(1.0, count + 1)
    known = torch.ones(count, dtype=torch.bool)
    (row,) = layer.explain(logits, known=known, wanted=-torch.ones(count))
    lines = str(row).splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    text = " ".join(str(row).split())
    assert "60 symbols" in text
    assert "least certain: switch_0 = True (73.1 %), switch_1" in text
    assert 'and 52 more together break "one is off"' in text  # all of them are on
    assert "60 values (lamp_0 = False, lamp_1 = True, lamp_2 = True, ...)" in text
    assert "other than the answer: lamp_1 = False" in text
    assert "and 51 more switch_0 = True with the wanted lamp_0 = False breaks" in text


def test_many_broken_constraints_are_counted():
    xs = [z3.Bool(f"x{i}") for i in range(12)]
    rules = {f"step {i}": z3.Implies(xs[i], xs[i + 1]) for i in range(11)}
    (row,) = SMTLayer(Theory(rules, [xs[0]], [xs[-1]])).explain(
        torch.ones(1), wanted=torch.tensor([-1])
    )
    assert len(row.blame.constraints) == 11
    assert '- "step 5"\n              - and 5 more constraints' in str(row)


def test_a_constraint_without_a_name_is_shown_by_its_text():
    short = ConstraintRef(0, None, "a == b")
    long = ConstraintRef(0, None, "x + " * 40 + "1 == 2")
    assert short.label == "a == b"
    assert len(long.label) == 72
    assert long.label.endswith("...")
    assert ConstraintRef(0, "sum", "a == b").label == "sum"


def made(**changes) -> Explanation:
    column = Column("a", True, 2.0)
    start = Explanation(
        "fits", (SymbolRead("a", "bool", True, 0.88, (column,)),), {"y": True}, (), 0.0, True,
        None, None, None, None,
    )  # fmt: skip
    return dataclasses.replace(start, **changes)


def test_what_was_not_proved_is_not_claimed():
    blame = Contradiction(
        (BlamedSymbol("a", "bool", True, ("a",)),), (ConstraintRef(0, "r", "t"),), False
    )
    doubt = "(there was no time to show that all of these are needed)"
    assert doubt in str(made(status="contradicts", answer=None, conflict=blame))
    late = made(status="repaired", proved=False, cost=2.0)
    assert late.fits is None
    assert str(late).startswith("Repaired at a cost of 2.00, the least found in time.")
    late = made(status="repaired", proved=False, cost=2.0, conflict=blame)
    assert late.fits is False
    assert str(late).startswith(
        "Contradicts the theory: repaired at a cost of 2.00, the least found in time."
    )
    unknown = made(status="unknown", answer=None, proved=False)
    assert unknown.fits is None
    assert str(unknown).startswith("No answer in time.")
    unknown = made(status="unknown", answer=None, proved=False, conflict=blame)
    assert str(unknown).startswith("Contradicts the theory; no repair in time.")
    assert "not known whether the reading allows it" in str(made(wanted={"y": False}))
    assert "none found in time" in str(made(runner_up_status="unknown"))
    assert "none: no other answer is possible" in str(made(runner_up_status="impossible"))
    assert "possible with this reading" in str(made(wanted={"y": False}, allows=True))


def test_numbers_are_for_people():
    assert [percent(p) for p in (0.0, 0.5, 0.9994, 0.9999, 1.0)] == [
        "< 0.1 %", "50.0 %", "99.9 %", "> 99.9 %", "> 99.9 %",
    ]  # fmt: skip
    assert [number(c) for c in (0.0, 1e-300, 0.001, 0.5, 12.345)] == [
        "0", "0", "1.0e-03", "0.50", "12.35",
    ]  # fmt: skip


def test_a_wanted_answer_that_came_by_a_repair_is_not_reported_as_missed():
    a, b = z3.Ints("a b")
    theory = Theory(
        {"up": a < b, "near": b - a <= 2},
        inputs=[one_hot(a, range(4))],
        outputs=[one_hot(b, range(4))],
    )
    layer = SMTLayer(theory)
    fits, no = torch.tensor([[-4.0, 4.0, -4.0, -4.0]]), torch.tensor([[-4.0, -4.0, -3.0, 4.0]])
    repaired = layer.explain(no)[0]
    assert repaired.status == "repaired"
    text = str(layer.explain(no, wanted=repaired.answer)[0])
    assert f"b = {repaired.answer['b']}: the answer" in text
    assert "ruled out" not in text
    assert "b = 1: ruled out" in str(layer.explain(fits, wanted={"b": 1})[0])


def test_words_can_stand_for_the_wanted_values(layer):
    row = layer.explain(LOGITS, wanted={"total": 8})[0]
    values, words = dict(statements(row))["wanted"], dict(statements(row, "the truth"))["wanted"]
    assert values[0].startswith("total = 8: ")
    assert words == [values[0].replace("total = 8", "the truth"), *values[1:]]
