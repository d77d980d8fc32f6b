"""On a GPU: a training of a portfolio has its own random numbers there."""

import pytest
import torch
from torch import nn

from smtlayer import SMTLayer
from smtlayer.loop import Stepper
from smtlayer.portfolio import Portfolio
from smtlayer.testing.theories import addition

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def train(setting):
    """Draws rows, dropout masks and models on the GPU."""
    torch.manual_seed(setting)
    network = nn.Sequential(
        nn.Linear(5, 6), nn.Dropout(0.3), SMTLayer(addition(3), backward="sample")
    )
    step = Stepper(network.cuda(), torch.optim.SGD(network.parameters(), 0.1), total=24)
    for number in step:
        outputs = network(torch.randn(16, 5, device="cuda"))
        step((outputs * torch.randn_like(outputs)).sum())
        if number % 6 == 5:
            yield 0.01 * setting
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def test_a_training_is_what_it_is_alone():
    result = Portfolio([1, 3, 2], rounds=4, keep={1: 2, 3: 1}, budget=3).run(train)
    alone = Portfolio([3], rounds=4).run(train)
    assert result.setting == 3
    torch.testing.assert_close(result.value, alone.value, rtol=0, atol=0)
