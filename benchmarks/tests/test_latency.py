"""The part `latency` of the bench times single rows that fit and rows that are repaired."""

import pytest
import torch

from smtlayer import SMTLayer
from smtlayer.testing.theories import addition
from smtlayer_benchmarks import latency, suite
from smtlayer_benchmarks.command import Part
from smtlayer_benchmarks.latency import Latency


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(latency, "THEORIES", {"sums": lambda: addition(4)})


def test_the_bar_is_a_time():
    assert Latency("sums", "Table", "repaired", 0.15).met
    assert not Latency("sums", "Table", "repaired", 0.16).met


def test_rows_fit_or_are_repaired():
    layer = SMTLayer(latency.THEORIES["exactly 5 of 30"]()).eval()
    costs = {kind: layer.solve(row).cost.item() for kind, row in latency.typical_rows(layer)}
    assert costs["as it is"] == 0 < costs["repaired"] < torch.inf


def test_a_table_shows_every_row(small, monkeypatch, capsys):
    times = iter([0.1, 0.2])
    monkeypatch.setattr(latency, "median_ms", lambda *_: next(times))
    monkeypatch.setattr(
        latency, "typical_rows", lambda layer: ((kind, None) for kind in ("as it is", "repaired"))
    )
    options = {"device": "cpu", "repeats": 1, "repairs": 1, "plot": None, "as_json": False}
    assert not suite.run_suite([Part.LATENCY], **options)
    out = capsys.readouterr().out
    assert "0.100" in out
    assert "met" in out
    assert "0.200" in out
    assert "MISSED" in out


def test_times_are_above_zero():
    layer = SMTLayer(addition(2)).eval()
    assert latency.median_ms(layer, torch.ones(1, 4), 2) > 0


@pytest.mark.slow
def test_a_row_takes_at_most_the_bar():
    assert all(one.met for one in latency.latencies())
