"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def mnist_dir() -> Path:
    folder = os.environ.get("SMTLAYER_DATA")
    if not folder or not (Path(folder) / "mnist").is_dir():
        pytest.skip("needs MNIST: name the folder that holds mnist/ with SMTLAYER_DATA")
    return Path(folder)
