"""The origin of a table, from the dates, commits and machines of its records."""

from collections.abc import Sequence
from typing import Any


def recorded(records: Sequence[dict[str, Any]]) -> str:
    """Dates, commits and processors of records, as far as they are recorded."""
    dates = [record["written"][:10] for record in records]
    when = " to ".join(dict.fromkeys((min(dates), max(dates))))
    commits = sorted({record["commit"] or "not recorded" for record in records})
    of = f"commit: {', '.join(commits)}"
    if len(commits) > 5:
        of = f"{len(commits)} commits, named in the records"
    machines = sorted({_processors(record["machine"] or {}) for record in records})
    return f"Recorded {when}; {of}; processor: {', '.join(machines)}."


def _processors(machine: dict[str, str]) -> str:
    """The CPU, after the GPU that was used."""
    cpu, device = machine.get("processor", "not recorded"), machine.get("device", "cpu")
    return cpu if device == "cpu" else f"{device} with {cpu}"
