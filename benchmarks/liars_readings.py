"""Counts the readings of the liar's sentences that fit all training puzzles.

The labels name the culprit, not the meaning of a sentence. Training shows twelve configurations;
readings that fit all of them may differ on the other twelve. For each split, this script prints how
many readings fit and their test accuracies:

    python benchmarks/liars_readings.py --splits 10 [--as-printed]
"""

import argparse
import time
from collections import Counter

from smtlayer.lab import readings
from smtlayer.solvers.table.models import list_models
from smtlayer_studies.tasks.liars.lab import problem
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.liars.theory import liars_theory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--as-printed", action="store_true")
    parser.add_argument("--most", type=int, default=2000, help="readings to list for a split")
    options = parser.parse_args()
    inputs = list_models(liars_theory(as_printed=options.as_printed), 100_000).inputs
    triples = {tuple(row) for row in inputs.tolist()}
    sentences = {row[i : i + 7] for row in triples for i in (0, 7, 14)}
    print(f"{len(sentences)} readings of a sentence, {len(triples)} triples of them that the "
          f"theory allows")  # fmt: skip
    for split in range(options.splits):
        start = time.monotonic()
        task = LiarsPuzzle(split=split, as_printed=options.as_printed)
        found = readings(problem(task), limit=options.most)
        right = Counter[float]()
        for one in found.classes:
            right[round(one.accuracy, 4)] += one.count
        kinds = ", ".join(f"{n} x {a:.1%}" for a, n in sorted(right.items(), reverse=True))
        more = "" if found.complete else " or more"
        print(f"split {split}: {found.count}{more} readings fit; right on test: {kinds}"
              f" ({time.monotonic() - start:.1f} s)", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
