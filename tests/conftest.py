"""Fixtures for all tests."""

import os
import tempfile
from pathlib import Path

import pytest
import torch


# A hook and not a fixture: doctests under src compile theories too, and no fixture reaches them.
def pytest_configure(config):
    """The disk cache of this run is its own, in child processes too, and ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="smtlayer-cache-")
    config.add_cleanup(folder.cleanup)
    os.environ["SMTLAYER_CACHE"] = folder.name


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def mnist_dir() -> Path:
    folder = os.environ.get("SMTLAYER_DATA")
    if not folder or not (Path(folder) / "mnist").is_dir():
        pytest.skip("needs MNIST: name the folder that holds mnist/ with SMTLAYER_DATA")
    return Path(folder)
