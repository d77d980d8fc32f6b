"""Replaces variables that two-literal clauses make equal by a single one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.clauses.cnf import join, split


def merge(
    numbers: NDArray[np.int32], literals: Sequence[int]
) -> tuple[NDArray[np.int32], tuple[int, ...], int]:
    """The clauses with one variable per class of equivalent variables.

    Returns:
        The clauses over variables 1, 2, ... without gaps and without tautologies; the new literals
        of those given, which the caller needs to find again; the number of variables.
    """
    top = max([int(np.abs(numbers).max(initial=0)), *(abs(x) for x in literals)])
    leader = _leaders(numbers, top)
    replaced = np.sign(numbers) * leader[np.abs(numbers)]
    kept = _without_tautologies(replaced)
    given = np.array(literals, dtype=np.int32)
    given = np.sign(given) * leader[np.abs(given)]
    used = np.unique(np.abs(np.concatenate([kept, given])))
    used = used[used > 0]
    place = np.zeros(top + 1, dtype=np.int32)
    place[used] = np.arange(1, len(used) + 1)
    packed, columns = ((np.sign(x) * place[np.abs(x)]).astype(np.int32) for x in (kept, given))
    return packed, tuple(columns.tolist()), len(used)


def _leaders(numbers: NDArray[np.int32], top: int) -> NDArray[np.int32]:
    """The literal that represents each variable, by union-find."""
    parent = list(range(top + 1))  # signed: parent[x] = -y means that x is not y

    def find(x: int) -> int:
        sign = 1 if x > 0 else -1
        x = abs(x)
        while abs(parent[x]) != x:
            step = parent[x]
            parent[x] = parent[step] if step > 0 else -parent[-step]  # halves the path
            sign, x = (sign if step > 0 else -sign), abs(step)
        return sign * x

    for one, other in _equal_pairs(numbers):
        a, b = find(one), find(other)
        if abs(a) != abs(b):
            low, high = sorted((a, b), key=abs)
            parent[abs(high)] = low if high > 0 else -low
    return np.array([0, *(find(x) for x in range(1, top + 1))], dtype=np.int32)


def _equal_pairs(numbers: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Pairs of literals (x, y) for which both x -> y and y -> x are clauses."""
    ends = np.flatnonzero(numbers == 0)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    two = starts[ends - starts == 2]
    pairs = np.sort(np.stack([numbers[two], numbers[two + 1]], -1), -1)
    known = set(map(tuple, pairs.tolist()))
    return [(-x, y) for x, y in known if abs(x) != abs(y) and (min(-x, -y), max(-x, -y)) in known]


def _without_tautologies(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """The clauses without tautologies and without repeated literals."""
    ends = numbers == 0
    clause = np.cumsum(ends) - ends
    keys = np.sort(clause * (np.int64(np.abs(numbers).max(initial=0)) + 1) + np.abs(numbers))
    twice = keys[1:][keys[1:] == keys[:-1]]  # a variable that a clause mentions more than once
    if not len(twice):
        return numbers
    odd = np.isin(clause, twice // (np.abs(numbers).max() + 1))
    clauses = [dict.fromkeys(clause) for clause in split(numbers[odd])]
    kept = join([list(c) for c in clauses if not any(-x in c for x in c)])
    return np.concatenate([numbers[~odd], kept])
