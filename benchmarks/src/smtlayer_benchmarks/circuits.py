"""The time to compile theories to decision diagrams, and the size of the diagrams."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial

from smtlayer.solvers import Circuit
from smtlayer.solvers.circuit.circuit import CircuitSolver
from smtlayer.theory import Theory
from smtlayer_benchmarks.startup import in_new_processes
from smtlayer_benchmarks.theories import (
    ROAD_R,
    bio_theory,
    knapsack_weights,
    missing_data,
    path_theory,
    requirements,
    road_r_clauses,
    selection,
)
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory

COMPILE_S = 2.0
HEADINGS = (
    "theory", "columns", "models", "nodes", "arcs", "levels",
    "definition, s", "compile, s", "from the cache, s",
)  # fmt: skip
REQUIREMENTS = "ROAD-R, 243 requirements"


def knapsack() -> Theory:
    """30 items of weights from 5 to 30, with a third of their weight as capacity."""
    weights = knapsack_weights(30)
    return selection(weights, sum(weights) // 3, exactly=False)


THEORIES: Mapping[str, Callable[[], Theory]] = {
    REQUIREMENTS: lambda: requirements(road_r_clauses()),
    "addition, 4 digits, one-hot": partial(long_addition_theory, 4, "digits"),
    "addition, 15 digits, one-hot": partial(long_addition_theory, 15, "digits"),
    "addition, 15 digits, 4 bits each": partial(long_addition_theory, 15, "bits"),
    "BIO tags, 24 tokens, 9 tags, at most 2 entities": partial(bio_theory, 24),
    "paths, 6 x 6 grid, 8 neighbours": partial(path_theory, 6),
    "exactly 5 of 30": partial(selection, [1] * 30, 5, exactly=True),
    "exactly 10 of 100": partial(selection, [1] * 100, 10, exactly=True),
    "knapsack, 30 items, weights 5 to 30": knapsack,
}


@dataclass(frozen=True)
class Compilation:
    """A theory compiled by `Circuit` in a new process, imports not counted."""

    theory: str
    columns: int
    models: int
    nodes: int
    arcs: int
    levels: int
    definition_s: float  # to define the theory
    compile_s: float  # with an empty cache
    cached_s: float

    @property
    def met(self) -> bool:
        """Whether the bar is kept."""
        return self.compile_s <= COMPILE_S

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of a table, one per heading."""
        models = f"{self.models:,}" if self.models < 10**6 else f"{self.models:.2g}"
        sizes = (self.nodes, self.arcs, self.levels)
        return (
            self.theory, f"{self.columns:,}", models, *(f"{size:,}" for size in sizes),
            f"{self.definition_s:.2f}", f"{self.compile_s:.2f}", f"{self.cached_s:.3f}",
        )  # fmt: skip


def skipped() -> str | None:
    """Which theory is left out, and why."""
    reason = missing_data(ROAD_R)
    return f"skipped {REQUIREMENTS}: {reason}" if reason else None


def compilations() -> list[Compilation]:
    """Every theory, first with an empty cache and then with a filled one."""
    cold, cached = in_new_processes("circuits")
    return [
        Compilation(**one | {"cached_s": cached[name]["compile_s"]}) for name, one in cold.items()
    ]


def report() -> None:
    """Prints the compilation of each theory, as JSON; its time from the cache is not known yet."""
    Circuit().compile(addition_theory())  # first calls of torch, z3 and OxiDD
    left_out = {REQUIREMENTS} if skipped() else set()
    made = (compiled(name, make) for name, make in THEORIES.items() if name not in left_out)
    print(json.dumps({one.theory: asdict(one) for one in made}))


def compiled(name: str, make: Callable[[], Theory]) -> Compilation:
    """Compiles a theory once."""
    start = time.perf_counter()
    theory = make()
    defined = time.perf_counter()
    solver = Circuit().compile(theory)
    done = time.perf_counter()
    assert isinstance(solver, CircuitSolver)
    diagram = solver.diagram
    return Compilation(
        name, theory.n_inputs + theory.n_outputs, diagram.n_models, diagram.n_nodes,
        diagram.n_arcs, len(diagram.levels), defined - start, done - defined, 0.0,
    )  # fmt: skip
