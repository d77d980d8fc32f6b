"""The origin of a record: versions, machine, commit and time."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

_PACKAGES = ("smtlayer", "torch", "z3-solver", "python-sat", "numpy")


def here(device: str) -> dict[str, Any]:
    """Versions, machine, commit and time, as every record holds them."""
    return {
        "versions": {name: _version(name) for name in _PACKAGES},
        "machine": _machine(device),
        "commit": _commit(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


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
        "processor": _processor(),
        "threads": str(torch.get_num_threads()),
    }


def _processor() -> str:
    """The name of the CPU, which Linux keeps in a file."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the source tree that runs: by `SMTLAYER_COMMIT`, else by git, else None."""
    root, named = Path(__file__).parents[2], os.environ.get("SMTLAYER_COMMIT")
    if named or not (root / ".git").exists() or shutil.which("git") is None:
        return named
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return answer.stdout.strip() or None
