"""The shape of a comparison with another library, and the timing of both sides."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from smtlayer_benchmarks.theories import missing_data

REQUIREMENTS = Path(__file__).parent / "requirements"
Side = Callable[[int], object]  # the number of the batch -> the results
RUN = 5  # batches of milliseconds: the first finds the caches as the other side left them


@dataclass(frozen=True)
class Agreement:
    """Whether both sides agree, in words, with the scores of each side if there are some."""

    holds: bool
    text: str
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Case:
    """One size of a problem, ready to run on both sides.

    Both sides are called with 0, 1, ..., and handle the batch of that number: no batch comes twice,
    so that no cache has its answers. Each of the `repeats` times a run of batches, after a first
    run as a warm-up.
    """

    size: str
    ours: Side
    theirs: Mapping[str, Side]  # by set-up; the fastest one counts
    agreement: Callable[[], Agreement]  # after the timing
    per: str = "batch"
    share: float = 1.0  # of `per` that one call handles
    repeats: int = 10
    run: int = 1  # batches


@dataclass(frozen=True)
class Rival:
    """Another library, or code written by hand, on one problem."""

    name: str
    title: str
    distribution: str | None  # None: needs nothing but PyTorch
    module: str
    problem: str
    differs: str
    bar: float  # theirs over ours if `faster`, else ours over theirs
    faster: bool
    cases: Callable[[], Iterable[Case]]
    data: str = ""  # a path in the data folder

    def missing(self) -> str | None:
        """Why this rival cannot run here, and what to do; None if it can."""
        if self.distribution and find_spec(self.module.partition(".")[0]) is None:
            file = f"benchmarks/rivals/requirements/{self.name}.txt"
            return (
                f"{self.distribution} is not installed. "
                f"Install it with: pip install --no-deps -r {file}"
            )
        return missing_data(self.data) if self.data else None

    def version(self) -> str:
        """The installed version, or nothing for code written by hand."""
        return version(self.distribution) if self.distribution else ""


def compare(rival: Rival, case: Case) -> dict[str, Any]:
    """Times both sides of a case in turn and returns its record."""
    timed = interleaved(case)
    means = {name: [statistics.mean(run) for run in runs] for name, runs in timed.items()}
    ours, theirs = means[""], {name: times for name, times in means.items() if name}
    setup = min(theirs, key=lambda name: statistics.median(theirs[name]))
    ratios = paired(rival, ours, theirs[setup])
    ratio = statistics.median(ratios)
    firsts = paired(rival, *([run[0] for run in timed[name]] for name in ("", setup)))
    found = case.agreement()
    return {
        "rival": rival.name, "title": rival.title, "version": rival.version(),
        "problem": rival.problem, "size": case.size, "per": case.per,
        "ours_ms": milliseconds(ours, case), "theirs_ms": milliseconds(theirs[setup], case),
        "setup": setup,
        "setups_ms": {name: milliseconds(times, case)[0] for name, times in theirs.items()},
        "ratio": ratio, "ratio_quartiles": quartiles(ratios),
        "first_ratio": statistics.median(firsts),  # of the first batches of the runs
        "repeats": case.repeats, "run": case.run,
        "faster": rival.faster, "bar": rival.bar,
        "met": ratio >= rival.bar if rival.faster else ratio <= rival.bar,
        "agrees": found.holds, "agreement": found.text, "scores": dict(found.scores),
        "differs": rival.differs,
    }  # fmt: skip


def paired(rival: Rival, ours: list[float], theirs: list[float]) -> list[float]:
    """The ratio of each repeat."""
    pairs = zip(ours, theirs, strict=True)
    return [b / a if rival.faster else a / b for a, b in pairs]


def milliseconds(times: list[float], case: Case) -> list[float]:
    """Median and quartiles, scaled to what the case counts."""
    found = (statistics.median(times), *quartiles(times))
    return [seconds * 1000 / case.share for seconds in found]


def quartiles(values: list[float]) -> list[float]:
    """The first and the third quartile."""
    if len(values) == 1:
        return values * 2
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return [first, third]


def interleaved(case: Case) -> dict[str, list[list[float]]]:
    """Seconds of each batch of each run, by set-up; ours has no name.

    The sides are measured in turn, so that load affects all of them.
    """
    sides = {"": case.ours, **case.theirs}
    times: dict[str, list[list[float]]] = {name: [] for name in sides}
    for repeat in range(case.repeats + 1):
        batches = range(repeat * case.run, (repeat + 1) * case.run)
        for name, side in sides.items():
            times[name].append([seconds(side, i) for i in batches])
    return {name: runs[1:] for name, runs in times.items()}


def seconds(side: Side, i: int) -> float:
    """The time of one batch."""
    start = time.perf_counter()
    side(i)
    return time.perf_counter() - start
