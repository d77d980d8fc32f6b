"""This file looks at what `smtlayer doctor` tells of: packages, machine, data, cache.

Each check imports what it needs itself: it runs in a process that may crash on that.
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
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import smtlayer
from smtlayer import __version__
from smtlayer.errors import install_command

State = Literal["ok", "off", "gap", "broken"]
_GIB = 1 << 30
_LOW_MEMORY, _LOW_DISK = 2 * _GIB, _GIB
PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Args:
        name: Of what was looked at.
        state: `"ok"`; `"off"` for what is not there and need not be; `"gap"` for what works less
            well than it could; `"broken"`.
        said: What there is.
        remedy: What to do about it, if anything.
        facts: The same for machines.
    """

    name: str
    state: State
    said: str
    remedy: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Package:
    """A package that is needed: as pip calls it, as Python does, and since which version."""

    pip: str
    module: str
    since: str

    def check(self) -> Iterator[Finding]:
        """Whether it can be imported and is new enough."""
        wanted = f'pip install "{self.pip}>={self.since}"'
        found = installed(self.pip)
        if found is None:
            yield Finding(self.pip, "broken", "not installed", wanted)
            return
        facts = {"version": found, "since": self.since}
        try:
            import_module(self.module)
        except Exception as error:  # whatever a broken installation raises
            yield Finding(self.pip, "broken", f"{found}, but {_short(error)}", wanted, facts)
            return
        new_enough = _numbers(found) >= _numbers(self.since)
        old = f"{found}, older than {self.since}, the oldest that was tried"
        yield Finding(
            self.pip, "ok" if new_enough else "gap", found if new_enough else old,
            "" if new_enough else wanted, facts,
        )  # fmt: skip


REQUIRED = (
    Package("numpy", "numpy", "1.26"),
    Package("torch", "torch", "2.11"),
    Package("z3-solver", "z3", "4.15.4"),
    Package("python-sat", "pysat", "1.8.dev13"),
)
# What is in an extra, and what it is for.
EXTRAS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "cli": (("matplotlib", "rich", "typer"), "this command line, with plots"),
    "studies": (("smtlayer-studies", "smtlayer-benchmarks"), "the paper's experiments, benchmarks"),
    "demo": (("smtlayer-playground",), "smtlayer demo"),
    "lightning": (("lightning",), "the callback for Lightning"),
    "dask": (("distributed",), "rows answered by a Dask cluster"),
    "mpi": (("mpi4py", "mpich"), "rows answered over MPI"),
    "ray": (("ray",), "rows answered by a Ray cluster"),
    "testing": (("pytest",), "the laws for backends of your own, as tests"),
}


