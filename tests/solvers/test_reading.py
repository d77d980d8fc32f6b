"""Logits as probabilities of symbols: sigmoid, softmax, facts, and no NaN for any size."""

import math

import pytest
import torch

from smtlayer.solvers.reading import fact_signs, read, without_facts
from smtlayer.testing.theories import addition, colours, mixed_inputs

INF = math.inf


def test_bits_are_read_one_by_one():
    reading = read(addition(), torch.tensor([[0.0, 2.0, -3.0, 50.0]]))
    p = torch.tensor([[0.0, 2.0, -3.0, 50.0]], dtype=torch.float64).sigmoid()
    torch.testing.assert_close(reading.mean, p)
    torch.testing.assert_close(reading.true, p.log())
    assert reading.false[0, 3].item() == pytest.approx(-50, rel=1e-12)
    assert reading.true.dtype == torch.float64


def test_each_one_hot_symbol_is_read_by_its_own_softmax():
    logits = torch.randn(5, 8, generator=torch.Generator().manual_seed(0)).double()
    reading = read(mixed_inputs(), logits)
    torch.testing.assert_close(reading.mean[:, :3], logits[:, :3].softmax(-1))
    torch.testing.assert_close(reading.mean[:, 3:6], logits[:, 3:6].sigmoid())
    torch.testing.assert_close(reading.mean[:, 6:], logits[:, 6:].softmax(-1))
    torch.testing.assert_close(reading.true, reading.mean.log())
    assert not reading.false[:, [0, 1, 2, 6, 7]].any()


@pytest.mark.parametrize(
    ("logits", "mean"),
    [
        ([INF, 4.0, 9.0], [1.0, 0.0, 0.0]),
        ([-INF, 4.0, 4.0], [0.0, 0.5, 0.5]),
        ([-INF, -INF, -5.0], [0.0, 0.0, 1.0]),
        ([INF, -INF, 3.0], [1.0, 0.0, 0.0]),
        ([INF, INF, 3.0], [0.0, 0.0, 0.0]),
        ([-INF, -INF, -INF], [0.0, 0.0, 0.0]),
    ],
)
def test_facts_leave_some_values_of_a_symbol(logits, mean):
    reading = read(colours(), torch.tensor([logits]))
    assert reading.mean.tolist() == [mean]
    assert reading.true.exp().tolist() == [mean]
    assert reading.false.tolist() == [[0.0] * 3]


def test_facts_about_bits_are_certain():
    reading = read(addition(), torch.tensor([[INF, -INF, 0.0, 1.0]]))
    assert reading.mean[0, :2].tolist() == [1.0, 0.0]
    assert reading.true[0, :2].tolist() == [0.0, -INF]
    assert reading.false[0, :2].tolist() == [-INF, 0.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_no_logit_makes_a_nan_and_no_finite_one_is_impossible(dtype):
    most = torch.finfo(dtype).max
    rows = [[most] * 8, [-most] * 8, [most, -most] * 4, [-most, most] * 4, [INF] * 8, [-INF] * 8]
    logits = torch.tensor(rows, dtype=dtype)
    reading = read(mixed_inputs(), logits)
    for part in (reading.true, reading.false, reading.mean):
        assert not part.isnan().any()
    assert reading.true[:4].sum(-1).isfinite().all()
    assert reading.false[:4].sum(-1).isfinite().all()


def test_facts_and_other_logits_come_apart():
    logits = torch.tensor([[INF, -INF, 2.0, 0.0]])
    assert fact_signs(logits).tolist() == [[1, -1, 0, 0]]
    assert without_facts(logits).tolist() == [[0.0, 0.0, 2.0, 0.0]]


def test_an_empty_batch_is_read():
    assert read(mixed_inputs(), torch.empty(0, 8)).mean.shape == (0, 8)
