"""Tables of the trainings that `learn.py` records."""

import statistics
from collections.abc import Sequence
from typing import Any

from methods import METHODS, Method
from problems import PROBLEMS
from smtlayer_studies.reports.paper import EXPERIMENTS

Records = Sequence[dict[str, Any]]
Row = tuple[str, ...]
ENDS = ("mnist-addition-10", "mnist-addition-100", "visual-algebra-1", "liars-puzzle",
        "visual-sudoku-10")  # fmt: skip
TIMED = ENDS[1:]  # a step of MNIST+ 10 % takes as long as one of 100 %
SHARES = tuple(f"mnist-addition-{percent}" for percent in (10, 25, 50, 75, 100))
EPOCHS = ("mnist-addition-10", "mnist-addition-10-longer")
LONG = tuple(f"long-addition-{length}" for length in (2, 4, 15))
QUOTED = {
    "satnet": "SATNet, paper †",
    "scallop": "Scallop, paper †",
    "smtlayer": "SMTLayer, paper †",
}
SEEDS = 3  # of a cell without a number in brackets
NONE = "–"  # noqa: RUF001


def accuracy_rows(records: Records, problems: Sequence[str], least: int = 1) -> list[Row]:
    """Test accuracy of methods on some problems, at least so many, then what the paper reports."""
    rows = [(method.title, *_cells(records, method, problems)) for method in METHODS.values()] + [
        (title, *(_quoted(problem, name) for problem in problems)) for name, title in QUOTED.items()
    ]
    return [row for row in rows if len(row) - 1 - row.count(NONE) >= least]


def seconds_rows(records: Records, problems: Sequence[str]) -> list[Row]:
    """Seconds of training per 1,000 examples, with the least and most; of one machine's records."""
    times = {(r["method"], r["problem"]): r for r in records}
    rows = []
    for method in METHODS.values():
        own = [times.get((method.name, problem)) for problem in problems]
        if any(own):
            rows.append((method.title, *(_with_range(one) if one else NONE for one in own)))
    return rows


def timings(records: Records, device: str) -> Records:
    """The records of times on the CPU, or on a GPU."""
    found = [r for r in records if r["kind"] == "seconds"]
    return [r for r in found if (r["machine"]["device"] == "cpu") == (device == "cpu")]


def method_rows() -> list[Row]:
    """What each method is given, and its settings."""
    return [(method.title, method.needs, method.settings) for method in METHODS.values()]


def titles(problems: Sequence[str]) -> Row:
    """The heads of the columns of some problems."""
    return tuple(PROBLEMS[name].title for name in problems)


def _cells(records: Records, method: Method, problems: Sequence[str]) -> Row:
    return tuple(
        _mean([
            100 * r["scores"]["accuracy"]
            for r in records
            if (r["kind"], r["method"], r["problem"]) == ("accuracy", method.name, problem)
        ])
        for problem in problems
    )  # fmt: skip


def _mean(values: list[float]) -> str:
    """Mean and standard deviation, with the number of seeds where it is not `SEEDS`."""
    if not values:
        return NONE
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    count = "" if len(values) == SEEDS else f" ({len(values)})"
    return f"{statistics.mean(values):.1f}{spread}{count}"


def _with_range(record: dict[str, Any]) -> str:
    low, high = map(_seconds, record["range"])
    return f"{_seconds(record['per_1000'])} ({low} to {high})"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def quoted(problem: str, name: str) -> float | None:
    """The test accuracy that the paper reports, in per cent; `name` is a key of `QUOTED`."""
    experiment = EXPERIMENTS.get(problem)
    return None if experiment is None else experiment.accuracy(name)


def _quoted(problem: str, name: str) -> str:
    accuracy = quoted(problem, name)
    return NONE if accuracy is None else f"{accuracy:.1f}"
