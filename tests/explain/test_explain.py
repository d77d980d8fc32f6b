"""Explanations: every statement is checked by z3, whatever the theory, rule and backend."""

import json
import math

import pytest
import torch
import z3

from explained import Witness, check_explanation
from helpers import BACKENDS, random_logits, seeds
from smtlayer import Sat, SMTLayer, Theory, one_hot
from smtlayer.testing.theories import THEORIES, random_theory


def explain_and_check(theory, *, seed=0, rows=6, backend=None, inference="maxsmt", weights="logit"):
    options = {} if backend is None else {"backend": backend}
    layer = SMTLayer(theory, inference=inference, weights=weights, **options)
    draw = torch.Generator().manual_seed(seed)
    logits = random_logits(rows, theory.n_inputs, seed)
    known = torch.rand(logits.shape, generator=draw) < 0.8
    wanted = torch.randint(-1, 2, (rows, theory.n_outputs), generator=draw)
    explained = layer.explain(logits, wanted, known, runner_up=True)
    json.dumps(explained.to_list(), allow_nan=False)
    witness = Witness(theory)
    assert len(explained) == rows
    for i, row in enumerate(explained):
        check_explanation(
            witness, row, logits[i], known[i], wanted[i],
            weights=weights, repairs=inference == "maxsmt",
        )  # fmt: skip
        assert str(row)
        assert row._repr_html_()
    return explained


@pytest.mark.parametrize("name", THEORIES)
def test_every_statement_about_a_theory_of_any_kind_is_so(name):
    explained = explain_and_check(THEORIES[name](), rows=10)
    assert {row.status for row in explained} <= {"fits", "repaired"}
    assert any(row.read for row in explained)


@pytest.mark.parametrize("seed", seeds(12, 30))
def test_every_statement_about_a_random_theory_is_so(seed):
    explained = explain_and_check(random_theory(seed), seed=seed)
    assert {row.status for row in explained} <= {"fits", "repaired"}


def test_random_theories_bring_about_every_kind_of_statement():
    rows = [row for seed in range(6) for row in explain_and_check(random_theory(seed), seed=seed)]
    assert {row.status for row in rows} == {"fits", "repaired"}
    assert any(row.overruled for row in rows)
    assert any(row.conflict is not None and row.conflict.constraints for row in rows)
    blames = [row.blame for row in rows if row.blame is not None]
    assert any(blame.inputs and blame.constraints for blame in blames)
    assert any(not blame.inputs for blame in blames)  # wanted outputs that no input allows
    assert any(row.runner_up is not None for row in rows)


