"""OR-Tools CP-SAT on exactly 5 of 30 and on a knapsack of 30 items."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from comparison import RUN, Agreement, Case, Rival
from smtlayer import SMTLayer
from smtlayer_benchmarks.theories import knapsack_weights, selection

UNIT = 1024  # scores are whole multiples of 1 / UNIT, so that objectives are compared exactly


def cases(items: int = 30, chosen: int = 5, rows: int = 128) -> Iterator[Case]:
    yield make_case(f"exactly {chosen} of {items}", [1] * items, chosen, rows, exactly=True)
    weights = knapsack_weights(items)
    yield make_case(f"knapsack of {items}", weights, sum(weights) // 3, rows, exactly=False)


def make_case(
    name: str, weights: Sequence[int], capacity: int, rows: int, *, exactly: bool, repeats: int = 7
) -> Case:
    scores = whole_scores(RUN * (repeats + 1), rows, len(weights))
    logits = scores.double() / UNIT
    layer = SMTLayer(selection(weights, capacity, exactly=exactly)).eval()

    @torch.no_grad()
    def ours(i: int) -> Tensor:
        return layer(logits[i])

    theirs = {
        f"{threads} thread{'s' * (threads > 1)}, presolve {'on' if presolve else 'off'}": solver(
            weights, capacity, exactly, scores, threads, presolve
        )
        for threads in (1, 2)
        for presolve in (True, False)
    }

    def agreement() -> Agreement:
        chosen = ours(0) > 0
        values = (chosen * scores[0]).sum(-1).tolist()
        filled = (chosen * torch.tensor(weights)).sum(-1)
        fits = bool(((filled == capacity) if exactly else (filled <= capacity)).all())
        best = next(iter(theirs.values()))(0)
        equal = sum(a == b for a, b in zip(values, best, strict=True))
        text = f"equal objectives, as integers, in {equal} of {rows} rows"
        return Agreement(fits and equal == rows, text)

    return Case(f"{name}, {rows} rows", ours, theirs, agreement, repeats=repeats, run=RUN)


def whole_scores(*shape: int) -> Tensor:
    """Positive scores in units of 1 / UNIT."""
    return torch.randint(1, 4 * UNIT, shape, generator=torch.Generator().manual_seed(0))


def solver(
    weights: Sequence[int], capacity: int, exactly: bool, scores: Tensor,
    threads: int, presolve: bool,
) -> Callable[[int], list[int]]:  # fmt: skip
    """CP-SAT on one model, built once; each row replaces its objective."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    items = [model.new_bool_var(f"item{i}") for i in range(len(weights))]
    filled = sum(weight * item for weight, item in zip(weights, items, strict=True))
    model.add(filled == capacity if exactly else filled <= capacity)
    search = cp_model.CpSolver()
    search.parameters.num_workers = threads
    search.parameters.cp_model_presolve = presolve
    objectives = scores.tolist()

    def solve(i: int) -> list[int]:
        values = []
        for row in objectives[i]:
            model.maximize(cp_model.LinearExpr.weighted_sum(items, row))
            assert search.solve(model) == cp_model.OPTIMAL
            values.append(round(search.objective_value))
        return values

    return solve


RIVAL = Rival(
    name="cp-sat",
    title="OR-Tools CP-SAT",
    distribution="ortools",
    module="ortools",
    problem="selection of items with the best total score",
    differs="CP-SAT is a general solver, one row at a time: it takes any integer objective and far "
    "larger problems. Ours compiles the constraint once, and maximises only agreement with the "
    "scores. CP-SAT's model is built once, and its best threads and presolve setting count",
    bar=20,
    faster=True,
    cases=cases,
)
