"""The bars, as assertions; run on a quiet machine with: pytest benchmarks -m 'slow or gpu'."""

import pytest
import torch

from smtlayer_benchmarks.likelihood import likelihood_ratios
from smtlayer_benchmarks.speed import layer_against_z3, step_against_dense


@pytest.mark.slow
def test_the_layer_is_a_hundred_times_faster_than_z3_row_by_row():
    assert layer_against_z3().met


@pytest.mark.slow
def test_a_training_step_with_the_layer_takes_no_more_than_a_tenth_longer():
    assert step_against_dense("cpu").met


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_training_step_on_a_gpu_takes_no_more_than_a_quarter_longer():
    assert step_against_dense("cuda").met


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_with_the_exact_likelihood_takes_at_most_three_times_as_long_on_a_gpu():
    for ratio in likelihood_ratios("cuda"):
        assert ratio.met, ratio