@pytest.mark.parametrize(
    ("inference", "weights"),
    [
        ("smt", "logit"),
        ("maxsmt", "softmax"),
        pytest.param("smt", "softmax", marks=pytest.mark.slow),
        pytest.param("maxsmt", "logit", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("backend", [*BACKENDS, Sat()], ids=lambda b: type(b).__name__)
def test_every_backend_and_rule_explains(backend, inference, weights):
    statuses = set()
    for seed in (11, 12, 25):
        explained = explain_and_check(
            random_theory(seed), seed=seed, backend=backend, inference=inference, weights=weights
        )
        statuses |= {row.status for row in explained}
    assert statuses == {"fits", "repaired" if inference == "maxsmt" else "contradicts"}


def digits_theory() -> Theory:
    a, b = z3.BitVecs("a b", 4)
    total = z3.BitVec("total", 5)
    return Theory(
        {
            "sum": total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b),
            "a is a digit": z3.ULE(a, 9),
            "b is a digit": z3.ULE(b, 9),
        },
        inputs=[a, b],
        outputs=[total],
    )


def days_theory() -> Theory:
    first, last = z3.Ints("first last")
    return Theory(
        {"stay": last == first + 2, "weekend": last != 6},
        inputs=[one_hot(first, range(1, 6))],
        outputs=[one_hot(last, range(3, 8))],
    )


def test_what_does_not_fit_is_repaired_and_the_constraint_named():
    layer = SMTLayer(digits_theory())
    logits = torch.tensor([3.0, 0.5, -2.0, -1.0, -4.0, -1.0, 2.0, 1.0])
    (row,) = layer.explain(logits)
    assert row.status == "repaired"
    assert [(s.name, s.value) for s in row.read] == [("a", 12), ("b", 3)]
    assert row.answer == {"total": 11}
    (changed,) = row.overruled
    assert (changed.name, changed.read, changed.taken) == ("a", 12, 8)
    assert (changed.cost, changed.columns) == (0.5, ("a[2]",))
    assert [(p.name, p.value, p.columns) for p in row.conflict.inputs] == [
        ("a", 12, ("a[3]", "a[2]"))
    ]
    (broken,) = row.conflict.constraints
    assert (broken.index, broken.name, broken.text) == (1, "a is a digit", "ULE(a, 9)")
    assert broken.label == "a is a digit"
    assert (row.runner_up, row.runner_up_status) == (None, "not asked")
    assert (row.wanted, row.blame, row.allows) == (None, None, None)


def test_a_wanted_answer_is_explained_by_inputs_and_constraints():
    layer = SMTLayer(digits_theory())
    logits = 3.0 * layer.theory.encode(a=5, b=3).float()
    (row,) = layer.explain(logits, wanted={"total": 9})
    assert (row.status, row.answer, row.wanted) == ("fits", {"total": 8}, {"total": 9})
    assert row.allows is False
    assert [part.columns for part in row.blame.inputs] == [("a[0]",), ("b[0]",)]
    assert [broken.name for broken in row.blame.constraints] == ["sum"]
    assert [part.columns for part in row.blame.wanted] == [("total[0]",)]
    check_explanation(
        Witness(layer.theory), row, logits, wanted=layer.theory.encode_outputs(total=9)
    )


def test_what_is_wanted_and_no_input_allows_blames_constraints_alone():
    layer = SMTLayer(digits_theory())
    (row,) = layer.explain(torch.ones(8), wanted={"total": 30})
    assert row.blame.inputs == ()
    assert row.allows is False
    assert "impossible, whatever is read" in str(row)
    check_explanation(
        Witness(layer.theory), row, torch.ones(8), wanted=layer.theory.encode_outputs(total=30)
    )


def test_what_is_wanted_and_allowed_blames_no_input():
    layer = SMTLayer(digits_theory())
    logits = 3.0 * layer.theory.encode(a=5, b=3).float()
    assert layer.explain(logits, wanted={"total": 8})[0].allows is True
    assert layer.explain(logits, wanted={"total": 8})[0].blame is None
    known = torch.tensor([True] * 4 + [False] * 4)
    (row,) = layer.explain(logits, wanted={"total": 14}, known=known)
    assert row.allows is True


def test_only_part_of_an_output_may_be_wanted():
    layer = SMTLayer(digits_theory())
    logits = 3.0 * layer.theory.encode(a=5, b=3).float()
    (row,) = layer.explain(logits, wanted=torch.tensor([0, 0, -1, 0, 1]))
    assert row.wanted == {"total[2]": False, "total[0]": True}
    assert row.blame.wanted[0].value is None
    assert "total[0] = 1" in str(row)


def test_a_bool_tensor_wants_every_output():
    layer = SMTLayer(digits_theory())
    logits = 3.0 * layer.theory.encode(a=5, b=3).float()
    wanted = layer.theory.encode_outputs(total=8) > 0
    assert layer.explain(logits, wanted)[0].wanted == {"total": 8}


def test_one_wanted_answer_serves_all_rows():
    layer = SMTLayer(digits_theory())
    logits = 3.0 * layer.theory.encode(a=[5, 2], b=3).float()
    explained = layer.explain(logits, wanted={"total": 5})
    assert [row.allows for row in explained] == [False, True]
    explained = layer.explain(logits, wanted={"total": [8, 7]})
    assert [row.wanted for row in explained] == [{"total": 8}, {"total": 7}]


def test_symbols_that_read_several_values_or_none_are_explained():
    layer = SMTLayer(days_theory())
    several = torch.tensor([2.0, -3, 1.0, -3, -3])
    none = torch.tensor([-2.0, -3, -1.0, -3, -3])
    witness = Witness(layer.theory)
    for logits in (several, none):
        (row,) = layer.explain(logits, runner_up=True)
        check_explanation(witness, row, logits)
        assert row.read[0].value is None
        assert row.overruled[0].read is None
        assert row.overruled[0].taken == row.answer["last"] - 2
    assert layer.explain(several)[0].read[0].shown == "1 and 3"
    assert layer.explain(none)[0].read[0].shown == "no value"
    known = torch.tensor([True, True, False, False, True])
    assert layer.explain(none, known=known)[0].read[0].shown == "no value, 2 not known"
    (row,) = layer.explain(several)
    assert row.conflict.constraints == ()  # they exclude each other, whatever the theory says
    assert "first = 1 and first = 3 exclude each other" in str(row)
    (row,) = layer.explain(none)
    assert [broken.index for broken in row.conflict.constraints] == [0, 1, None]
    assert row.conflict.constraints[2].label == "first is one of 1, 2, 3, 4, 5"
    assert "first not 1, 2, 3, 5 breaks:" in str(row)  # 4 is ruled out by the weekend


def test_inputs_that_are_not_known_are_reported_as_such():
    layer = SMTLayer(digits_theory())
    logits = torch.full((8,), math.nan)
    (row,) = layer.explain(logits, known=torch.zeros(8, dtype=torch.bool), runner_up=True)
    assert row.status == "fits"
    assert [symbol.value for symbol in row.read] == [None, None]
    assert [symbol.certainty for symbol in row.read] == [1.0, 1.0]
    assert not any(symbol.known for symbol in row.read)
    assert all(column.value is None for symbol in row.read for column in symbol.columns)
    assert row.to_dict()["read"][0]["columns"][0]["logit"] is None
    assert (row.runner_up.cost, row.runner_up.overruled) == (0.0, ())
    assert "nothing: the solver may choose every input" in str(row)
    some = torch.tensor([True, True, False, False] + [True] * 4)
    (row,) = layer.explain(torch.ones(8), known=some)
    assert row.read[0].value is None
    assert row.read[0].shown == "11??"


def test_a_logit_of_zero_is_false_and_costs_next_to_nothing():
    layer = SMTLayer(digits_theory())
    (row,) = layer.explain(torch.tensor([1.0, 1.0, 0, 0, -1, -1, -1, 0]))
    assert row.read[1].columns[3].value is False
    check_explanation(Witness(layer.theory), row, torch.tensor([1.0, 1.0, 0, 0, -1, -1, -1, 0]))


def test_the_answer_is_by_the_inference_rule_in_either_mode():
    layer = SMTLayer(digits_theory(), forward="smt", inference="maxsmt")
    wrong = 2.0 * torch.ones(8)
    assert layer.train().explain(wrong) == layer.eval().explain(wrong)
    assert layer.train().explain(wrong)[0].status == "repaired"
    strict = SMTLayer(digits_theory(), forward="maxsmt", inference="smt")
    (row,) = strict.explain(wrong)
    assert (row.status, row.answer, row.fits) == ("contradicts", None, False)
    assert row.conflict is not None
    assert row.to_dict()["cost"] is None
    assert "Contradicts the theory: no answer." in str(row)
    solved = layer.eval().solve(wrong)
    assert layer.theory.decode(solved.outputs) == layer.explain(wrong)[0].answer


def test_nothing_is_counted_and_nothing_remembered_for_a_gradient():
    layer = SMTLayer(digits_theory())
    logits = torch.ones(2, 8, requires_grad=True)
    layer.explain(logits, wanted={"total": 3}, runner_up=True)
    assert layer.stats.as_dict() == SMTLayer(digits_theory()).stats.as_dict()
    assert logits.grad is None
