"""Rivals run beside smtlayer where they are installed; what needs none of them is tested here."""

import json
import re
import runpy
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import z3
from torch import nn

import bio_tags
import comparison
import cp_sat_selection
import formulas
import klay_addition
import mnist_addition
import road_r
from comparison import Agreement, Case, Rival, compare
from smtlayer import SMTLayer, Theory, one_hot
from smtlayer_benchmarks.rival_rows import ratio_text
from smtlayer_benchmarks.theories import read_dimacs
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory

ROOT = Path(__file__).parents[2]
RUN = runpy.run_path(str(ROOT / "benchmarks" / "rivals" / "run.py"))
RATIO = re.compile(r"\*\*[\d.]+ x (faster|the time)\*\* \([\d.]+ to [\d.]+\)")
NAMES = {"pishield", "bio-tags", "cp-sat", "klay", "deepproblog", "ltn"}


def table(records):
    """The page's table of some records."""
    made = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))["rivals"]
    made.__globals__["read"] = lambda name: records if name == "rivals" else []
    return made()


def test_the_runner_lists_the_rivals(capsys):
    assert RUN["main"](["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.partition(":")[0] for line in lines} == NAMES == set(RUN["RIVALS"])


@pytest.mark.parametrize("name", sorted(NAMES - {"bio-tags"}))
def test_a_rival_that_is_not_installed_is_skipped_with_its_requirements_file(
    name, monkeypatch, capsys
):
    monkeypatch.setattr(comparison, "find_spec", lambda _: None)
    assert RUN["main"]([name, "--json"]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    path = f"benchmarks/rivals/requirements/{name}.txt"
    distribution = RUN["RIVALS"][name].distribution
    assert printed.err == (
        f"skipped {name}: {distribution} is not installed. "
        f"Install it with: pip install --no-deps -r {path}\n"
    )
    pins = [line for line in (ROOT / path).read_text().splitlines() if line[0] != "#"]
    assert pins[0].startswith(f"{distribution}==")
    assert all("==" in pin for pin in pins)


def test_a_rival_without_its_data_is_skipped(monkeypatch, tmp_path):
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path))
    monkeypatch.setattr(comparison, "find_spec", lambda _: object())
    assert RUN["RIVALS"]["pishield"].missing() == (
        "it needs road-r/requirements.cnf in the data folder. "
        "Name the folder that contains it with SMTLAYER_DATA."
    )


def test_an_unknown_rival_is_refused(capsys):
    with pytest.raises(SystemExit):
        RUN["main"](["satnet"])
    assert "expects names among pishield, bio-tags" in capsys.readouterr().err


def test_viterbi_finds_the_best_legal_tags():
    scores = torch.randn(20, 3, bio_tags.TAGS, generator=torch.Generator().manual_seed(0))
    every = torch.tensor(list(product(range(bio_tags.TAGS), repeat=3)))
    every = every[bio_tags.legal(every)]
    totals = torch.stack([scores[:, i, every[:, i]] for i in range(3)]).sum(0)
    best = every[totals.argmax(-1)]
    assert torch.equal(bio_tags.sparse_viterbi()(scores), best)
    assert torch.equal(bio_tags.dense_viterbi(scores), best)


def test_bio_tags_agree_with_viterbi_and_are_recorded(monkeypatch, capsys):
    small = Rival(**vars(bio_tags.RIVAL) | {"cases": lambda: bio_tags.cases(4, 6, repeats=2)})
    assert RUN["run"]([small], as_json=True) == [True, True]
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["agrees"] for r in records] == [True, True]
    for r in records:
        assert {"commit", "written", "machine", "ratio", "ratio_quartiles", "met"} <= set(r)
        assert r["setup"] in r["setups_ms"]
        assert "6 of 6 rows are equal" in r["agreement"]
    rows = table(records).splitlines()
    assert rows[0].startswith(
        "| rival | problem | theirs | ours | ratio | results | what differs |"
    )
    assert "logits plus 6" in rows[3]
    assert RATIO.search(rows[3])
    assert rows[3].endswith("| as above |")
    assert rows[-1].startswith("Recorded ")
    assert "ratio" in RUN["text"](records[0])


