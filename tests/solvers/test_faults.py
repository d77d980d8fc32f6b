"""Rows that raise, kill or hang, workers and parents that die: nothing else breaks."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import faulty
import pytest
import torch
import z3
from faulty import BAD, assert_answers, at_full_strength, rows, solver

from smtlayer import Z3, SMTLayer, Status, Theory
from smtlayer.errors import SolverCrashedError, SolverUnknownError
from smtlayer.testing.theories import xor

NUMBERS = list(range(20))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_row_solver_that_crashes_leaves_its_row_unknown(pool, workers):
    before = pool.pids
    crashing = solver(faulty.Crashes, workers)
    assert_answers(crashing.solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD])
    assert_answers(crashing.solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD])
    assert pool.pids == before


@pytest.mark.parametrize("workers", [0, 2])
def test_other_errors_of_a_row_solver_leave_its_row_unknown_with_one_warning(pool, workers):
    before = pool.pids
    throwing = solver(faulty.Throws, workers)
    with pytest.warns(RuntimeWarning, match="Faulty failed on a row: ZeroDivisionError: no such"):
        found = throwing.solve(rows(*NUMBERS))
    assert_answers(found, NUMBERS, unknown=[BAD])
    assert_answers(throwing.solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD])
    assert pool.pids == before


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.usefixtures("pool")
def test_a_model_that_does_not_fit_is_an_error_of_its_row(workers):
    with pytest.warns(RuntimeWarning, match="Faulty failed on a row: ValueError"):
        found = solver(faulty.Wide, workers).solve(rows(1, 2))
    assert_answers(found, [1, 2], unknown=[1, 2])


def test_a_row_that_kills_its_worker_twice_is_unknown_and_no_other(shared_pool, tmp_path):
    deadly = solver(faulty.Dies)
    assert_answers(deadly.solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD])
    assert_answers(deadly.solve(rows(1, 2, 3)), [1, 2, 3])
    assert deadly._first.costs.dangerous
    assert at_full_strength(shared_pool, tmp_path / "log")
    for _ in range(5):  # never in this process, however cheap the rows are
        assert_answers(deadly.solve(rows(BAD + 1)), [BAD + 1])
    assert not deadly._first.local.opened


def test_a_worker_killed_from_outside_is_replaced_and_its_rows_asked_again(pool):
    numbers = [30 + i for i in range(40)]
    victim = pool.pids[0]
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()
    assert_answers(solver(faulty.Sleeps).solve(rows(*numbers)), numbers)
    killer.join()
    assert victim not in pool.pids


def test_a_worker_that_died_idle_is_replaced_and_no_row_is_lost(pool):
    asked = solver(faulty.Echo)
    assert_answers(asked.solve(rows(1, 2)), [1, 2])
    victim = pool.pids[0]
    os.kill(victim, signal.SIGKILL)
    os.waitid(os.P_PID, victim, os.WEXITED | os.WNOWAIT)  # the pool collects it
    assert_answers(asked.solve(rows(3, 4)), [3, 4])
    assert not asked._first.costs.dangerous


def test_a_row_that_hangs_is_unknown_in_time_and_no_other(shared_pool, monkeypatch, tmp_path):
    monkeypatch.setattr("smtlayer.solvers.workers.pool._MARGIN_S", 4.0)
    hanging = solver(faulty.Hangs, limit_ms=100)
    assert_answers(hanging.solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD])
    assert_answers(hanging.solve(rows(1, 2, 3)), [1, 2, 3])
    assert at_full_strength(shared_pool, tmp_path / "log")


def test_a_theory_that_cannot_be_opened_is_an_error_and_the_pool_goes_on(pool):
    before = pool.pids
    hopeless = solver(faulty.CannotOpen)
    for _ in range(2):
        with pytest.raises(SolverCrashedError, match=r"open the theory .ValueError: the licence"):
            hopeless.solve(rows(1, 2, 3))
    assert_answers(solver(faulty.Echo).solve(rows(4, 5)), [4, 5])
    assert set(before) & set(pool.pids)


@pytest.mark.usefixtures("shared_pool")
def test_a_theory_that_kills_who_opens_it_leaves_all_rows_unknown():
    asked = solver(faulty.DiesAtOpening)
    with pytest.warns(RuntimeWarning, match=r"die or hang when they open .* code 3; .* workers=0"):
        found = asked.solve(rows(1, 2, 3))
    assert_answers(found, [1, 2, 3], unknown=[1, 2, 3])


@pytest.mark.parametrize(
    ("boot", "reason"),
    [
        ("raise SystemExit(5)", "exit code 5"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "code -9", marks=pytest.mark.slow),
    ],
)
def test_workers_that_never_start_leave_all_rows_unknown(monkeypatch, boot, reason):
    monkeypatch.setattr("smtlayer.solvers.workers.process._BOOT", boot)
    asked = solver(faulty.Echo, workers=3)
    with pytest.warns(RuntimeWarning, match=rf"do not start .*{reason}; .* use fewer workers"):
        found = asked.solve(rows(1, 2, 3))
    assert_answers(found, [1, 2, 3], unknown=[1, 2, 3])
    assert_answers(asked.solve(rows(1)), [1], unknown=[1])  # the warning came once
    monkeypatch.undo()
    assert_answers(asked.solve(rows(1, 2, 3)), [1, 2, 3])  # as soon as they start again


def test_workers_for_which_the_system_has_no_room_leave_all_rows_unknown(monkeypatch):
    def refuse(lifeline):
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr("smtlayer.solvers.workers.pool.WorkerProcess", refuse)
    with pytest.warns(RuntimeWarning, match=r"do not start .*no more processes"):
        found = solver(faulty.Echo, workers=3).solve(rows(1, 2))
    assert_answers(found, [1, 2], unknown=[1, 2])


def test_a_worker_that_started_answers_all_rows_though_no_other_starts(monkeypatch):
    asked = solver(faulty.Sleeps, workers=4)
    assert_answers(asked.solve(rows(1)), [1])  # one row, one worker
    monkeypatch.setattr("smtlayer.solvers.workers.process._BOOT", "raise SystemExit(5)")
    numbers = list(range(40, 60))
    assert_answers(asked.solve(rows(*numbers)), numbers)


@pytest.fixture
def layer_without_workers(monkeypatch):
    """Makes a layer whose workers are gone, and no others start."""

    def make(on_unknown):
        layer = SMTLayer(xor(), backend=Z3(workers=3, remember=9), on_unknown=on_unknown)
        pool = layer.solver._first._following.pool
        for worker in [*pool._workers]:
            pool._drop(worker)
        monkeypatch.setattr("smtlayer.solvers.workers.process._BOOT", "raise SystemExit(5)")
        return layer

    return make


@pytest.mark.filterwarnings("ignore:Z3 failed on a row:RuntimeWarning")
def test_a_layer_whose_workers_never_start_follows_on_unknown(layer_without_workers):
    layer = layer_without_workers("zero")
    assert layer(torch.ones(2, 2)).tolist() == [[0.0], [0.0]]
    assert layer.stats.unknown == 2
    message = r"Z3 gave up on 2 of 2 rows .first: row 0.: worker processes do not start .*"
    with pytest.raises(SolverUnknownError, match=message + 'or pass on_unknown="zero"'):
        layer_without_workers("raise")(torch.ones(2, 2))


def factoring() -> Theory:
    """Two factors of a product: at once where they are given, beyond anyone's patience if not."""
    p, q = z3.BitVecs("p q", 40)
    product = z3.BitVec("product", 80)
    wide = z3.ZeroExt(40, p) * z3.ZeroExt(40, q)
    return Theory([product == wide, z3.UGT(p, 1), z3.UGT(q, 1)], inputs=[product, p], outputs=[q])


