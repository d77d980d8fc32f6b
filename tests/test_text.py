"""What people read is executed: README, examples."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def code_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_readme_examples_run_and_give_what_they_say():
    names: dict[str, object] = {}
    blocks = code_blocks(README)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, names)
    sums = names["sums"]
    assert isinstance(sums, torch.Tensor)
    assert sums.shape == (64, 5)
    assert set(sums.unique().tolist()) <= {-1.0, 0.0, 1.0}
    logits = names["logits"]
    assert isinstance(logits, torch.Tensor)
    assert logits.grad is not None
    assert logits.grad.any()


def test_the_first_example_of_the_readme_fits_a_screen():
    assert len(code_blocks(README)[0].strip().splitlines()) <= 16


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(path):
    expected = {
        "01_xor": "1 V and 5 V: the lamp is on",
        "02_addition": "100% of all 100 pairs",
        "03_own_theory": "answer  departure 7",
        "04_own_backend": "Parity obeys all 7 laws.",
    }
    assert path.read_text().count("\n") <= 80
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert expected[path.stem] in done.stdout


def test_the_readme_states_what_the_records_hold():
    paths = sorted((ROOT / "results" / "mnist-addition-10").glob("*.json"))
    records = [json.loads(path.read_text()) for path in paths]
    assert len(records) == 5
    assert all(record["data"] == "mnist" for record in records)
    rows = {"smtlayer": "with the formula", "conventional": "conventional network, same data"}
    for method, label in rows.items():
        scores = [record["methods"][method]["scores"] for record in records]
        cells = []
        for name in ("unseen_accuracy", "accuracy", "representation"):
            values = [score[name] for score in scores if name in score]
            cells.append(f"{100 * sum(values) / len(values):.1f} %" if values else "-")
        assert f"| {label} | {' | '.join(cells)} |" in README.replace("**", "")


def test_the_pages_state_what_the_benchmarks_printed():
    tables = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    filled = 0
    for path in tables["PAGES"]:
        page = path.read_text()
        assert tables["filled"](page) == page, "run: python benchmarks/tables.py --write"
        filled += sum(f"<!-- {name} -->\n| " in page for name in tables["TABLES"])
    assert filled == len(tables["TABLES"])


def test_the_benchmarks_met_their_bars():
    found = [
        json.loads(line)
        for path in ("cpu.jsonl", "h200.jsonl")
        for line in (ROOT / "benchmarks" / "results" / path).read_text().splitlines()
    ]
    assert len([line for line in found if "met" in line]) >= 10
    assert all(line["met"] for line in found if "met" in line)


def test_every_relative_link_of_the_readme_exists():
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
