"""Checks of `smtlayer doctor`: packages, machine, cache.

Each check imports what it needs, as it runs in a process that may crash on that.
"""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from smtlayer_cli.plugins import install_command

State = Literal["ok", "off", "gap", "broken"]
_GIB = 1 << 30
_LOW_MEMORY, _LOW_DISK = 2 * _GIB, _GIB


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Args:
        name: Name of what was checked.
        state: `"ok"`; `"off"` for something optional that is not there; `"gap"` for something that
            works less well than it could; `"broken"`.
        text: Description of what was found.
        remedy: What to do about it, if anything.
        facts: The same as data, for `--json`.
    """

    name: str
    state: State
    text: str
    remedy: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


_MODULES = {"python-sat": "pysat", "z3-solver": "z3"}  # others are named as their package
PURPOSES = {  # of the extras
    "cli": "this command line, with plots",
    "studies": "the paper's experiments, benchmarks",
    "demo": "smtlayer demo",
    "lightning": "the callback for Lightning",
    "dask": "solving on a Dask cluster",
    "mpi": "solving over MPI",
    "ray": "solving on a Ray cluster",
    "testing": "a test suite for your own backends",
}


def required(extra: str = "") -> dict[str, str]:
    """The packages that smtlayer or one of its extras requires, with their oldest versions."""
    found = {}
    for line in importlib.metadata.requires("smtlayer") or ():
        requirement, _, marker = line.partition(";")
        if extra == "".join(re.findall(r"extra == ['\"](.*?)['\"]", marker)):
            name, _, oldest = requirement.strip().partition(">=")
            found[name] = oldest
    return found


def installed(package: str) -> str | None:
    """The version of a package, or None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def python() -> Iterator[Finding]:
    """Python and this library."""
    facts = {"version": platform.python_version(), "executable": sys.executable}
    yield Finding("Python", "ok", f"{facts['version']}, {sys.executable}", "", facts)
    folder = Path(__file__).parents[1]
    facts = {"version": importlib.metadata.version("smtlayer"), "folder": str(folder)}
    yield Finding("smtlayer", "ok", f"{facts['version']}, {folder}", "", facts)


def package(name: str, oldest: str) -> Iterator[Finding]:
    """Checks that a required package can be imported and is new enough."""
    wanted = f'pip install "{name}>={oldest}"'
    found = installed(name)
    if found is None:
        yield Finding(name, "broken", "not installed", wanted)
        return
    facts = {"version": found, "oldest": oldest}
    try:
        import_module(_MODULES.get(name, name))
    except Exception as error:  # a broken installation may raise anything
        text = f"{found}, but {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        yield Finding(name, "broken", text, wanted, facts)
        return
    if _numbers(found) >= _numbers(oldest):
        yield Finding(name, "ok", found, "", facts)
    else:
        text = f"{found}, older than {oldest}, the oldest tested version"
        yield Finding(name, "gap", text, wanted, facts)


def solvers() -> Iterator[Finding]:
    """The SAT solvers of python-sat; `Sat` uses one of them."""
    from pysat.solvers import Solver, SolverNames

    found = []
    for name in (name for name in vars(SolverNames) if not name.startswith("_")):
        try:
            with Solver(name=name, bootstrap_with=[[1]]) as solver:
                found += [name] if solver.solve() else []
        except Exception:  # built without it, or in need of another package
            continue
    good = "glucose4" in found
    yield Finding(
        "SAT solvers", "ok" if good else "broken",
        f"glucose4, which Sat uses, and {len(found) - 1} others" if good else "no glucose4",
        "" if good else 'pip install --force-reinstall "python-sat>=1.8.dev13"',
        {"solvers": found},
    )  # fmt: skip


def extras() -> Iterator[Finding]:
    """The installed and the missing extras."""
    for name, purpose in PURPOSES.items():
        versions = {package: installed(package) for package in required(name)}
        missing = [package for package, version in versions.items() if version is None]
        if not missing:
            listed = ", ".join(f"{package} {version}" for package, version in versions.items())
            yield Finding(name, "ok", f"{purpose} ({listed})", "", versions)
        else:
            text = f"not installed, for {purpose}: {', '.join(missing)}"
            yield Finding(name, "off", text, install_command(name), versions)


def cpu() -> Iterator[Finding]:
    """Cores and threads."""
    import torch

    cores, threads = _cores(), torch.get_num_threads()
    limit = os.environ.get("OMP_NUM_THREADS")
    text = f"{_count(cores, 'core')}, torch uses {_count(threads, 'thread')}"
    text += f" (OMP_NUM_THREADS={limit})" if limit else ""
    crowded = threads > cores
    remedy = f"export OMP_NUM_THREADS={cores}: more threads than cores wait for each other."
    yield Finding(
        "CPU", "gap" if crowded else "ok", text, remedy if crowded else "",
        {"cores": cores, "threads": threads, "OMP_NUM_THREADS": limit, "kind": platform.machine()},
    )  # fmt: skip