@pytest.mark.usefixtures("shared_pool")
def test_hard_rows_run_out_of_time_and_easy_ones_are_right():
    theory = factoring()
    easy = theory.encode(product=6, p=2)
    hard = theory.encode(product=712_345_678_943 * 893_456_789_047)  # both prime
    timed = Z3(timeout_ms=1500, workers=2).compile(theory)
    found = timed.solve(torch.stack([easy, hard, easy]))
    assert found.status.tolist() == [Status.SAT, Status.UNKNOWN, Status.SAT]
    assert theory.decode(found.outputs[::2])["q"].tolist() == [3, 3]


INTERRUPTED = """
import faulty
asked = faulty.solver(faulty.{row}, workers={workers}, limit_ms=100_000)
faulty.assert_answers(asked.solve(faulty.rows(1, 2, 3, 4)), [1, 2, 3, 4])
try:
    print(*asked._first.pool.pids, flush=True)
    asked.solve(faulty.rows(*[{number}] * 100))
except KeyboardInterrupt:
    faulty.assert_answers(asked.solve(faulty.rows(5, 6)), [5, 6])
    print(*asked._first.pool.pids, flush=True)
asked.solve(faulty.rows(*[{number}] * 100))
"""


def started(row, number, workers):
    """A Python process that asks for ever, and the workers it has."""
    script = INTERRUPTED.format(row=row, number=number, workers=workers)
    path = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, workers_of(process)


def workers_of(process):
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert pids
    time.sleep(0.5)  # so that the next batch is under way
    return pids


def ended(process):
    """The stderr of the process, which its workers hold open too."""
    return process.communicate(timeout=600)[1]


def gone(pids):
    """Whether these processes have ended, within a time of grace."""
    deadline = time.monotonic() + 300
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_ctrl_c_ends_the_batch_and_the_next_one_gets_its_own_answers():
    process, first = started("Sleeps", 200, workers=1)
    process.send_signal(signal.SIGINT)
    second = workers_of(process)
    assert gone(set(first) - set(second))
    process.send_signal(signal.SIGINT)
    messages = ended(process)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in messages
    assert gone(second)


def test_busy_workers_die_with_a_parent_that_is_killed():
    process, workers = started("HoldsTheInterpreter", BAD, workers=2)
    process.kill()
    ended(process)
    assert gone(workers)


def test_ctrl_c_in_the_terminal_does_not_reach_the_workers(pool):
    before = pool.pids
    asked = solver(faulty.Sleeps)
    interrupt = threading.Timer(0.2, lambda: [os.kill(pid, signal.SIGINT) for pid in before])
    interrupt.start()
    assert_answers(asked.solve(rows(*[40] * 20)), [40] * 20)
    interrupt.join()
    assert pool.pids == before
