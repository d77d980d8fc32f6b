"""The part `circuits` of the bench compiles the theories that it names."""

import json
import runpy
from dataclasses import asdict
from itertools import product
from math import comb
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from bio_tags import legal
from smtlayer import Circuit
from smtlayer_benchmarks import circuits, startup, suite, theories
from smtlayer_benchmarks.circuits import HEADINGS, Compilation
from smtlayer_benchmarks.command import Part
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory

ROOT = Path(__file__).parents[2]
ONE = Compilation("sums", 364, 10**30, 1234, 5678, 62, 0.094, 1.996, 0.0123)


def n_models(theory):
    return Circuit().compile(theory).diagram.n_models


def run(*parts):
    return suite.run_suite(parts, device="cpu", repeats=1, repairs=1, plot=None, as_json=False)


def test_tags_are_those_that_are_legal():
    every = torch.tensor(list(product(range(theories.TAGS), repeat=3)))
    assert n_models(theories.bio_theory(3)) == int(legal(every).sum())


def test_selections_weigh_what_they_may():
    weights = theories.knapsack_weights(8)
    assert all(5 <= weight <= 30 for weight in weights)
    totals = [sum(chosen) for chosen in product(*((0, weight) for weight in weights))]
    fitting = sum(total <= 60 for total in totals)
    assert n_models(theories.selection(weights, 60, exactly=False)) == fitting
    assert n_models(theories.selection([1] * 100, 10, exactly=True)) == comb(100, 10)


def test_paths_lead_from_corner_to_corner():
    solver = Circuit().compile(theories.path_theory(3))
    assert solver.diagram.n_models == 3  # along the diagonal, and round the centre on either side
    best = solver.solve(torch.tensor([[0, 1, 0, 0, -1, 0, 0, 0, 0]], dtype=torch.int8))
    assert best.outputs.tolist() == [[1, 1, -1, -1, -1, 1, -1, -1, 1]]


def test_requirements_have_a_column_for_every_label():
    theory = theories.requirements(theories.read_dimacs("c\np cnf 3 2\n1 -2 0\n\n2 3 0\n"))
    assert (theory.n_inputs, theory.n_outputs) == (3, 3)
    assert n_models(theory) == 4


def test_sums_are_encoded():
    theory = long_addition_theory(2)
    signs = theories.encode_sums(theory, torch.tensor([[9, 5, 0, 7]]))
    assert torch.equal(signs, theory.encode_outputs(s0=[1], s1=[0], s2=[2]))


def test_a_compilation_tells_the_size_of_the_diagram():
    made = circuits.compiled("pairs", lambda: theories.selection([1] * 4, 2, exactly=True))
    assert (made.theory, made.columns, made.models) == ("pairs", 8, 6)
    assert made.levels <= made.nodes <= made.arcs
    assert made.definition_s > 0
    assert made.compile_s > 0


def test_the_bar_is_two_seconds():
    assert ONE.met
    assert not Compilation(**asdict(ONE) | {"compile_s": 2.01}).met


def test_cells_have_headings():
    expected = ("sums", "364", "1e+30", "1,234", "5,678", "62", "0.09", "2.00", "0.012")
    assert ONE.cells == expected
    assert len(HEADINGS) == len(expected)
    assert Compilation(**asdict(ONE) | {"models": 142506}).cells[2] == "142,506"


def test_theories_are_reported_without_those_whose_data_is_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path))
    small = {name: circuits.THEORIES[name] for name in (circuits.REQUIREMENTS, "exactly 5 of 30")}
    monkeypatch.setattr(circuits, "THEORIES", small)
    circuits.report()
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["exactly 5 of 30"]
    assert found["exactly 5 of 30"]["models"] == comb(30, 5)
    (tmp_path / "road-r").mkdir()
    (tmp_path / theories.ROAD_R).write_text("p cnf 2 1\n1 2 0\n")
    circuits.report()
    assert json.loads(capsys.readouterr().out)[circuits.REQUIREMENTS]["models"] == 3


def test_both_processes_share_a_new_cache_and_know_the_data_folder(monkeypatch, tmp_path):
    asked = []

    def process(command, env, **_):
        cache = Path(env["SMTLAYER_CACHE"])
        asked.append((cache, len(list(cache.iterdir())), env["SMTLAYER_DATA"]))
        (cache / "kept").touch()
        assert command[-1] == "from smtlayer_benchmarks import circuits; circuits.report()"
        one = asdict(ONE) | {"cached_s": 0.0, "compile_s": [1.5, 0.01][len(asked) - 1]}
        return SimpleNamespace(stdout=json.dumps({"sums": one}))

    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path))
    monkeypatch.delenv("SMTLAYER_DATA", raising=False)
    monkeypatch.setattr(startup.subprocess, "run", process)
    (found,) = circuits.compilations()
    assert (found.compile_s, found.cached_s) == (1.5, 0.01)
    (cold, before, data), (cached, between, again) = asked
    assert (before, between) == (0, 1)
    assert cold == cached != tmp_path
    assert data == again == str(tmp_path / "data")


def test_the_bench_shows_compilations_and_names_what_it_skips(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path))
    monkeypatch.setattr(circuits, "compilations", lambda: [ONE])
    assert run(Part.CIRCUITS)
    shown = capsys.readouterr()
    for text in (*ONE.cells, "at most 2", "met"):
        assert text in shown.out
    assert (
        "skipped ROAD-R, 243 requirements: it needs road-r/requirements.cnf in the data folder. "
        "Name the folder that contains it with SMTLAYER_DATA." in shown.err
    )
    slow = Compilation(**asdict(ONE) | {"compile_s": 3.0})
    monkeypatch.setattr(circuits, "compilations", lambda: [slow])
    assert not run(Part.CIRCUITS)
    assert "MISSED" in capsys.readouterr().out


def test_the_page_has_a_row_for_each_compilation():
    made = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))["circuits"]
    made.__globals__["read"] = lambda name: [asdict(ONE) | {"met": True}, {"cold_s": 1}]
    _, _, row = made().splitlines()
    assert row == "| " + " | ".join(ONE.cells) + " |"


@pytest.mark.slow
def test_every_theory_is_compiled_in_a_new_process():
    found = {one.theory: one for one in circuits.compilations()}
    assert set(circuits.THEORIES) - set(found) <= {circuits.REQUIREMENTS}
    assert found["addition, 15 digits, one-hot"].models == 10**30
    assert found["exactly 10 of 100"].models == comb(100, 10)
