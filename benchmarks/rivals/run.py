"""Runs rivals beside smtlayer: same data, same machine, both sides timed in turn in one process.

    python benchmarks/rivals/run.py                # all that are installed; the others are skipped
    python benchmarks/rivals/run.py bio-tags cp-sat --json
    python benchmarks/rivals/run.py --list
    python benchmarks/record.py rivals             # keeps the output in benchmarks/results

Each rival has a file in `benchmarks/rivals/requirements`, for an environment that contains
smtlayer: `pip install --no-deps -r benchmarks/rivals/requirements/NAME.txt`.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import torch

import bio_tags
import cp_sat_selection
import deepproblog_addition
import klay_addition
import ltn_addition
import road_r
from comparison import Rival, compare
from smtlayer_cli.provenance import here

RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        road_r.RIVAL,
        bio_tags.RIVAL,
        cp_sat_selection.RIVAL,
        klay_addition.RIVAL,
        deepproblog_addition.RIVAL,
        ltn_addition.RIVAL,
    )
}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RIVALS))
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--list", action="store_true", help="list the rivals and what is missing")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in RIVALS]
    if unknown:
        parser.error(f"expects names among {', '.join(RIVALS)}. Got {', '.join(unknown)}.")
    chosen = [RIVALS[name] for name in options.names or RIVALS]
    if options.list:
        for rival in chosen:
            print(f"{rival.name}: {rival.problem}. {rival.missing() or 'Can run here.'}")
        return 0
    torch.set_num_threads(1)
    agreed = run(chosen, as_json=options.json)
    return 0 if agreed and all(agreed) else 1


def run(rivals: Sequence[Rival], *, as_json: bool) -> list[bool]:
    """Runs all rivals that can run here, and returns whether both sides agree in each case."""
    agreed = []
    for rival in rivals:
        reason = rival.missing()
        if reason:
            print(f"skipped {rival.name}: {reason}", file=sys.stderr)
            continue
        for case in rival.cases():
            record = compare(rival, case)
            print(json.dumps(record | here("cpu")) if as_json else text(record), flush=True)
            agreed.append(record["agrees"])
    return agreed


def text(record: dict[str, Any]) -> str:
    """A result for the terminal."""
    low, high = record["ratio_quartiles"]
    sides = (f"{side}: {record[f'{side}_ms'][0]:.3g} ms" for side in ("ours", "theirs"))
    kind = "x faster" if record["faster"] else "x the time"
    return (
        f"{record['title']} {record['version']}".rstrip()
        + f", {record['problem']}, {record['size']}\n"
        f"  {', '.join(sides)} ({record['setup']}), per {record['per']}\n"
        f"  ratio {record['ratio']:.3g} {kind} ({low:.3g} to {high:.3g}), "
        f"first batch in a row {record['first_ratio']:.3g}; "
        f"bar {record['bar']:g}: {'met' if record['met'] else 'MISSED'}\n"
        f"  {'agrees' if record['agrees'] else 'DISAGREES'}: {record['agreement']}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