def memory() -> Iterator[Finding]:
    """Total and free memory."""
    total, free = _memory()
    if total is None:
        yield Finding("memory", "ok", "unknown on this system")
        return
    low = free is not None and free < _LOW_MEMORY
    text = f"{total / _GIB:.1f} GiB" + ("" if free is None else f", {free / _GIB:.1f} GiB free")
    remedy = "Close other programs, or use smaller batches: --set train.batch_size=32."
    yield Finding(
        "memory", "gap" if low else "ok", text, remedy if low else "",
        {"total": total, "free": free},
    )  # fmt: skip


def cuda() -> Iterator[Finding]:
    """NVIDIA GPUs, as torch sees them."""
    import torch

    if not torch.cuda.is_available():
        yield _no_cuda(torch.__version__, torch.version.cuda)
        return
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        answer = float(torch.ones(8, device=f"cuda:{number}").sum())
        text = f"{torch.cuda.get_device_name(number)}, {total / _GIB:.0f} GiB, "
        text += f"{free / _GIB:.0f} GiB free, CUDA {torch.version.cuda}"
        good = answer == 8.0
        yield Finding(
            f"cuda:{number}", "ok" if good else "broken", text,
            "" if good else "A sum is wrong. Update the driver, or hide it: CUDA_VISIBLE_DEVICES=",
            {"name": torch.cuda.get_device_name(number), "total": total, "free": free},
        )  # fmt: skip


def _no_cuda(version: str, built_for: str | None) -> Finding:
    driver = Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None
    facts = {"driver": driver, "built_for": built_for}
    if not driver:
        return Finding("CUDA", "off", "no NVIDIA GPU here: everything runs on the CPU", "", facts)
    if built_for is None:
        text = f"there is an NVIDIA driver, but torch {version} was built without CUDA"
        remedy = "Install a build of torch with CUDA: https://pytorch.org/get-started/locally/"
        return Finding("CUDA", "gap", text, remedy, facts)
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    text = f"torch was built for CUDA {built_for}, but finds no GPU"
    text += "" if hidden is None else f" (CUDA_VISIBLE_DEVICES={hidden})"
    remedy = "If nvidia-smi lists one, unset CUDA_VISIBLE_DEVICES or update the driver."
    return Finding("CUDA", "gap", text, remedy, facts)


def mps() -> Iterator[Finding]:
    """The GPU of a Mac; nothing elsewhere."""
    import torch

    if torch.backends.mps.is_available():
        text = "available, but smtlayer is only tested on the CPU and on CUDA"
        yield Finding("MPS", "off", text, "", {"available": True})


def cache() -> Iterator[Finding]:
    """The compiled theories on disk."""
    from smtlayer.solvers.store import default_store

    store = default_store()
    if store.folder is None:
        text = "disabled by SMTLAYER_CACHE: every process compiles its theories"
        yield Finding("theories", "off", text, "unset SMTLAYER_CACHE")
        return
    entries, problem = store.entries(), store.problem()
    size = sum(entry.bytes for entry in entries)
    facts = {"folder": str(store.folder), "theories": len(entries), "bytes": size}
    text = f"{len(entries)} compiled, {size / (1 << 20):.1f} MiB in {store.folder}"
    place = next(p for p in (store.folder, *store.folder.absolute().parents) if p.exists())
    free = shutil.disk_usage(place).free
    if problem:
        text, remedy = f"{text}; nothing can be written: {problem}", "export SMTLAYER_CACHE=FOLDER"
        yield Finding("theories", "gap", text, f"{remedy}, one that you can write to", facts)
    elif free < _LOW_DISK:
        text = f"{text}; only {free / _GIB:.1f} GiB are left there"
        yield Finding("theories", "gap", text, "Free some space.", facts | {"free": free})
    else:
        yield Finding("theories", "ok", text, "", facts | {"free": free})


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare: `"1.8.dev13"` is (1, 8, 13)."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0]))


def _cores() -> int:
    """Cores that this process may use, which in a container may be fewer than there are."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
        try:
            quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
            return min(cores, max(1, round(int(quota) / int(period))))
        except (OSError, ValueError):  # no such file, or no limit
            return cores
    return os.cpu_count() or 1


def _memory() -> tuple[int | None, int | None]:
    """Total and free bytes; in a container, the total is its limit."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
        total, free = sizes["MemTotal"], sizes["MemAvailable"]
    except (OSError, ValueError, KeyError):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None
        except (ValueError, OSError, AttributeError):
            return None, None
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
    except (OSError, ValueError):  # no limit
        return total, free
    return min(total, limit), min(free, limit - used)
