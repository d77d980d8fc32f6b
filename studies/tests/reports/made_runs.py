"""Small runs in folders, for tests of what reads them back."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

from smtlayer_studies.runs import RunConfig, run
from smtlayer_studies.runs.run_folder import RunFolder

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


def distilled_run(folder: Path) -> Path:
    """A copy of the run with the layer, whose model was trained on the symbols and reads well.

    Few additions of this sample of digits come out wrong.
    """
    source = addition_runs()["best"]
    shutil.copytree(source, folder, dirs_exist_ok=True)
    shutil.copyfile(_distilled(), folder / "model.pt")
    return folder


@functools.cache
def _distilled() -> Path:
    loaded = RunFolder.read(addition_runs()["best"]).load()
    rows = loaded.task.rows("train", 3000, 5)
    optimizer = torch.optim.Adam(loaded.model.network.parameters(), 2e-3)
    for index in torch.randperm(3000).split(50):
        batch = rows.batch(index)
        logits = loaded.model.network(batch.features)
        loss = F.binary_cross_entropy_with_logits(logits, (batch.symbols > 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    path = addition_runs()["best"].parent / "distilled.pt"
    torch.save(loaded.model.state_dict(), path)
    return path
