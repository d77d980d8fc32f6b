"""The closed form of the gradient; `gradcheck` does not apply to a surrogate."""

import pytest
import torch
import torch.nn.functional as F

from helpers import DTYPES, random_logits
from smtlayer.nn.gradient import row_scale, surrogate_gradient, wanted_outputs


@pytest.mark.parametrize("seed", range(3))
def test_the_surrogate_is_the_derivative_of_cross_entropy(seed):
    logits = random_logits(6, 5, seed).requires_grad_()
    targets = torch.rand(6, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    loss = F.binary_cross_entropy_with_logits(logits, targets, reduction="sum")
    (expected,) = torch.autograd.grad(loss, logits)
    everything = torch.ones(6, 5, dtype=torch.bool)
    found = surrogate_gradient(logits.detach(), targets, everything, torch.ones(6, 1))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-15)


def test_the_surrogate_is_zero_where_nothing_is_pushed_and_scaled_by_row():
    logits = torch.zeros(2, 2)
    pushed = torch.tensor([[True, False], [True, True]])
    found = surrogate_gradient(logits, torch.ones(2, 2), pushed, torch.tensor([[1.0], [3.0]]))
    assert found.tolist() == [[-0.5, 0.0], [-1.5, -1.5]]


def test_what_is_not_pushed_may_be_anything():
    logits = torch.tensor([[float("nan"), 0.0]])
    pushed = torch.tensor([[False, True]])
    found = surrogate_gradient(logits, torch.ones(1, 2), pushed, torch.ones(1, 1))
    assert found.tolist() == [[0.0, -0.5]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("output", [-1, 0, 1])
@pytest.mark.parametrize("slope", [-1, 0, 1])
def test_wanted_outputs_are_those_of_the_paper_and_free_where_the_loss_is_flat(
    output, slope, dtype
):
    step = output - 2 * slope
    wanted = 0 if slope == 0 else (step > 0) - (step < 0)
    for size in (1e-6, 0.3, 2000.0):
        found = wanted_outputs(torch.tensor([slope * size], dtype=dtype))
        assert found.tolist() == [wanted]
        assert found.dtype == torch.int8


def test_an_infinite_slope_is_an_opinion_and_one_that_is_no_number_is_none():
    slope = torch.tensor([float("inf"), -float("inf"), float("nan")])
    assert wanted_outputs(slope).tolist() == [-1, 1, 0]


def test_gradient_scale_is_the_size_of_the_incoming_gradient_per_input():
    grad = torch.tensor([[0.5, -0.25], [0.0, 0.0]])
    assert row_scale(grad, 3, "gradient").tolist() == [[0.25], [0.0]]


def test_batch_scale_is_the_mean_over_rows_and_inputs_whatever_the_gradient():
    grad = torch.tensor([[0.5, -0.25], [0.0, 0.0]])
    torch.testing.assert_close(row_scale(grad, 3, "batch"), torch.full((2, 1), 1 / 6))
    assert torch.equal(row_scale(grad, 3, "batch"), row_scale(100 * grad, 3, "batch"))


def test_a_slope_that_is_no_number_is_not_hidden():
    scale = row_scale(torch.tensor([[float("nan")], [0.0]]), 2, "gradient")
    found = surrogate_gradient(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2) > 1, scale)
    assert found.isnan().tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize("scale", ["gradient", "batch"])
def test_an_empty_batch_has_no_scale(scale):
    assert row_scale(torch.zeros(0, 2), 3, scale).shape == (0, 1)
