"""The time of one row without gradient, on the CPU."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from smtlayer.lab.laboratory import one_thread
from smtlayer.nn import SMTLayer
from smtlayer.theory import Theory
from smtlayer_benchmarks.circuits import THEORIES as COMPILED
from smtlayer_benchmarks.theories import bio_theory, selection
from smtlayer_studies.tasks.addition.theory import addition_theory

LATENCY_MS = 0.15
_LOGITS = 64  # rows to choose from
THEORIES: Mapping[str, Callable[[], Theory]] = {
    "MNIST addition": addition_theory,
    "exactly 5 of 30": partial(selection, [1] * 30, 5, exactly=True),
    "addition, 4 digits, one-hot": COMPILED["addition, 4 digits, one-hot"],
    "BIO tags, 24 tokens, 9 tags, at most 2 entities": partial(bio_theory, 24),
}


@dataclass(frozen=True)
class Latency:
    """One row in `eval()` and `no_grad`, on one core."""

    theory: str
    backend: str
    row: str  # "as it is" or "repaired"
    latency_ms: float  # the median

    @property
    def met(self) -> bool:
        """Whether the bar is kept."""
        return self.latency_ms <= LATENCY_MS


def latencies(repeats: int = 10) -> Iterator[Latency]:
    """A row that fits the theory and one that is repaired, for each theory."""
    for name, make in THEORIES.items():
        layer = SMTLayer(make()).eval()
        for kind, row in typical_rows(layer):
            yield Latency(name, layer.solver.name, kind, median_ms(layer, row, 20 * repeats))


def typical_rows(layer: SMTLayer) -> Iterator[tuple[str, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(_LOGITS, layer.theory.n_inputs, generator=generator)
    found = layer.solve(logits)
    yield "as it is", found.inputs[:1] * logits[:1].abs().clamp(min=0.1)
    yield "repaired", logits[found.cost > 0][:1]


@one_thread()
@torch.no_grad()
def median_ms(layer: SMTLayer, row: Tensor, repeats: int) -> float:
    times = []
    for _ in range(repeats + 10):
        start = time.perf_counter()
        layer(row)
        times.append(time.perf_counter() - start)
    return statistics.median(times[10:]) * 1000
