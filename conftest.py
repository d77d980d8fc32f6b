"""Fixtures for all tests."""

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
import torch
import z3


# A hook and not a fixture: doctests under src compile theories too, and no fixture reaches them.
def pytest_configure(config):
    """Child processes too have this run's own disk cache, which ends with it, and hear Ctrl-C."""
    folder = tempfile.TemporaryDirectory(prefix="smtlayer-cache-")
    config.add_cleanup(folder.cleanup)
    os.environ["SMTLAYER_CACHE"] = folder.name
    # Otherwise each of the many child processes compiles the sources, and each run the tests.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells have it for what runs behind
        signal.signal(signal.SIGINT, signal.default_int_handler)  # and with it for child processes


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture
def own_z3_context(monkeypatch):
    """A fresh main context of z3, in which no other script has declared its sorts."""
    monkeypatch.setattr(z3.z3, "_main_ctx", None)


@pytest.fixture(scope="session")
def mnist_dir() -> Path:
    folder = os.environ.get("SMTLAYER_DATA")
    if not folder or not (Path(folder) / "mnist").is_dir():
        pytest.skip("needs MNIST: name the folder that holds mnist/ with SMTLAYER_DATA")
    return Path(folder)
