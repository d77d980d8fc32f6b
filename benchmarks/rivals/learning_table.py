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
# A library's methods: on each problem, the first that was trained on it counts.
SUMMARY = {
    "ours, `anneal_core`": ("ours",),
    "ours, exact likelihood": ("likelihood-digits", "likelihood"),
    "top-k proofs, ours, in place of Scallop": ("topk-answers",),
    "KLay": ("klay",),
    "DeepProbLog": ("deepproblog",),
    "LTNtorch": ("ltn",),
    "SATNet": ("satnet", "satnet-sudoku"),
    "conventional network": ("conventional",),
}
SUMMARY_TIME = "mnist-addition-100"
SEEDS = 3  # of a cell without a number in brackets
NONE = "–"  # noqa: RUF001


def accuracy_rows(records: Records, problems: Sequence[str], least: int = 1) -> list[Row]:
    """Test accuracy of methods on some problems, at least so many, then what the paper reports."""
    rows = [
        (method.title, *_cells([r for r in records if r["method"] == method.name], problems))
        for method in METHODS.values()
    ] + [
        (title, *(_quoted(problem, name) for problem in problems)) for name, title in QUOTED.items()
    ]
    return [row for row in rows if len(row) - 1 - row.count(NONE) >= least]


def summary_heads() -> Row:
    """The heads of `summary_rows`."""
    time = f"seconds per 1,000 examples, {PROBLEMS[SUMMARY_TIME].title}"
    return "", "needs, besides answers", *titles(ENDS), time


def summary_rows(records: Records) -> list[Row]:
    """One row per library: what it needs, test accuracy, and seconds on one CPU core."""
    rows = []
    for title, names in SUMMARY.items():
        found = [_cells([r for r in records if r["method"] == name], ENDS) for name in names]
        cells = [
            next((c for c in column if c != NONE), NONE) for column in zip(*found, strict=True)
        ]
        method = METHODS[names[0]]
        times = [
            r for r in records
            if made(r, "seconds", "cpu") and (r["method"], r["problem"]) == (names[0], SUMMARY_TIME)
        ]  # fmt: skip
        seconds = f"{_seconds(times[0]['per_1000'])}{_batches(times[0], method)}" if times else NONE
        rows.append((title, method.needs, *cells, seconds))
    return rows


def seconds_rows(records: Records, problems: Sequence[str], device: str) -> list[Row]:
    """Seconds of training per 1,000 examples on a device, with the least and most.

    Batches of another size than that of the problem are named.
    """
    times = {(r["method"], r["problem"]): r for r in records if made(r, "seconds", device)}
    rows = []
    for method in METHODS.values():
        own = [times.get((method.name, problem)) for problem in problems]
        if any(own):
            cells = (_with_range(one, method) if one else NONE for one in own)
            rows.append((method.title, *cells))
    return rows


def made(record: dict[str, Any], kind: str, device: str) -> bool:
    """Whether a record is of this kind, and made on the CPU or on a GPU, like the device."""
    return record["kind"] == kind and (record["machine"]["device"] == "cpu") == (device == "cpu")


def earlier_rows(records: Records, problems: Sequence[str]) -> list[Row]:
    """Test accuracy with settings that were tried before, by their titles."""
    names = dict.fromkeys(r["title"] for r in records)
    return [(name, *_cells([r for r in records if r["title"] == name], problems)) for name in names]


def method_rows() -> list[Row]:
    """What each method is given, and its settings."""
    return [(method.title, method.needs, method.settings) for method in METHODS.values()]


def titles(problems: Sequence[str]) -> Row:
    """The heads of the columns of some problems."""
    return tuple(PROBLEMS[name].title for name in problems)


def titles_with_batches(problems: Sequence[str]) -> Row:
    """The same, with the size of their batches."""
    return tuple(
        f"{PROBLEMS[name].title}, batches of {PROBLEMS[name].batch_size}" for name in problems
    )


def _cells(records: Records, problems: Sequence[str]) -> Row:
    """Test accuracies of one method."""
    found = [r for r in records if r["kind"] == "accuracy"]
    return tuple(
        _mean([100 * r["scores"]["accuracy"] for r in found if r["problem"] == problem])
        for problem in problems
    )


def _mean(values: list[float]) -> str:
    """Mean and standard deviation, with the number of seeds where it is not `SEEDS`."""
    if not values:
        return NONE
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    count = "" if len(values) == SEEDS else f" ({len(values)})"
    return f"{statistics.mean(values):.1f}{spread}{count}"


def _with_range(record: dict[str, Any], method: Method) -> str:
    low, high = map(_seconds, record["range"])
    return f"{_seconds(record['per_1000'])} ({low} to {high}){_batches(record, method)}"


def _batches(record: dict[str, Any], method: Method) -> str:
    """The size of the batches, where it is not that of the problem."""
    problem = PROBLEMS[record["problem"]]
    size = method.budget(problem).batch_size
    return "" if size == problem.batch_size else f", batches of {size}"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def quoted(problem: str, name: str) -> float | None:
    """The test accuracy that the paper reports, in per cent; `name` is a key of `QUOTED`."""
    experiment = EXPERIMENTS.get(problem)
    return None if experiment is None else experiment.accuracy(name)


def _quoted(problem: str, name: str) -> str:
    accuracy = quoted(problem, name)
    return NONE if accuracy is None else f"{accuracy:.1f}"
