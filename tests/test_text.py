"""What people read is executed: README, examples."""

import re
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


def test_every_relative_link_of_the_readme_exists():
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
