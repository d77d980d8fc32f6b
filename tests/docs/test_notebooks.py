"""Every notebook of the tutorial runs and gives the stored outputs.

For a cell with the tag "varies" (training, timing), only the kind of the output is compared; cells
with the tag "hidden" check the claims of the text around them.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
REFRESH = runpy.run_path(str(ROOT / "docs" / "refresh.py"))
NOTEBOOKS = REFRESH["notebooks"]()


def shown(cell: Any) -> list[Any]:
    """The reproducible part of the output of a cell."""
    tags = cell.metadata.get("tags", [])
    if "varies" in tags:
        return [(output.output_type, sorted(output.get("data", ()))) for output in cell.outputs]
    return [output.get("text") or output.get("data") for output in cell.outputs]


LONG = ("2-addition", "3-own-theory", "4-own-backend")  # with training, or like the first


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in NOTEBOOKS],
)
def test_a_notebook_gives_its_stored_outputs(name, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "refresh.py", "--into", tmp_path, name],
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # sums depend on the number of threads
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    paths = (NOTEBOOKS[name], tmp_path / NOTEBOOKS[name].name)
    before, again = (nbformat.read(path, as_version=4) for path in paths)
    pairs = [(a, b) for a, b in zip(before.cells, again.cells, strict=True) if "outputs" in a]
    assert len(pairs) >= 8
    for kept, now in pairs:
        assert shown(now) == shown(kept), f"run: python docs/refresh.py {name}\n{kept.source}"


def test_the_tutorial_has_four_pages():
    assert [name[0] for name in NOTEBOOKS] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_few_cells_have_varying_output(name):
    cells = [c for c in nbformat.read(NOTEBOOKS[name], as_version=4).cells if c.get("outputs")]
    varying = [c for c in cells if "varies" in c.metadata.get("tags", [])]
    assert len(varying) <= 0.75 * len(cells)
