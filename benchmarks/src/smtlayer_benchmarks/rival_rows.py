"""Rows of the table of other libraries, from the records of `benchmarks/rivals/run.py`."""

from collections.abc import Sequence
from typing import Any

RIVAL_HEADS = ("rival", "problem", "theirs", "ours", "ratio", "results", "what differs")


def rival_rows(records: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """One row per record; the problem and what differs are given once for each rival."""
    rows: list[tuple[str, ...]] = []
    named: set[str] = set()
    for r in records:
        again = r["rival"] in named
        named.add(r["rival"])
        rows.append((
            f"{r['title']} {r['version']}".strip(),
            r["size"] if again else f"{r['problem']}: {r['size']}",
            f"{_duration(r, 'theirs')} ({r['setup']})", _duration(r, "ours"),
            ratio_text(r), f"{r['agreement']}.",
            "as above" if again else f"{r['differs']}.",
        ))  # fmt: skip
    return rows


def ratio_text(record: dict[str, Any]) -> str:
    """The ratio with its quartiles, and that of the first batch in a row."""
    text = f"**{_ratio(record, record['ratio'])}** ({_quartiles(record)})"
    if record["run"] > 1:
        text += f"; first batch {_ratio(record, record['first_ratio'])}"
    return text


def _ratio(record: dict[str, Any], ratio: float) -> str:
    """A ratio as a number of at least 1, and who is faster."""
    faster = record["faster"] == (ratio >= 1)
    return f"{max(ratio, 1 / ratio):.3g} x {'faster' if faster else 'the time'}"


def _quartiles(record: dict[str, Any]) -> str:
    low, high = record["ratio_quartiles"]
    if record["ratio"] < 1:
        low, high = 1 / high, 1 / low
    return f"{low:.3g} to {high:.3g}"


def _duration(record: dict[str, Any], side: str) -> str:
    """The median time of one side."""
    ms = record[f"{side}_ms"][0]
    if record["per"] == "batch":
        return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.2g} ms"
    return f"{ms / 1000:.2g} s per {record['per']}"
