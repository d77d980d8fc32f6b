"""This file writes down a run: what was asked, where it ran, what came out."""

import json
import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from smtlayer import __version__
from smtlayer.training.options import TrainOptions
from smtlayer.training.trainer import History

_PACKAGES = ("torch", "z3-solver", "python-sat", "numpy")


@dataclass(frozen=True)
class RunRecord:
    """One run of one or more methods on a task, as JSON holds it."""

    task: str
    data: str  # a record from "sample" never goes into a table of results
    task_options: dict[str, Any]
    train_options: dict[str, Any]
    layer: str
    methods: dict[str, dict[str, Any]]
    versions: dict[str, str]
    machine: dict[str, str]
    commit: str | None
    written: str

    @classmethod
    def of(
        cls,
        *,
        task: str,
        data: str,
        task_options: dict[str, Any],
        options: TrainOptions,
        layer: str,
        histories: dict[str, History],
    ) -> "RunRecord":
        """A record of what just ran in this process."""
        return cls(
            task=task,
            data=data,
            task_options=task_options,
            train_options=options.as_dict(),
            layer=layer,
            methods={name: asdict(history) for name, history in histories.items()},
            versions={"smtlayer": __version__} | {name: _version(name) for name in _PACKAGES},
            machine=_machine(options.device),
            commit=_commit(),
            written=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def write(self, folder: Path) -> Path:
        """Writes `record.json` into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "record.json"
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        return path


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _machine(device: str) -> dict[str, str]:
    named = torch.cuda.get_device_name(device) if device.startswith("cuda") else "cpu"
    return {
        "system": platform.system(),
        "python": platform.python_version(),
        "device": named,
        "threads": str(torch.get_num_threads()),
    }


def _commit() -> str | None:
    """The commit of the source tree that runs: by git, else by `SMTLAYER_COMMIT`, else None."""
    root, told = Path(__file__).parents[3], os.environ.get("SMTLAYER_COMMIT")
    if not (root / ".git").exists() or shutil.which("git") is None:
        return told
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return answer.stdout.strip() or told