def test_a_ratio_says_who_is_faster():
    slower = {"ratio": 0.5, "ratio_quartiles": [0.4, 0.625], "run": 1}
    assert ratio_text({**slower, "faster": True}) == "**2 x the time** (1.6 to 2.5)"
    assert ratio_text({**slower, "faster": False}) == "**2 x faster** (1.6 to 2.5)"
    faster = {"ratio": 3.0, "ratio_quartiles": [2.0, 4.0], "run": 1}
    assert ratio_text({**faster, "faster": True}) == "**3 x faster** (2 to 4)"
    assert ratio_text({**faster, "faster": False}) == "**3 x the time** (2 to 4)"
    several = {**faster, "faster": True, "run": 5, "first_ratio": 0.8}
    assert ratio_text(several) == "**3 x faster** (2 to 4); first batch 1.25 x the time"


def test_both_sides_get_each_batch_once_and_the_fastest_set_up_counts(monkeypatch):
    seen, now = [], iter(range(1000))
    monkeypatch.setattr(comparison.time, "perf_counter", lambda: next(now) ** 2)
    case = Case(
        "tiny",
        lambda i: seen.append(("ours", i)),
        {"slow": lambda i: next(now), "fast": lambda i: seen.append(("fast", i))},
        lambda: Agreement(False, "differs"),
        per="1,000 examples", share=0.5, repeats=3, run=2,
    )  # fmt: skip
    record = compare(bio_tags.RIVAL, case)
    runs = [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert seen == [(side, i) for run in runs for side in ("ours", "fast") for i in run]
    assert record["setup"] == "fast"
    assert record["theirs_ms"][0] == record["setups_ms"]["fast"]
    assert record["agrees"] is False
    assert record["first_ratio"] != record["ratio"]


def best_by_trial(weights, capacity, exactly, scores, threads, presolve):
    """In place of CP-SAT: every selection."""
    every = torch.tensor(list(product((0, 1), repeat=len(weights))))
    filled = (every * torch.tensor(weights)).sum(-1)
    every = every[filled == capacity if exactly else filled <= capacity]
    return lambda i: (scores[i] @ every.T).amax(-1).tolist()


def test_selections_are_optimal(monkeypatch):
    monkeypatch.setattr(cp_sat_selection, "solver", best_by_trial)
    for case in cp_sat_selection.cases(items=7, chosen=3, rows=9):
        found = case.agreement()
        assert found == Agreement(True, "equal objectives, as integers, in 9 of 9 rows")
    monkeypatch.setattr(cp_sat_selection, "solver", lambda *_: lambda i: [10**6] * 9)
    assert not next(cp_sat_selection.cases(items=7, chosen=3, rows=9)).agreement().holds


def test_repairs_by_requirements_are_compared_by_cost(monkeypatch):
    clauses = read_dimacs("c tiny\np cnf 3 2\n1 -2 0 \n\n2 3 0\n")
    assert clauses == [[1, -2], [2, 3]]

    def nothing(clauses, labels):
        return {"none": lambda scores, iterative: scores}

    def opposite(clauses, labels):
        return {"opposite": lambda scores, iterative: 1 - scores}

    def all_true(clauses, labels):
        return {"all": lambda scores, iterative: torch.ones_like(scores)}

    for wrong in (nothing, opposite):  # cheaper than a repair, or dearer, but no repair
        monkeypatch.setattr(road_r, "shield_layers", wrong)
        assert not road_r.make_case(clauses, 20, repeats=0).agreement().holds
    monkeypatch.setattr(road_r, "shield_layers", all_true)
    found = road_r.make_case(clauses, 20, repeats=0).agreement()
    assert found.holds
    assert found.scores["our mean cost"] < found.scores["their mean cost, best ordering"]


def test_the_loss_is_the_likelihood_of_the_sums():
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(5, 2, 28, 28, generator=generator)
    digits = torch.randint(10, (5, 2), generator=generator)
    pairs = mnist_addition.Examples(images, digits, formulas.addition(1))
    network = mnist_addition.lenet(nn.ReLU, 120)
    layer = SMTLayer(mnist_addition.addition_theory(1))
    loss = mnist_addition.our_loss(layer, network)(pairs)
    chances = network(images.reshape(10, 1, 28, 28)).softmax(-1).reshape(5, 2, 10)
    joint = chances[:, 0, :, None] * chances[:, 1, None]
    digits = torch.arange(10)
    right = (digits[:, None] + digits) == pairs.answers[:, None, None]
    expected = -(joint * right).sum((1, 2)).log().mean()
    torch.testing.assert_close(loss.float(), expected)


class CircuitOfLogs:
    """Computes what a circuit of KLay does, with logarithms: of true and false columns."""

    def true_node(self):
        return lambda true, false: torch.zeros(len(true))

    def literal_node(self, i):
        return lambda true, false: (true if i > 0 else false)[:, abs(i) - 1]

    def and_node(self, nodes):
        return lambda *weights: torch.stack([node(*weights) for node in nodes]).sum(0)

    def or_node(self, nodes):
        return lambda *weights: torch.stack([node(*weights) for node in nodes]).logsumexp(0)

    def set_root(self, node):
        self.root = node

    def remove_unused_nodes(self):
        pass

    def to_torch_module(self, semiring, compile):
        assert semiring == "log"
        return lambda *weights: self.root(*weights)[:, None]


def bits_and_digits():
    x, y = z3.BitVecs("x y", 3)
    yield Theory([x + y == 5, x != 2], inputs=[x, y], outputs=[x])
    yield Theory([x + y == 5], inputs=[one_hot(x, range(8)), one_hot(y, range(8))], outputs=[x])
    yield liars_theory()
    yield mnist_addition.addition_theory(2)


@pytest.mark.parametrize("theory", list(bits_and_digits()))
def test_klay_gets_a_circuit_with_the_likelihood_of_ours(theory, monkeypatch):
    monkeypatch.setitem(sys.modules, "klay", SimpleNamespace(Circuit=CircuitOfLogs))
    likelihood = klay_addition.log_likelihood(klay_addition.to_klay(theory), theory)
    layer = SMTLayer(theory, inference="maxsmt")
    logits = torch.randn(20, theory.n_inputs, generator=torch.Generator().manual_seed(0))
    outputs = layer.eval()(logits)
    assert (outputs != 0).all()
    for answers in (outputs, outputs.roll(1, 0)):
        expected = layer.log_prob(logits, answers)
        torch.testing.assert_close(likelihood(logits, answers), expected)
    if theory.output_symbols[0].kind == "bits":
        two = theory.encode_outputs(x=[2] * 20)  # impossible in the first theory
        expected = layer.log_prob(logits, two).clamp(min=-1000)
        torch.testing.assert_close(likelihood(logits, two).clamp(min=-1000), expected)


@pytest.mark.parametrize(
    ("formula", "theory", "labels"),
    [
        (formulas.addition(1), addition_theory(), range(19)),
        (formulas.addition(2), long_addition_theory(2), range(199)),
        (formulas.algebra(), algebra_theory(), range(1, 10)),
    ],
)
def test_a_formula_over_digits_holds_where_the_theory_does(formula, theory, labels):
    names = [symbol.name for symbol in theory.input_symbols]
    digits = torch.randint(10, (300, len(names)), generator=torch.Generator().manual_seed(0))
    signs = theory.encode(**dict(zip(names, digits.T, strict=True)))
    found = SMTLayer(theory)(signs.float())
    possible = (found != 0).all(-1)
    assert possible.any()
    answers = formula.answer(digits[possible])
    assert formula.holds(*digits[possible].T, answers).all()
    read = theory.decode(found[possible]).values()
    assert formulas.number([torch.as_tensor(value) for value in read]).tolist() == answers.tolist()
    for answer in labels:
        assert not formula.holds(*digits[~possible].T, torch.tensor(answer)).any()
        holds = formula.holds(*digits[possible].T, torch.tensor(answer))
        assert holds.tolist() == (answers == answer).tolist()


def test_a_new_record_replaces_the_lines_of_its_rival_alone():
    merged = runpy.run_path(str(ROOT / "benchmarks" / "record.py"))["merged"]
    old = [{"rival": "klay", "at": 1}, {"rival": "ltn", "at": 1}]
    new = [{"rival": "klay", "at": 2}, {"rival": "klay", "at": 3}]
    texts = ("".join(f"{json.dumps(line)}\n" for line in lines) for lines in (old, new))
    found = [json.loads(line) for line in merged(*texts).splitlines()]
    assert found == [old[1], *new]
