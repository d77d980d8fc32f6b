"""Every script on docs/how-to/workers.md runs as the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "workers.md"
SCRIPTS = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL))
BESIDE = Path(sys.executable).parent
LAUNCHERS = {
    "on_mpi.py": [BESIDE / "mpiexec", "-n", "3", sys.executable, "-m", "mpi4py.futures"],
}
NEEDS = {"on_dask.py": "distributed", "on_mpi.py": "mpi4py", "on_ray.py": "ray"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "sums.py"])
def test_script(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"needs pip install {NEEDS[name]}")
    for script, text in SCRIPTS.items():
        (tmp_path / script).write_text(text)
    done = subprocess.run(
        [*LAUNCHERS.get(name, [sys.executable]), name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"torch.Size\(\[64, 5\]\)|Stats", done.stdout), done.stdout


def test_the_page_has_all_scripts():
    assert len(SCRIPTS) == 6
