"""Minimal unsat cores by deletion, from the heaviest literal to the lightest."""

import math
from collections.abc import Sequence

from smtlayer.solvers.base import Signs, Status
from smtlayer.solvers.search.oracle import Oracle, fact_literals, signed


def blamed_columns(
    oracle: Oracle,
    columns: tuple[Sequence[int], Sequence[int]],
    inputs: Signs,
    weights: Sequence[float],
    outputs: Signs,
) -> tuple[Status, Sequence[int]]:
    """The input columns of a row's unsat core; `columns` are the literals of inputs and outputs.

    Facts, the inputs of infinite weight, are assumed with the wanted outputs.
    """
    observed = [i for i, sign in enumerate(inputs) if sign and weights[i] < math.inf]
    column: dict[int, int] = {}
    for i in sorted(observed, key=weights.__getitem__, reverse=True)[::-1]:
        # Of columns that share a literal, the one deleted last represents all.
        column.setdefault(columns[0][i] * inputs[i], i)
    wanted = signed(columns[1], outputs)
    if math.inf in weights:
        wanted += fact_literals(columns[0], inputs, weights)
    status, core = minimal_core(oracle, wanted, list(column))
    return status, [column[x] for x in core]


def minimal_core(
    oracle: Oracle, wanted: Sequence[int], order: Sequence[int]
) -> tuple[Status, list[int]]:
    """The core that deletion from the last literal to the first ends with.

    The lightest literals are assumed first, so that the solver's cores prefer them. A literal that
    is not in the latest core is deleted without a query: that core does not need it. The core is
    empty unless the status is UNSAT.
    """
    fixed, rest = list(wanted), list(order)
    answer = oracle.check(fixed + rest)
    if answer.status is not Status.UNSAT:
        return answer.status, []
    core, needed = set(answer.core), 0
    while rest:
        literal = rest.pop()
        if literal not in core:
            continue
        answer = oracle.check(fixed + rest)
        if answer.status is Status.UNKNOWN:
            return answer.status, []
        if answer.status is Status.SAT:
            fixed.append(literal)
            needed += 1
        else:
            core = set(answer.core)
    return Status.UNSAT, fixed[len(fixed) - needed :]
