"""A pool of worker processes for all tests of solvers, since each takes seconds to start."""

from functools import partial

import pytest
from faulty import Logs, rows, solver

from smtlayer.solvers.pool import pool_of


@pytest.fixture(scope="session")
def shared_pool():
    """Two workers."""
    return pool_of(2)


@pytest.fixture
def pool(shared_pool, tmp_path):
    """Two workers that have started."""
    log = tmp_path / "warm-up"
    answering = set()
    while len(answering) < 2:
        solver(partial(Logs, log), workers=2).solve(rows(*[20] * 10))
        answering = {line.split()[0] for line in log.read_text().splitlines()[-10:]}
    return shared_pool


@pytest.fixture
def _always_pool(monkeypatch):
    """However cheap the rows are."""
    monkeypatch.setattr("smtlayer.solvers.pace.Pace.stays_here", lambda *args: False)
