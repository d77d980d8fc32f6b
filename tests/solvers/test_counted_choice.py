"""The same theory gets the same backend: whatever the clock, the load, the cache and the call."""

import itertools
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import z3

from smtlayer import Auto, SMTLayer, Table, Theory, TooManyModelsError
from smtlayer.solvers.circuit import compilation
from smtlayer.solvers.clauses import translation
from smtlayer.solvers.table import models as listing
from smtlayer.solvers.table.models import list_models
from smtlayer.testing.theories import addition

y = z3.Bool("y")


def pipes(count=8):
    """Reals: 256 models that only z3 can list."""
    flows = z3.Reals(" ".join(f"flow{i}" for i in range(count)))
    valves = z3.Bools(" ".join(f"open{i}" for i in range(count)))
    amounts = [z3.If(valve, flow, 0) for valve, flow in zip(valves, flows, strict=True)]
    sizes = [flow == i + z3.Q(3, 2) for i, flow in enumerate(flows)]
    return Theory([*sizes, y == (z3.Sum(amounts) > count * count / 4)], valves, [y])


def wide(bits):
    p, q = z3.BitVecs("p q", bits)
    return Theory(y == z3.UGT(p, q), inputs=[p, q], outputs=[y])


def products():
    p, q = z3.BitVecs("p q", 12)
    return Theory(y == z3.UGT(p * q * p, q), inputs=[p, q], outputs=[y])


def endless():
    p, q = z3.BitVecs("p q", 16)
    return Theory(y == (z3.ToReal(z3.BV2Int(p)) / 3 > z3.ToReal(z3.BV2Int(q))), [p, q], [y])


def cubes():
    """Nothing is found, however long one looks."""
    k, m, n = z3.Ints("k m n")
    rule = k * k * k + m * m * m == n * n * n
    return Theory([rule, k > 0, m > 0, n > 0, y == (k > m)], inputs=[y], outputs=[y])


CHOICES = {
    "finite": (lambda: addition(4), "Table"),
    "reals": (pipes, "Table"),
    "finite, far too many": (lambda: wide(24), "Circuit"),
    "finite, large diagram": (products, "Sat"),
    "reals, far too many": (endless, "Z3"),
    "endless search": (cubes, "Z3"),
}
LONG = ("finite, large diagram", "reals, far too many")  # for Auto without limits of work
OPTIONS = Auto(max_work=400_000)


def described(theory):
    choice = OPTIONS.choose(theory)
    return type(choice.backend).__name__, choice.reason


@pytest.fixture
def restart(monkeypatch, tmp_path):
    """Makes a new process of this one, with the store of the last one or an empty one."""
    numbers = itertools.count()

    def start(*, cold):
        monkeypatch.setattr(listing, "_memory", {})
        monkeypatch.setattr(translation, "_memory", {})
        monkeypatch.setattr(compilation, "_memory", {})
        if cold:
            monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / str(next(numbers))))

    start(cold=True)
    return start


@pytest.mark.parametrize("name", CHOICES)
def test_the_choice_is_the_same_on_a_machine_whose_clock_races(name, restart, monkeypatch):
    build, backend = CHOICES[name]
    expected = described(build())
    assert expected[0] == backend
    restart(cold=True)
    ticks = itertools.count(step=1000.0)
    for clock in ("monotonic", "perf_counter", "time", "process_time"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))
    assert described(build()) == expected


@pytest.mark.parametrize("name", CHOICES)
def test_the_choice_is_the_same_with_a_cold_and_a_warm_cache(name, restart):
    build, _ = CHOICES[name]
    expected = described(build())
    for cold in (False, True, False):
        restart(cold=cold)
        assert [described(build()) for _ in range(2)] == [expected] * 2


def test_lists_made_with_more_work_do_not_change_the_choice(restart):
    before = Auto(max_work=5_000).choose(pipes())
    assert type(before.backend).__name__ == "Z3"
    restart(cold=True)
    assert list_models(pipes(), Auto().max_models, 10**9).complete
    assert pipes().check().n_models_exact
    assert Table().compile(pipes()).name == "Table"
    for _ in range(2):
        assert Auto(max_work=5_000).choose(pipes()) == before
        restart(cold=False)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else []) for name in CHOICES],
)
def test_check_reports_the_choice_and_does_not_change_it(name, restart):
    build, _ = CHOICES[name]
    first = Auto().choose(build())
    restart(cold=True)
    report = build().check(timeout_s=0.1)
    assert (report.backend, report.backend_reason) == (first.backend, first.reason)
    assert build().check(timeout_s=0.1, max_models=50, max_work=50_000).backend == first.backend
    for _ in range(2):
        assert Auto().choose(build()) == first
        restart(cold=False)


@pytest.mark.parametrize(("max_work", "accepted"), [(5_000, False), (400_000, True)])
def test_the_rule_marginal_is_accepted_or_refused_every_time(max_work, accepted, restart):
    def make():
        SMTLayer(pipes(), backend=Auto(max_work=max_work), backward="marginal")

    for call in range(5):
        if call == 4:
            pipes().check()
            restart(cold=False)
        if accepted:
            make()
        else:
            with pytest.raises(ValueError, match="needs a backend that weighs all models"):
                make()


def test_a_table_ends_at_the_same_model_every_time(restart):
    messages = set()
    for _ in range(3):
        with pytest.raises(TooManyModelsError) as refusal:
            Table(max_work=50_000).compile(pipes())
        messages.add(str(refusal.value))
        restart(cold=True)
    assert len(messages) == 1
    assert "max_work=50000 steps to list" in messages.pop()


def _burn():
    while True:
        pass


@pytest.mark.slow
def test_the_choice_is_the_same_in_many_processes_under_load():
    """Every process counts the same steps, beside busy ones and with other hash seeds."""
    script = (
        "import test_counted_choice as t\n"
        "for build, _ in t.CHOICES.values():\n"
        "    print(t.described(build()), len(t.list_models(build(), 20_000, 400_000)))\n"
        "print(len(t.list_models(t.pipes(), 20_000, 50_000)))\n"
    )
    busy = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(3)]
    for process in busy:
        process.start()
    try:
        here = Path(__file__).parent
        path = os.pathsep.join(map(str, [here, here.parent, *filter(None, sys.path)]))
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(seed),
                     "SMTLAYER_CACHE": "off"},
            )
            for seed in range(3)
        ]  # fmt: skip
        outputs = {run.communicate()[0] for run in runs}
    finally:
        for process in busy:
            process.kill()
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == len(CHOICES) + 1
