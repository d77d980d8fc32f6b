"""Ratios of two timings that alternate in one run, so that other load affects both."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Ratio:
    """Two things timed side by side."""

    name: str
    ours: str
    ours_ms: float
    baseline: str
    baseline_ms: float
    ratio: float  # baseline over ours if `faster`, else ours over baseline
    faster: bool  # True if a larger ratio is better
    bar: float
    device: str
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the ratio is on the right side of the bar."""
        return self.ratio >= self.bar if self.faster else self.ratio <= self.bar


def alternate(
    first: Callable[[], None],
    second: Callable[[], None],
    repeats: int,
    inner: tuple[int, int],
    device: str = "cpu",
) -> tuple[float, float]:
    """Median milliseconds of each, measured in turn after a warm-up."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 2):
        for action, count, kept in zip((first, second), inner, times, strict=True):
            _wait(device)
            start = time.perf_counter()
            for _ in range(count):
                action()
            _wait(device)
            if repeat >= 2:
                kept.append((time.perf_counter() - start) / count * 1000)
    return statistics.median(times[0]), statistics.median(times[1])


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
