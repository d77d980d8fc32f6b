"""Compares MaxSAT methods on repairs of Sudoku boards with logits of real digit networks.

All work on the same clauses, with exact integer weights, one board at a time:

- `smtlayer`: core-guided with totalizers on one incremental solver (`solvers/search/maxsat.py`).
- `rc2`: PySAT's RC2Stratified, built for each board, since its weights cannot change.
- `hitting sets`: the cheapest set that hits all cores so far, by branch and bound, on one
  incremental solver.
- `coretrail`: an incremental MaxSAT solver of the hermax package (`pip install hermax`).

    python benchmarks/repairs.py --boards 100  # `benchmarks/record.py repairs` keeps the output
"""

import argparse
import json
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF
from pysat.solvers import Glucose4
from rich.console import Console
from rich.table import Table as RichTable

from smtlayer.solvers.clauses.cnf import Cnf
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.sat import SatRow
from smtlayer.solvers.search.maxsat import cheapest_repair
from smtlayer.solvers.search.oracle import exact_integers
from smtlayer_benchmarks.boards import READERS, Reading, read_boards
from smtlayer_cli.provenance import here
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

LIMIT_S = 20
Repair = Callable[[dict[int, int]], int]  # weights by literal -> the least cost


class Tight:
    """A `SatRow` queried by literals."""

    def __init__(self, cnf: Cnf) -> None:
        self.row = SatRow(cnf, len(cnf.columns) // 2, LIMIT_S * 1000)

    def __call__(self, weights: dict[int, int]) -> int:
        self.row._start()
        with self.row._forgetting():
            found = cheapest_repair(self.row, [], weights)
            signs = self.row.signs(found.model, weights)
        pairs = zip(weights.values(), signs, strict=True)
        return sum(weight for weight, sign in pairs if sign < 0)


def rc2(cnf: Cnf) -> Repair:
    def repair(weights: dict[int, int]) -> int:
        formula = WCNF()
        formula.extend(cnf.clauses)
        for literal, weight in weights.items():
            formula.append([literal], weight=weight)
        with RC2Stratified(formula, solver="g4", blo="div") as solver:
            solver.compute()
            return int(solver.cost)

    return repair


def hitting_sets(cnf: Cnf) -> Repair:
    solver = Glucose4(bootstrap_with=cnf.clauses)

    def repair(weights: dict[int, int]) -> int:
        order = sorted(weights, key=lambda x: weights[x])
        cores: list[frozenset[int]] = []
        while True:
            overruled = cheapest_hitting_set(cores, weights)
            kept = [x for x in order if x not in overruled]
            if solver.solve(assumptions=kept):
                return sum(weights[x] for x in overruled)
            refused = True
            while refused:  # further cores that share nothing with those of this round
                cores.append(smaller(solver, solver.get_core(), weights))
                kept = [x for x in kept if x not in cores[-1]]
                refused = not solver.solve(assumptions=kept)

    return repair


def smaller(solver: Any, core: Sequence[int], weights: dict[int, int]) -> frozenset[int]:
    """A minimal core, by deletion; the heaviest literals are tried first."""
    left = sorted(core, key=lambda x: weights[x])
    for literal in left[::-1]:
        if literal in left:
            rest = [x for x in left if x != literal]
            if not solver.solve(assumptions=rest):
                found = set(solver.get_core())
                left = [x for x in rest if x in found]
    return frozenset(left)


def cheapest_hitting_set(sets: Sequence[frozenset[int]], weights: dict[int, int]) -> frozenset[int]:
    best: list[tuple[int, frozenset[int]]] = []

    def bound(open_sets: Sequence[frozenset[int]]) -> int:
        total, used = 0, set[int]()
        for members in sorted(open_sets, key=len):
            if used.isdisjoint(members):
                used |= members
                total += min(weights[x] for x in members)
        return total

    def search(open_sets: list[frozenset[int]], chosen: frozenset[int], cost: int) -> None:
        if best and cost + bound(open_sets) >= best[0][0]:
            return
        if not open_sets:
            best[:] = [(cost, chosen)]
            return
        banned: set[int] = set()
        for x in sorted(min(open_sets, key=len), key=lambda x: (weights[x], x)):
            rest = [s - banned for s in open_sets if x not in s]
            if all(rest):
                search(rest, chosen | {x}, cost + weights[x])
            banned.add(x)

    search(list(sets), frozenset(), 0)
    return best[0][1]


def hermax(name: str) -> Callable[[Cnf], Repair]:
    def make(cnf: Cnf) -> Repair:
        import hermax.incremental as incremental

        solver = getattr(incremental, name)()
        for clause in cnf.clauses:
            solver.add_clause(clause)
        soft: set[int] = set()

        def repair(weights: dict[int, int]) -> int:
            for literal in soft - weights.keys():
                solver.set_soft(literal, 0)
            for literal, weight in weights.items():
                solver.set_soft(literal, weight)
            soft.clear()
            soft.update(weights)
            assert solver.solve()
            return int(solver.get_cost())

        return repair

    return make


METHODS: dict[str, Callable[[Cnf], Repair]] = {
    "smtlayer": Tight,
    "rc2": rc2,
    "hitting sets": hitting_sets,
    "coretrail": hermax("CoreTrail"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=50)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, give_up)
    theory = sudoku_theory()
    cnf = to_cnf(theory)
    results = []
    for reader in READERS:
        weights = list(questions(cnf, read_boards(theory, reader, options.boards)))
        least: list[int | None] = []
        for name in options.methods:
            times, costs = measure(name, METHODS[name](cnf), weights)
            least = least or costs
            differ = sum(a != b for a, b in zip(least, costs, strict=True) if b is not None)
            results.append({
                "reader": reader, "method": name, "boards": len(times),
                "median_ms": statistics.median(times), "mean_ms": statistics.mean(times),
                "worst_ms": max(times), "past_limit": costs.count(None), "costs_differ": differ,
            })  # fmt: skip
            print(json.dumps(results[-1] | here("cpu")), flush=True)
    show(results)


def give_up(*_: object) -> None:
    raise TimeoutError


def questions(cnf: Cnf, boards: Reading) -> Iterator[dict[int, int]]:
    for inputs, weights in zip(boards.inputs.tolist(), boards.weights.tolist(), strict=True):
        exact = exact_integers({i: weights[i] for i, sign in enumerate(inputs) if sign})
        yield {cnf.columns[i] * inputs[i]: weight for i, weight in exact.items()}


def measure(
    name: str, repair: Repair, weights: Sequence[dict[int, int]]
) -> tuple[list[float], list[int | None]]:
    times: list[float] = []
    costs: list[int | None] = []
    for i, asked in enumerate(weights):
        print(f"{name}: {i} of {len(weights)}", end="\r", file=sys.stderr)
        start = time.perf_counter()
        signal.alarm(LIMIT_S)
        try:
            costs.append(repair(asked))
        except TimeoutError:
            costs.append(None)
        signal.alarm(0)
        times.append((time.perf_counter() - start) * 1000)
    return times, costs


def show(results: Sequence[dict[str, Any]]) -> None:
    table = RichTable(title="Cheapest repair of a Sudoku board, ms")
    for heading in results[0]:
        table.add_column(heading.replace("_", " "))
    for result in results:
        table.add_row(*(f"{v:.2f}" if isinstance(v, float) else str(v) for v in result.values()))
    Console(stderr=True).print(table)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
