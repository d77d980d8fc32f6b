"""Explanations at the edges: wrong arguments, solvers that give up, time that runs out."""

import copy
import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
import z3

from explained import Witness, check_enough, check_explanation
from helpers import Changed, GivesUp, random_logits, unknown_where
from smtlayer import Z3, Sat, SMTLayer, Solution, Status, Table, Theory, one_hot
from smtlayer.explain.ask import Explainer
from smtlayer.explain.runner_up import RunnersUp
from smtlayer.solvers.search.constraint_core import ConstraintCore, ConstraintCores
from smtlayer.testing.theories import integers
from smtlayer_studies.tasks.addition.theory import addition_theory

a, b, y = z3.Bools("a b y")
RULES = {"either": y == z3.Or(a, b), "not both": z3.Not(z3.And(a, b))}


def theory() -> Theory:
    return Theory(RULES, inputs=[a, b], outputs=[y])


BAD = [
    ((torch.ones(3),), {}, ValueError, "SMTLayer expects logits of shape (batch, 2)"),
    ((torch.tensor([1, 2]),), {}, TypeError, "floating-point tensor. Got torch.int64"),
    ((torch.tensor([1.0, math.nan]),), {}, ValueError, "Row 0, column 1 (b) is nan"),
    ((torch.tensor([1.0, math.inf]),), {}, ValueError, "expects finite logits"),
    ((torch.ones(2),), {"known": torch.ones(2)}, TypeError, "expects known as a bool tensor"),
    ((torch.ones(2), [1]), {}, TypeError, "expects wanted as a tensor of signs, or as a mapping "
     "of values by symbol name. Got list."),
    ((torch.ones(4, 2), torch.ones(3, 1)), {}, ValueError, "expects wanted of shape (4, 1), one "
     "column per theory output. Got (3, 1)."),
    ((torch.ones(2), torch.ones(2)), {}, ValueError, "expects wanted of shape (1,)"),
    ((torch.ones(2), torch.tensor(1)), {}, ValueError, "expects wanted of shape (1,)"),
    ((torch.ones(2), torch.tensor([0.5])), {}, ValueError, "expects wanted as signs: 1 for true, "
     "-1 for false, 0 for no opinion. Got 0.5."),
    ((torch.ones(2), torch.tensor([math.nan])), {}, ValueError, "0 for no opinion. Got nan."),
    ((torch.ones(2), {"z": 1}), {}, ValueError, "'z' is not among the outputs, which are y"),
    ((torch.ones(2), {"y": 7}), {}, ValueError, "'y' is a Bool and takes True or False. Got 7"),
    ((torch.ones(2),), {"timeout_s": 0}, ValueError, "expects timeout_s above 0. Got 0."),
    ((torch.ones(2), {1: True}), {}, TypeError, "expects wanted by symbol name"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "options", "kind", "message"), BAD)
