"""The loader of the playground takes a run of any task, without its data."""

import sys

import pytest
import torch

from fifth_task import write_distribution
from smtlayer.errors import ConfigError
from smtlayer_playground.trained import load, load_all
from smtlayer_studies.runs import load_experiment, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run of a task that another distribution brings."""
    monkeypatch.syspath_prepend(write_distribution(tmp_path / "site"))
    config = load_experiment("comparison").config("best", settings=["train.epochs=1"])
    run(config, tmp_path / "run")
    yield tmp_path / "run"
    for name in [name for name in sys.modules if name.partition(".")[0] == "brightness"]:
        del sys.modules[name]


def test_a_run_of_another_task_is_loaded(folder):
    found = load(folder)
    assert (found.task, found.data) == ("comparison", "images of one brightness")
    assert [symbol.name for symbol in found.theory.input_symbols] == ["left", "right"]
    assert found.network(torch.zeros(1, 2, 8, 8)).shape == (1, 4)
    assert "accuracy" in found.about()["scores"]


def test_a_task_without_a_page_is_refused(folder):
    with pytest.raises(ConfigError, match=r"is a run of comparison, which has no page\. Pages are"):
        load_all([folder])
