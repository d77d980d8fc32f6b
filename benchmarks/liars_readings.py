"""Counts the readings of the liar's sentences that fit all training puzzles.

The labels name the culprit, not the meaning of a sentence. Training shows twelve configurations;
readings that fit all of them may differ on the other twelve. For each split, this script prints how
many readings fit and their test accuracies:

    python benchmarks/liars_readings.py --splits 10 [--as-printed]
"""

import argparse
import time
from collections import Counter, defaultdict
from itertools import combinations

from pysat.solvers import Glucose4

from smtlayer.solvers.table.models import list_models
from smtlayer_studies.tasks.liars.data import ORDERS, configurations, culprits, draw_split
from smtlayer_studies.tasks.liars.sentences import KINDS
from smtlayer_studies.tasks.liars.theory import liars_theory

Guilty = dict[tuple[int, ...], set[int]]  # three readings -> possible culprits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--as-printed", action="store_true")
    parser.add_argument("--most", type=int, default=2000, help="readings to list for a split")
    options = parser.parse_args()
    guilty, count = readings_of_theory(options.as_printed)
    print(f"{count} readings of a sentence, {len(guilty)} triples of them that the theory allows")
    for split in range(options.splits):
        start = time.monotonic()
        found = fitting_accuracies(split, guilty, count, options.most)
        kinds = ", ".join(f"{n} x {a:.1%}" for a, n in sorted(found.items(), reverse=True))
        more = " or more" if found.total() == options.most else ""
        print(f"split {split}: {found.total()}{more} readings fit; right on test: {kinds}"
              f" ({time.monotonic() - start:.1f} s)", flush=True)  # fmt: skip


def readings_of_theory(as_printed: bool) -> tuple[Guilty, int]:
    models = list_models(liars_theory(as_printed=as_printed), 100_000)
    triples = [
        (tuple(tuple(part.tolist()) for part in row.split(7)), out.argmax().item())
        for row, out in zip(models.inputs, models.outputs, strict=True)
    ]
    number = {reading: i for i, reading in enumerate(sorted({r for t, _ in triples for r in t}))}
    guilty: Guilty = defaultdict(set)
    for readings, agent in triples:
        guilty[tuple(number[reading] for reading in readings)].add(int(agent))
    return dict(guilty), len(number)


def fitting_accuracies(split: int, guilty: Guilty, count: int, most: int) -> Counter[float]:
    """How many readings of the twelve kinds fit the training puzzles, by their test accuracy."""
    train, _ = draw_split(split)
    shown = {(int(c), int(o)) for c, o in zip(train.configurations, train.orders, strict=True)}
    solver = Glucose4()
    for kind in range(len(KINDS)):
        solver.add_clause([_literal(kind, r, count) for r in range(count)])
        for one, two in combinations(range(count), 2):
            solver.add_clause([-_literal(kind, one, count), -_literal(kind, two, count)])
    top = len(KINDS) * count
    for configuration, order in sorted(shown):
        kinds = _kinds(configuration, order)
        ways = [
            t for t, who in guilty.items() if who == set(culprits(configurations()[configuration]))
        ]
        for i, way in enumerate(ways):
            for kind, reading in zip(kinds, way, strict=True):
                solver.add_clause([-(top + i + 1), _literal(kind, reading, count)])
        solver.add_clause(list(range(top + 1, top + len(ways) + 1)))
        top += len(ways)
    unseen = [i for i in range(len(configurations())) if i not in {c for c, _ in shown}]
    found: Counter[float] = Counter()
    while found.total() < most and solver.solve():
        true = {x for x in solver.get_model() if x > 0}
        reads = [
            next(r for r in range(count) if _literal(k, r, count) in true)
            for k in range(len(KINDS))
        ]
        tests = [(c, o) for c in unseen for o in range(len(ORDERS))]
        right = sum(
            guilty.get(tuple(reads[k] for k in _kinds(c, o))) == set(culprits(configurations()[c]))
            for c, o in tests
        )
        found[round(right / len(tests), 4)] += 1
        solver.add_clause([-_literal(k, reads[k], count) for k in range(len(KINDS))])
    return found


def _literal(kind: int, reading: int, count: int) -> int:
    return kind * count + reading + 1


def _kinds(configuration: int, order: int) -> list[int]:
    return [KINDS.index(configurations()[configuration][i]) for i in ORDERS[order]]


if __name__ == "__main__":
    main()