def installed(package: str) -> str | None:
    """The version of a package, or None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def python() -> Iterator[Finding]:
    """Python and this library."""
    said = f"{platform.python_version()}, {sys.executable}"
    good = sys.version_info >= PYTHON
    remedy = "" if good else f"Use Python {PYTHON[0]}.{PYTHON[1]} or newer."
    yield Finding(
        "Python", "ok" if good else "broken", said, remedy,
        {"version": platform.python_version(), "executable": sys.executable},
    )  # fmt: skip
    folder = str(Path(smtlayer.__file__).parent)
    yield Finding(
        "smtlayer", "ok", f"{__version__}, {folder}", "",
        {"version": __version__, "folder": folder},
    )  # fmt: skip


def solvers() -> Iterator[Finding]:
    """Which SAT solvers python-sat brings; `Sat` asks one of them."""
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
        f"glucose4, which Sat asks, and {len(found) - 1} others" if good else "no glucose4",
        "" if good else 'pip install --force-reinstall "python-sat>=1.8.dev13"',
        {"solvers": found},
    )  # fmt: skip


def extras() -> Iterator[Finding]:
    """Which extras are installed, and what they are for."""
    for name, (packages, purpose) in EXTRAS.items():
        versions = {package: installed(package) for package in packages}
        missing = [package for package, version in versions.items() if version is None]
        if not missing:
            listed = ", ".join(f"{package} {version}" for package, version in versions.items())
            yield Finding(name, "ok", f"{purpose} ({listed})", "", versions)
        else:
            said = f"not installed, for {purpose}: {', '.join(missing)}"
            yield Finding(name, "off", said, install_command(name), versions)


def cpu() -> Iterator[Finding]:
    """Cores and threads."""
    import torch

    cores, threads = _cores(), torch.get_num_threads()
    told = os.environ.get("OMP_NUM_THREADS")
    said = f"{_count(cores, 'core')}, torch uses {_count(threads, 'thread')}"
    said += f" (OMP_NUM_THREADS={told})" if told else ""
    crowded = threads > cores
    remedy = f"export OMP_NUM_THREADS={cores}: more threads than cores wait for each other."
    yield Finding(
        "CPU", "gap" if crowded else "ok", said, remedy if crowded else "",
        {"cores": cores, "threads": threads, "OMP_NUM_THREADS": told, "kind": platform.machine()},
    )  # fmt: skip


def memory() -> Iterator[Finding]:
    """Memory in all, and free."""
    total, free = _memory()
    if total is None:
        yield Finding("memory", "ok", "this system does not tell")
        return
    low = free is not None and free < _LOW_MEMORY
    said = f"{total / _GIB:.1f} GiB" + ("" if free is None else f", {free / _GIB:.1f} GiB free")
    remedy = "Close other programs, or take smaller batches: --set train.batch_size=32."
    yield Finding(
        "memory", "gap" if low else "ok", said, remedy if low else "",
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
        said = f"{torch.cuda.get_device_name(number)}, {total / _GIB:.0f} GiB, "
        said += f"{free / _GIB:.0f} GiB free, CUDA {torch.version.cuda}"
        good = answer == 8.0
        yield Finding(
            f"cuda:{number}", "ok" if good else "broken", said,
            "" if good else "It adds wrongly. Update the driver, or hide it: CUDA_VISIBLE_DEVICES=",
            {"name": torch.cuda.get_device_name(number), "total": total, "free": free},
        )  # fmt: skip


def _no_cuda(version: str, built_for: str | None) -> Finding:
    driver = Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None
    facts = {"driver": driver, "built_for": built_for}
    if not driver:
        return Finding("CUDA", "off", "no NVIDIA GPU here: all runs on the CPU", "", facts)
    if built_for is None:
        said = f"there is an NVIDIA driver, but torch {version} was built without CUDA"
        remedy = "Install a build of torch with CUDA: https://pytorch.org/get-started/locally/"
        return Finding("CUDA", "gap", said, remedy, facts)
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    said = f"torch was built for CUDA {built_for}, but finds no GPU"
    said += "" if hidden is None else f" (CUDA_VISIBLE_DEVICES={hidden})"
    remedy = "See whether nvidia-smi lists one; if so, unset CUDA_VISIBLE_DEVICES or update it."
    return Finding("CUDA", "gap", said, remedy, facts)


def mps() -> Iterator[Finding]:
    """The GPU of a Mac; nothing elsewhere."""
    import torch

    if torch.backends.mps.is_available():
        said = "there, but smtlayer was tried on the CPU and on CUDA only"
        yield Finding("MPS", "off", said, "", {"available": True})


def data() -> Iterator[Finding]:
    """The data sets of the tasks."""
    from smtlayer_studies.tasks import data as registry

    folder = registry.data_folder()
    if folder is None:
        said = "no data folder, for SMTLAYER_CACHE switches the default one off"
        yield Finding("folder", "gap", said, "export SMTLAYER_DATA=FOLDER")
    else:
        there = "" if folder.is_dir() else ", which does not exist"
        yield Finding("folder", "ok" if folder.is_dir() else "off", f"{folder}{there}", "",
                      {"folder": str(folder)})  # fmt: skip
    for dataset, group in groupby(registry.FILES.values(), key=lambda file: file.dataset):
        files = list(group)
        states = {file.name: registry.state(file) for file in files}
        wrong = [file for file in files if states[file.name] != "ok"]
        if not wrong:
            yield Finding(dataset, "ok", f"for {files[0].used_for}", "", states)
            continue
        kinds = {states[file.name] for file in wrong}
        names = ", ".join(f"{file.name} {states[file.name]}" for file in wrong)
        all_alike = len(wrong) == len(files) and len(kinds) == 1
        said = f"{kinds.pop() if all_alike else names}, for {wrong[0].used_for}. "
        said += f"Without it: {wrong[0].without}."
        remedy = f"smtlayer data --download {dataset}"
        if not wrong[0].urls:
            paths = ", ".join(file.path for file in wrong)
            remedy = f"Put {paths} there by hand (`smtlayer data` tells what it is)."
        yield Finding(dataset, "gap", said, remedy, states)


def cache() -> Iterator[Finding]:
    """The compiled theories on disk."""
    from smtlayer.solvers.store import default_store

    store = default_store()
    if store.folder is None:
        said = "switched off by SMTLAYER_CACHE: theories are compiled anew in each process"
        yield Finding("theories", "off", said, "unset SMTLAYER_CACHE")
        return
    entries, problem = store.entries(), store.problem()
    size = sum(entry.bytes for entry in entries)
    facts = {"folder": str(store.folder), "theories": len(entries), "bytes": size}
    said = f"{len(entries)} compiled, {size / (1 << 20):.1f} MiB in {store.folder}"
    place = next(p for p in (store.folder, *store.folder.absolute().parents) if p.exists())
    free = shutil.disk_usage(place).free
    if problem:
        said, remedy = f"{said}; nothing can be written: {problem}", "export SMTLAYER_CACHE=FOLDER"
        yield Finding("theories", "gap", said, f"{remedy}, one that is yours", facts)
    elif free < _LOW_DISK:
        said = f"{said}; only {free / _GIB:.1f} GiB are left there"
        yield Finding("theories", "gap", said, "Free some space.", facts | {"free": free})
    else:
        yield Finding("theories", "ok", said, "", facts | {"free": free})


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version in order, for comparing: `"1.8.dev13"` is (1, 8, 13)."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0]))


def _cores() -> int:
    """Cores that this process may use: fewer than there are, in many containers."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
        try:
            quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
            return min(cores, max(1, round(int(quota) / int(period))))
        except (OSError, ValueError):  # no such file, or no limit
            return cores
    return os.cpu_count() or 1


def _memory() -> tuple[int | None, int | None]:
    """Bytes in all and free; a container's limit counts as all there is."""
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
