"""What a SAT solver does when time runs out, and what it leaves behind."""

import os
import random
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch
import z3

from helpers import running
from smtlayer import Core, Sat, SMTLayer, Status, Theory
from smtlayer.solvers import sat
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.sat import SatRow
from smtlayer.testing.theories import addition

LIMIT_MS = 200  # 20 steps of the clock


def crowded(holes=14):
    """With a, more pigeons than holes; without, nothing difficult."""
    a, b, y = z3.Bools("a b y")
    sits = [[z3.Bool(f"sits_{i}_{j}") for j in range(holes)] for i in range(holes + 1)]
    housed = [z3.Or(pigeon) for pigeon in sits]
    alone = [z3.AtMost(*(pigeon[j] for pigeon in sits), 1) for j in range(holes)]
    rule = z3.Implies(a, z3.And(*housed, *alone))
    return Theory([rule, y == z3.Or(a, b)], inputs=[a, b], outputs=[y])


ROWS = torch.tensor([[1, -1], [-1, 1], [-1, -1], [1, 1]], dtype=torch.int8)
WANTED = torch.tensor([[1], [-1], [-1], [0]], dtype=torch.int8)
ASK = {
    "solve": lambda solver: solver.solve(ROWS),
    "maximize": lambda solver: solver.maximize(ROWS, torch.ones(4, 2)),
    "core": lambda solver: solver.core(ROWS, torch.ones(4, 2), WANTED),
}


@pytest.mark.parametrize("question", ["solve", "core"])
def test_rows_that_take_too_long_are_unknown_and_the_others_are_answered(question, clock):
    solver = Sat(timeout_ms=LIMIT_MS).compile(crowded())
    answer = ASK[question](solver)
    assert 2 * LIMIT_MS <= 1000 * clock.now <= 3 * LIMIT_MS
    assert not answer.inputs[[0, 3]].any()
    unknown, sat = Status.UNKNOWN, Status.SAT
    if isinstance(answer, Core):
        assert answer.status.tolist() == [unknown, Status.UNSAT, sat, unknown]
        assert answer.inputs[1].tolist() == [False, True]
    else:
        assert answer.status.tolist() == [unknown, sat, sat, unknown]
        assert answer.outputs.flatten().tolist() == [0, 1, -1, 0]
        assert answer.cost.tolist() == [float("inf"), 0.0, 0.0, float("inf")]
    assert solver.solve(ROWS[1:2]).status.item() == Status.SAT  # and it goes on


@pytest.mark.usefixtures("clock")
def test_a_repair_whose_first_question_takes_too_long_still_finds_a_model():
    best = ASK["maximize"](Sat(timeout_ms=LIMIT_MS).compile(crowded()))
    assert best.status.tolist() == [Status.SAT] * 4
    assert best.proved.tolist() == [False, True, True, False]
    assert best.inputs[[0, 3], 0].tolist() == [-1, -1], "pigeons in too few holes"
    assert best.cost.tolist()[1:3] == [0.0, 0.0]
    assert best.cost[[0, 3]].min() >= 1.0
    assert best.cost.isfinite().all()


def cuts(vertices=100, edges=400):
    """An input for each edge of a graph: whether it is cut. To cut them all is too much to ask."""
    draw = random.Random(0)
    sides = [z3.Bool(f"side{n}") for n in range(vertices)]
    cut = [z3.Bool(f"cut{n}") for n in range(edges)]
    ends = [draw.sample(sides, 2) for _ in cut]
    return Theory([c == z3.Xor(*e) for c, e in zip(cut, ends, strict=True)], cut, [cut[0]])


def test_a_repair_that_takes_too_long_is_the_best_so_far_and_not_proved(clock):
    theory = cuts()
    solver = Sat(timeout_ms=LIMIT_MS).compile(theory)
    rows = torch.ones(1, 400, dtype=torch.int8)
    found = solver.maximize(rows, torch.ones(1, 400))
    assert LIMIT_MS <= 1000 * clock.now <= 20 * LIMIT_MS  # past the limit it only looks
    assert (found.status.item(), found.proved.item()) == (Status.SAT, False)
    assert found.cost.item() == (found.inputs < 0).sum().item()
    assert 20 < found.cost.item() < 200
    assert solver.solve(found.inputs).status.item() == Status.SAT
    layer = SMTLayer(theory, backend=Sat(timeout_ms=LIMIT_MS), forward="maxsmt")
    layer(torch.cat([rows, found.inputs]).double())
    stats = layer.stats
    assert (stats.sat, stats.unproved, stats.unknown) == (2, 1, 0)


INTERRUPTED = """
    from smtlayer import Sat
    from test_sat_limits import ROWS, crowded
    solver = Sat(timeout_ms=10**9).compile(crowded())
    try:
        print("ready", flush=True)
        solver.solve(ROWS)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(solver.solve(ROWS[1:3]).outputs.tolist(), flush=True)
"""


def test_ctrl_c_ends_a_long_question_and_the_next_one_is_answered():
    folders = [str(Path(__file__).parent), *sys.path]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    with running(command, env=env, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)  # so that the question is under way
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.stdout.readline() == "[[1], [-1]]\n"
        process.wait()
    assert process.returncode == 0


def resident():
    """Megabytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def questions(theory, count):
    """Random signs and weights: some cost nothing to repair, some take a search."""
    generator = torch.Generator().manual_seed(0)
    shape = (count, theory.n_inputs)
    inputs = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    return inputs.tolist(), (torch.rand(shape, generator=generator) + 0.1).tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_repairs_add_is_forgotten():
    theory = addition(4)
    cnf = to_cnf(theory)
    row = SatRow(cnf, theory.n_inputs, timeout_ms=60_000)
    wanted = theory.encode_outputs(total=11).tolist()
    inputs, weights = questions(theory, 3000)
    for i in range(3000):
        if i == 1100:
            before = resident()
        assert row.maximize(inputs[i], weights[i], wanted).proved
        assert row.top < cnf.n_variables + sat._REPAIRS + 1_000
    assert resident() - before < 10
    assert row._solver.nof_vars() < cnf.n_variables + sat._REPAIRS + 1_000


def test_a_repair_that_took_many_variables_does_not_slow_those_after_it(monkeypatch):
    monkeypatch.setattr(sat, "_COUNTERS", 100)
    theory = cuts(40, 80)
    cnf = to_cnf(theory)
    row = SatRow(cnf, theory.n_inputs, timeout_ms=60_000)
    row.maximize([1] * 80, [1.0] * 80, [0])
    assert row._solver.nof_vars() > cnf.n_variables + sat._REPAIRS + 100
    row.maximize([0] * 80, [1.0] * 80, [0])
    assert row._solver.nof_vars() <= cnf.n_variables + sat._REPAIRS
