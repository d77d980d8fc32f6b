"""A task that trains in seconds: two bits drawn as brightness, their conjunction as the label."""

import pytest
import torch
import z3
from torch import nn

from smtlayer import Theory
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import RunConfig
from smtlayer_studies.tasks.base import Pretraining, Rows


class Bits:
    """Rows of two noisy numbers, above or below zero; the label is whether both are above."""

    name, data_source, data_title = "bits", "made", "numbers made up for tests"
    scored_split = "test"

    def __init__(self):
        a, b, both = z3.Bools("a b both")
        self.theory = Theory(both == z3.And(a, b), inputs=[a, b], outputs=[both])

    def rows(self, split, count, seed, epoch=0):
        if split == "validation":
            raise ConfigError("no validation rows")
        draw = torch.Generator().manual_seed(seed * 1009 + epoch)
        signs = torch.randint(2, (count, 2), generator=draw) * 2 - 1
        numbers = signs * 2 + torch.randn(count, 2, generator=draw) * 0.3
        both = (signs > 0).all(-1, keepdim=True)
        return Rows(numbers, both.float(), signs.to(torch.int8), signs[:, 0] == signs[:, 1])

    def network(self):
        return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))


class Reconstruct(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network, self.back = network, nn.Linear(2, 2)

    def forward(self, features):
        return nn.functional.mse_loss(self.back(self.network(features)), features)


@pytest.fixture
def task():
    bits = Bits()
    bits.pretraining = Pretraining(autoencoder=Reconstruct)
    return bits


@pytest.fixture
def config():
    def make(seed=0, **groups):
        data = {"task": {"name": "bits"}, "train": {"epochs": 2, "rows": 160, "batch_size": 16,
                                                    "lr": 0.02, "test_rows": 100}}  # fmt: skip
        for name, options in groups.items():
            data[name] = options if options is False else data.get(name, {}) | options
        return RunConfig.of(data, experiment="bits", method="best", seed=seed, device="cpu")

    return make
