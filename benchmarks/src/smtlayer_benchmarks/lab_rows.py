"""Rows of the tables of the lab's records and of the readings of the liar's sentences."""

import re
from collections.abc import Sequence
from typing import Any

Records = Sequence[dict[str, Any]]
Row = tuple[str, ...]
_MIX = "mix(core, marginal)"
_COOL = "marginal(temperature=anneal(8, 1, until=0.3, shape='geometric'))"
_PROBLEMS = {
    "mnist-addition-10": "addition 10 %",
    "mnist-addition-100": "addition 100 %",
    "visual-algebra": "algebra",
    "liars-puzzle": "liar's puzzle",
    "liars-puzzle-as-printed": "liar's, as printed",
}
_RULES = {
    **{f"`{name}`": name for name in ("core", "maxsmt", "sample", "marginal", _MIX, "anneal_core")},
    "`anneal_core` without cooling": f"schedule((0.5, {_MIX}), (1, core))",
    "without shaking": f"schedule((0.3, {_COOL}), (1, core))",
    "without cores": _COOL,
}
_RATES = 3, 20  # the default learning rates
LAB_HEADS = ("rule", *_PROBLEMS.values())
READING_HEADS = (
    "", "with both: consistent", "right", "mean", "as printed: consistent", "right", "mean",
)  # fmt: skip


def lab_rows(records: Records) -> list[Row]:
    """Rules by problems, with the default learning rates."""
    return [
        (name, *(_cell(records, problem, rule) for problem in _PROBLEMS))
        for name, rule in _RULES.items()
    ]


def grounded_seeds(records: Records, problem: str, rule: str = "core") -> str:
    """The number of seeds from which a rule learns a problem, "3 of 20"."""
    seeds, run = _run(records, problem, rule)
    return f"{run['grounded']} of {seeds}"


def reading_rows(text: str) -> list[Row]:
    """Readings of the liar's sentences that are consistent with the training set, by split."""
    rows: dict[str, list[str]] = {}
    for split, count, kinds in re.findall(r"(split \d+): (\d+) readings fit;.*: (.*) \(", text):
        right = {float(a): int(n) for n, a in re.findall(r"(\d+) x ([\d.]+)%", kinds)}
        mean = sum(a * n for a, n in right.items()) / int(count)
        rows.setdefault(split, []).extend([count, str(right[100.0]), f"{mean:.0f} %"])
    return [(split, *cells) for split, cells in rows.items()]


def _cell(records: Records, problem: str, rule: str) -> str:
    """The number of grounded seeds, with the mean test accuracy if not all are."""
    seeds, run = _run(records, problem, rule)
    if run["grounded"] == seeds:
        return f"**{seeds}**"
    return f"{run['grounded']} ({100 * run['mean']:.0f} %)"


def _run(records: Records, problem: str, rule: str) -> tuple[int, dict[str, Any]]:
    """The number of seeds and the result of a rule, in the first record that has it."""
    return next(
        (record["seeds"], run)
        for record in records
        if (record["problem"], record["options"]["lr"], record["options"]["late_lr"])
        == (problem, *_RATES)
        for run in record["runs"]
        if run["rule"] == rule
    )
