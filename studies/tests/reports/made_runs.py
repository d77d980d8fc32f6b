"""Small runs in folders, for tests of what reads them back."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from smtlayer_studies.runs import RunConfig, run

_SMALL = {"epochs": 2, "rows": 64, "batch_size": 16, "lr": 1e-3, "test_rows": 40}


def small_run(folder: Path, *, layer=True, seed=0, method=None, task=None, experiment=None) -> Path:
    """Trains for a second or two, by default additions of digits of the sample."""
    data = {"task": task or {"name": "mnist-addition", "data": "sample"}, "train": _SMALL}
    if not layer:
        data["layer"] = False
    method = method or ("best" if layer else "conventional")
    experiment = experiment or "mnist-addition-10"
    run(RunConfig.of(data, experiment=experiment, method=method, seed=seed, device="cpu"), folder)
    return folder


@functools.cache
def addition_runs() -> dict[str, Path]:
    """A run with the layer and one without, made once and never changed."""
    folder = Path(tempfile.mkdtemp(prefix="smtlayer-runs-"))
    atexit.register(shutil.rmtree, folder)
    return {
        "best": small_run(folder / "best"),
        "conventional": small_run(folder / "conventional", layer=False),
    }
