"""The part `likelihood` of the bench times whole training steps."""

import runpy
from pathlib import Path

import pytest
import torch
from torch import nn

from smtlayer_benchmarks import likelihood, suite
from smtlayer_benchmarks.command import Part
from smtlayer_benchmarks.likelihood import likelihood_against_labels, likelihood_ratios
from smtlayer_benchmarks.speed import training_step
from smtlayer_benchmarks.timing import Ratio

ROOT = Path(__file__).parents[2]


def test_a_step_clips_the_gradient_and_updates_the_parameters():
    network = nn.Linear(3, 1)
    before = network.weight.detach().clone()
    step = training_step(
        lambda: 1000 * network(torch.ones(3)).sum(), torch.optim.SGD(network.parameters(), 1.0), 0.5
    )
    step()
    moved = torch.cat([(network.weight - before).flatten(), network.bias.grad])
    assert moved.norm().item() == pytest.approx(0.5, rel=1e-4)


def test_the_likelihood_of_sums_is_timed_against_labels_of_digits():
    ratio = likelihood_against_labels("cpu", batch=2, length=4, repeats=1)
    assert ratio.name == "exact likelihood, batch 2"
    assert ratio.ours == "Circuit, sums of 4 digits, 2 rows of 8 images"
    assert ratio.ratio == ratio.ours_ms / ratio.baseline_ms
    assert not ratio.faster
    assert (ratio.bar, ratio.device) == (1.5, "cpu")


def test_both_sides_train_a_network_of_their_own(monkeypatch):
    made = []

    def alternate(first, second, *_, **__):
        for step in (first, second):
            step()
        return 1.0, 1.0

    class Reader(likelihood.DigitReader):
        def __init__(self):
            super().__init__()
            made.append(self)

    monkeypatch.setattr(likelihood, "DigitReader", Reader)
    monkeypatch.setattr(likelihood, "alternate", alternate)
    likelihood_against_labels("cpu", batch=2, length=4)
    assert len(made) == 2
    for network in made:
        gradients = [parameter.grad for parameter in network.parameters()]
        assert all(gradient.isfinite().all() for gradient in gradients)
        assert all(gradient.abs().sum() > 0 for gradient in gradients)


def fake(device, batch, **_):
    return Ratio(f"batch {batch}", "", 1, "", 1, 1, False, 3, device)


def test_large_batches_are_timed_on_a_gpu(monkeypatch):
    monkeypatch.setattr(likelihood, "likelihood_against_labels", fake)
    assert [ratio.name for ratio in likelihood_ratios("cpu")] == ["batch 32"]
    assert [ratio.name for ratio in likelihood_ratios("cuda:1")] == ["batch 32", "batch 128"]


def test_the_bench_has_the_part_likelihood(monkeypatch, capsys):
    monkeypatch.setattr(likelihood, "likelihood_against_labels", fake)
    assert suite.run_suite(
        [Part.LIKELIHOOD], device="cpu", repeats=1, repairs=1, plot=None, as_json=False
    )
    assert "batch 32" in capsys.readouterr().out


def test_the_record_of_a_gpu_repeats_the_training_steps():
    script = runpy.run_path(str(ROOT / "benchmarks" / "gpu.py"))
    names = script["ratios"].__globals__
    names["layer_against_z3"] = lambda: "layer"
    names["step_against_dense"] = lambda device: f"step on {device}"
    names["likelihood_ratios"] = lambda device: [f"32 on {device}", f"128 on {device}"]
    steps = ["step on cuda", "32 on cuda", "128 on cuda"]
    assert list(script["ratios"]()) == ["layer", *steps * 3]
