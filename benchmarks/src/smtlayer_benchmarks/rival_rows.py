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
    """The ratio with its quartiles, as a number of at least 1, and who is faster."""
    shares = [record["ratio"], *record["ratio_quartiles"]]
    faster = record["faster"] == (shares[0] >= 1)
    if shares[0] < 1:
        shares = [1 / share for share in (shares[0], *shares[:0:-1])]
    ratio, low, high = (f"{share:.3g}" for share in shares)
    return f"**{ratio} x {'faster' if faster else 'the time'}** ({low} to {high})"


def _duration(record: dict[str, Any], side: str) -> str:
    """The median time of one side."""
    ms = record[f"{side}_ms"][0]
    if record["per"] == "batch":
        return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.2g} ms"
    return f"{ms / 1000:.2g} s per {record['per']}"
