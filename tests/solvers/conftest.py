"""A pool of worker processes for all tests of solvers, since each takes seconds to start."""

import pytest
from faulty import at_full_strength

from smtlayer.solvers.pool import pool_of


@pytest.fixture(scope="session")
def shared_pool():
    """Two workers."""
    return pool_of(2)


@pytest.fixture
def pool(shared_pool, tmp_path):
    """Two workers that have started."""
    assert at_full_strength(shared_pool, tmp_path / "warm-up")
    return shared_pool


@pytest.fixture
def _always_pool(monkeypatch):
    """However cheap the rows are."""
    monkeypatch.setattr("smtlayer.solvers.pace.Pace.stays_here", lambda *args: False)