def test_wrong_arguments_are_refused_with_a_reason(given, options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        SMTLayer(theory()).explain(*given, **options)


def test_one_sign_does_not_stand_for_all_outputs():
    with pytest.raises(
        ValueError, match=r"of shape \(5,\), one column per theory output\. Got \(1,"
    ):
        SMTLayer(addition_theory()).explain(torch.ones(8), torch.ones(1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_logits_of_any_precision_are_explained(dtype):
    (row,) = SMTLayer(theory()).explain(torch.tensor([2.0, 0.5], dtype=dtype))
    assert (row.status, row.cost) == ("repaired", 0.5)


def test_autocast_changes_nothing():
    layer, logits = SMTLayer(addition_theory(), backend=Table()), torch.ones(1, 8)
    logits[0, 2] = 1 + 2**-20  # lost in half precision
    with torch.autocast("cpu"):
        row = layer.explain(logits, runner_up=True)[0]
    assert row == layer.explain(logits, runner_up=True)[0]
    check_explanation(Witness(layer.theory), row, logits[0])


def test_a_row_that_the_solver_gives_up_on_is_reported_as_such():
    logits = torch.tensor([[2.0, 0.5], [2.0, -1.0]])
    layer = SMTLayer(theory(), backend=GivesUp((1, 1)), on_unknown="raise")
    unknown, fine = layer.explain(logits, wanted={"y": False}, runner_up=True)
    assert (unknown.status, unknown.fits, unknown.answer) == ("unknown", None, None)
    assert (unknown.cost, unknown.proved, unknown.overruled) == (math.inf, False, ())
    assert (unknown.conflict, unknown.blame, unknown.allows) == (None, None, None)
    assert (unknown.runner_up, unknown.runner_up_status) == (None, "not asked")
    assert unknown.wanted == {"y": False}
    assert unknown.to_dict()["cost"] is None
    assert str(unknown).startswith("No answer in time.")
    assert "y = False: not known whether the reading allows it" in str(unknown)
    assert fine.status == "fits"
    assert fine.runner_up_status == "found"


def test_a_conflict_is_reported_even_if_no_repair_was_found():
    layer = SMTLayer(theory(), backend=GivesUp((1, 1), questions=("maximize",)))
    (row,) = layer.explain(torch.tensor([2.0, 0.5]))
    assert (row.status, row.fits) == ("unknown", False)
    assert [broken.name for broken in row.conflict.constraints] == ["not both"]
    assert str(row).startswith("Contradicts the theory; no repair in time.")


def test_a_repair_is_reported_even_if_no_core_was_found():
    layer = SMTLayer(theory(), backend=GivesUp((1, 1), questions=("core",)))
    (row,) = layer.explain(torch.tensor([2.0, 0.5]), wanted={"y": False})
    assert (row.status, row.fits, row.conflict) == ("repaired", False, None)
    assert (row.allows, row.blame) == (None, None)


@dataclass(frozen=True)
class Hasty:
    """A backend whose repairs are never proved to be the best."""

    def compile(self, theory):
        return Changed(Table().compile(theory), self._change, limit_ms=None, name="Hasty")

    def _change(self, asked, answer):
        if asked.name != "maximize":
            return answer
        unproved = torch.zeros_like(answer.proved)
        return Solution(answer.status, answer.inputs, answer.outputs, answer.cost, unproved)


def test_what_was_not_proved_in_time_says_so():
    layer = SMTLayer(theory(), backend=Hasty())
    (row,) = layer.explain(torch.tensor([2.0, 0.5]), runner_up=True)
    assert (row.status, row.proved, row.fits) == ("repaired", False, False)
    assert (row.runner_up.proved, row.runner_up_status) == (False, "found")
    assert "the least found in time" in str(row)
    only = SMTLayer(Theory([a == b, y], [a, b], [y]), backend=Hasty())
    (row,) = only.explain(torch.tensor([2.0, 0.5]), runner_up=True)
    assert (row.runner_up, row.runner_up_status) == (None, "unknown")


def test_a_row_without_another_answer_says_so():
    for backend in (Table(), Sat(), Z3()):
        layer = SMTLayer(Theory([a == b, y], [a, b], [y]), backend=backend)
        (row,) = layer.explain(torch.tensor([2.0, 0.5]), runner_up=True)
        assert (row.runner_up, row.runner_up_status) == (None, "impossible")


def test_without_time_everything_is_blamed_and_nothing_claimed(monkeypatch):
    monkeypatch.setattr(ConstraintCores, "find", lambda *_, **__: ConstraintCore(Status.UNKNOWN))
    layer = SMTLayer(theory())
    logits = torch.tensor([2.0, 0.5])
    (row,) = layer.explain(logits, wanted={"y": False})
    for blame in (row.conflict, row.blame):
        assert blame.minimal is False
        assert [broken.index for broken in blame.constraints] == [0, 1]
        check_enough(Witness(layer.theory), blame, torch.tensor([1, 1]), torch.tensor([-1]))
    assert [part.name for part in row.blame.wanted] == ["y"]
    assert "no time to show that all of these are needed" in str(row)


def test_runners_up_of_a_solver_that_gives_up_are_unknown():
    class Mute:
        theory = theory()
        limit_ms = None

        def maximize(self, inputs, weights, outputs=None):
            answer = Table().compile(self.theory).maximize(inputs, weights, outputs)
            return unknown_where(torch.ones(len(inputs), dtype=torch.bool), answer)

    signs, outputs = (torch.tensor(x, dtype=torch.int8) for x in ([1, 1], [1]))
    found = RunnersUp(Mute()).find(signs, torch.ones(2), outputs, 10.0)
    assert found.status.item() == Status.UNKNOWN
    assert not found.proved


def test_runners_up_stop_when_time_is_up(monkeypatch):
    solver = Table().compile(theory())
    clock = iter([0.0, 100.0])
    monkeypatch.setattr("smtlayer.explain.runner_up.time.monotonic", lambda: next(clock))
    signs, outputs = (torch.tensor(x, dtype=torch.int8) for x in ([1, -1], [1]))
    found = RunnersUp(solver).find(signs, torch.ones(2), outputs, 10.0)
    assert (found.status.item(), found.proved.item()) == (Status.UNKNOWN, False)


def test_the_best_of_many_output_columns_is_found():
    lamps = [z3.Bool(f"lamp_{i}") for i in range(150)]
    rules = [lamp == (a if i < 70 or i > 140 else b) for i, lamp in enumerate(lamps)]
    layer = SMTLayer(Theory(rules, [a, b], lamps), backend=Table())
    for logits in (torch.tensor([3.0, 1.0]), torch.tensor([1.0, 3.0])):
        (row,) = layer.explain(logits, runner_up=True)
        assert (row.runner_up.cost, row.runner_up.proved) == (1.0, True)
        assert [part.cost for part in row.runner_up.overruled] == [1.0]


def test_names_like_our_own_are_the_users():
    own = [z3.Bool(f"{stem}_{i}") for stem in ("mark", "fact", "twin") for i in range(3)]
    rules = {"all": own[0] == z3.And(own[1:4]), "some": z3.Or(own[4:]), "no": z3.Not(own[4])}
    for backend in (Table(), Sat(), Z3()):
        layer = SMTLayer(Theory(rules, own[1:5], [own[0], *own[5:]]), backend=backend)
        logits = torch.tensor([1.0, 2.0, 3.0, 4.0])
        row = layer.explain(logits, wanted=-torch.ones(5), runner_up=True)[0]
        check_explanation(Witness(layer.theory), row, logits, wanted=-torch.ones(5))


def test_unbounded_integers_have_runners_up_by_z3():
    layer = SMTLayer(integers(), backend=Z3())
    logits = torch.tensor([1.0, -2.0])
    (row,) = layer.explain(logits, runner_up=True)
    check_explanation(Witness(layer.theory), row, logits)
    assert row.runner_up_status == "found"


def test_what_was_compiled_for_explanations_is_kept_and_not_copied():
    layer = SMTLayer(theory(), backend=Sat())
    explained = layer.explain(torch.tensor([2.0, 0.5]), runner_up=True)
    explainer = layer._explainer
    assert isinstance(explainer, Explainer)
    assert layer.explain(torch.tensor([2.0, 0.5]), runner_up=True) == explained
    assert layer._explainer is explainer
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert again._explainer is None
        assert again.explain(torch.tensor([2.0, 0.5]), runner_up=True) == explained


def test_threads_may_ask_one_layer():
    layer = SMTLayer(addition_theory(), backend=Sat())
    rows = random_logits(12, 8)
    alone = [layer.explain(row, wanted={"total": 9}, runner_up=True)[0] for row in rows]
    layer = SMTLayer(addition_theory(), backend=Sat())
    with ThreadPoolExecutor(4) as pool:
        asked = pool.map(lambda row: layer.explain(row, {"total": 9}, runner_up=True)[0], rows)
        for one, other in zip(asked, alone, strict=True):
            assert (one.status, one.cost) == (other.status, other.cost)
            assert one.allows == other.allows
            if other.blame is not None:
                assert one.blame.inputs == other.blame.inputs
            assert one.runner_up.cost == other.runner_up.cost


def test_another_time_limit_is_another_question():
    layer = SMTLayer(theory(), backend=Sat())
    logits = torch.tensor([2.0, 0.5])
    one = layer.explain(logits, runner_up=True, timeout_s=5)
    compiled = layer._explainer._runners_up._with_twins
    assert compiled[0] == 5000
    assert layer.explain(logits, runner_up=True, timeout_s=7.5) == one
    assert layer._explainer._runners_up._with_twins[0] == 7500


def test_symbols_that_are_input_and_output_may_be_wanted_otherwise():
    n = z3.Int("n")
    layer = SMTLayer(Theory({"small": n < 3}, [one_hot(n, [1, 2, 3])], [one_hot(n, [1, 2, 3])]))
    logits = 2.0 * layer.theory.encode(n=1).float()
    wanted = layer.theory.encode_outputs(n=2)
    (row,) = layer.explain(logits, wanted, runner_up=True)
    check_explanation(Witness(layer.theory), row, logits, wanted=wanted)
    assert row.blame.constraints == ()
    assert "excludes the wanted n = 2" in str(row)
    assert row.runner_up.answer == {"n": 2}
