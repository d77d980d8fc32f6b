import pytest
import torch

from smtlayer import Table
from smtlayer_benchmarks.baseline import RowByRow
from smtlayer_benchmarks.speed import layer_against_z3
from smtlayer_benchmarks.timing import Ratio, alternate
from smtlayer_studies.tasks.addition.theory import addition_theory


def test_the_baseline_answers_right():
    theory = addition_theory()
    rows = RowByRow(theory)
    solver = Table().compile(theory)
    generator = torch.Generator().manual_seed(0)
    signs = (torch.randint(0, 2, (40, 8), generator=generator) * 2 - 1).to(torch.int8)
    assert rows.forward(signs) == solver.solve(signs).outputs.tolist()
    wanted = theory.encode_outputs(total=[7] * 40)
    for inputs, outputs, core in zip(signs, wanted, rows.backward(signs, wanted), strict=True):
        blamed = torch.zeros(8, dtype=torch.int8)
        blamed[core] = inputs[core]
        answer = solver.core(inputs[None], torch.ones(1, 8), outputs[None])
        if answer.status.item() == 1:
            assert core == []
            continue
        again = solver.core(blamed[None], torch.ones(1, 8), outputs[None])
        assert again.status.item() == 0
        assert again.inputs.sum() == len(core), "z3's core is not minimal"


def test_the_layer_is_timed_against_z3_row_by_row():
    ratio = layer_against_z3(batch=8, repeats=1)
    assert ratio.faster
    assert ratio.ratio == ratio.baseline_ms / ratio.ours_ms


@pytest.mark.slow  # it asserts times
def test_the_layer_is_far_faster_than_z3_row_by_row():
    # The bar of 100 is for a batch of 128 on a quiet machine: `smtlayer bench`.
    assert layer_against_z3(batch=32, repeats=3).ratio > 10


def test_bars_are_met_on_the_right_side():
    def ratio(value, faster):
        return Ratio("", "", 1, "", 1, value, faster, 2, "cpu").met

    assert ratio(3, True)
    assert not ratio(1, True)
    assert ratio(1, False)
    assert not ratio(3, False)


def test_both_sides_are_timed_in_turn_after_a_warm_up():
    calls = []
    alternate(lambda: calls.append("a"), lambda: calls.append("b"), 3, inner=(2, 1))
    assert calls == ["a", "a", "b"] * 5
