"""Records of runs that never were, for tests of tables."""

import json
from pathlib import Path


def record(experiment="mnist-addition-10", method="best", seed=0, accuracy=0.98, **changes):
    scores = {"accuracy": accuracy, "unseen_accuracy": accuracy, "output_symbols": accuracy}
    if method != "conventional":
        scores |= {"representation": 0.99, "overruled": 0.01}
    epochs = [{"phase": "pretrain"}] * 3 + [{"phase": "train"}] * 5
    return {
        "experiment": experiment, "method": method, "seed": seed, "data": "mnist",
        "data_title": "MNIST", "split": "test", "config": {}, "layer": "", "epochs": epochs,
        "scores": scores, "epoch_seconds": 4.0, "restarts": [], "versions": {},
        "machine": {"device": "a GPU"}, "commit": "abc", "written": "2026-01-01",
    } | changes  # fmt: skip


def timing(experiment="mnist-addition-10", method="best", **changes):
    return {
        "experiment": experiment, "method": method, "epoch_seconds": 3.3,
        "conventional_epoch_seconds": 3.0, "ratio": 1.1, "ratio_sd": 0.02, "epochs": 5,
        "device": "cuda", "versions": {}, "machine": {"device": "a GPU"},
        "commit": "abc", "written": "2026-01-01",
    } | changes  # fmt: skip


def keep(folder: Path, *records) -> Path:
    """Writes records and timing records where results keep them."""
    for one in records:
        name = f"seed{one['seed']}" if "seed" in one else "timing"
        path = folder / one["experiment"] / f"{one['method']}-{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one))
    return folder
