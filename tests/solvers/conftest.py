"""What tests of solvers share: a pool, since workers take seconds to start, and a clock."""

import pytest
from faulty import at_full_strength

from smtlayer.solvers import enumerate as enumeration
from smtlayer.solvers import sat, z3_calls
from smtlayer.solvers import z3 as smt
from smtlayer.solvers.search import maxsat
from smtlayer.solvers.workers.pool import pool_of


class Clock:
    """Advances by one step whenever someone looks: time is work, on a busy machine too."""

    def __init__(self, step_s=0.01):
        self.step_s, self.now = step_s, 0.0

    def monotonic(self):
        self.now += self.step_s
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of the solvers of rows; Sat looks at it once per 100 conflicts."""
    ours = Clock()
    for module in (sat, smt, z3_calls, maxsat):
        monkeypatch.setattr(module, "time", ours)
    monkeypatch.setattr(sat, "_CONFLICTS", 100)
    return ours


@pytest.fixture
def time_for_z3(monkeypatch):
    """The milliseconds given to z3 so far; it stops after counted work instead."""
    given = []

    def ask(solver, timeout_ms, *assumptions):
        given.append(timeout_ms)
        solver.set("rlimit", 300_000)  # a fraction of a second; easy questions take hundreds
        return solver.check(*assumptions)

    for module in (smt, enumeration):
        monkeypatch.setattr(module, "ask", ask)
    return given


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
    monkeypatch.setattr(
        "smtlayer.solvers.workers.cost_model.CostModel.prefers_local", lambda *args: False
    )
