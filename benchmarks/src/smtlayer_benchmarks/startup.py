"""The time from a theory's definition to a layer that is ready."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from smtlayer.nn import SMTLayer
from smtlayer.theory import Theory
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.data import data_folder
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

THEORIES: Mapping[str, Callable[[], Theory]] = {
    "MNIST addition": addition_theory,
    "visual algebra": algebra_theory,
    "liar's puzzle": liars_theory,
    "liar's puzzle, as printed": lambda: liars_theory(as_printed=True),
    "visual Sudoku": sudoku_theory,
}
COLD_S, CACHED_S = 2.0, 0.2


@dataclass(frozen=True)
class Start:
    """Seconds until a task's layer is ready, in a new process, imports not counted."""

    task: str
    backend: str
    cold_s: float
    cached_s: float

    @property
    def met(self) -> bool:
        """Whether both bars are kept."""
        return self.cold_s <= COLD_S and self.cached_s <= CACHED_S


def startup() -> list[Start]:
    """Every task's theory, first with an empty cache and then with a filled one."""
    cold, cached = in_new_processes("startup")
    return [Start(task, backend, s, cached[task][1]) for task, (backend, s) in cold.items()]


def in_new_processes(module: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a module reports in a new process with an empty cache, and then with a filled one."""
    code = f"from smtlayer_benchmarks import {module}; {module}.report()"
    environment = dict(os.environ)
    data = data_folder()
    if data is not None:  # it may be in the cache folder
        environment["SMTLAYER_DATA"] = str(data)

    def report(cache: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment | {"SMTLAYER_CACHE": cache},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    with tempfile.TemporaryDirectory() as cache:
        return report(cache), report(cache)


def report() -> None:
    """Prints the backend and the seconds of each task, as JSON."""
    found = {}
    SMTLayer(addition_theory())  # first calls of torch and z3
    for task, make in THEORIES.items():
        start = time.perf_counter()
        layer = SMTLayer(make())
        found[task] = (layer.solver.name, time.perf_counter() - start)
    print(json.dumps(found))
