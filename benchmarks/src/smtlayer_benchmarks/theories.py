"""Theories with structure that several benchmarks use: tags, selections, paths, requirements."""

from collections.abc import Sequence
from itertools import pairwise

import torch
import z3
from torch import Tensor

from smtlayer.theory import Theory, one_hot
from smtlayer_studies.tasks.data import data_folder
from smtlayer_studies.tasks.long_addition.data import digits_of_sum

ROAD_R = "road-r/requirements.cnf"
TYPES = 4  # of entities
TAGS = 1 + 2 * TYPES  # O, then B and I of each type
ENTITIES = 2
Clauses = Sequence[Sequence[int]]


def missing_data(file: str) -> str | None:
    """Why a path in the data folder cannot be read, and what to do; None if it can."""
    folder = data_folder()
    if folder is not None and (folder / file).exists():
        return None
    return (
        f"it needs {file} in the data folder. Name the folder that contains it with SMTLAYER_DATA."
    )


def road_r_clauses() -> Clauses:
    """The requirements of ROAD-R, from the data folder."""
    folder = data_folder()
    assert folder is not None
    return read_dimacs((folder / ROAD_R).read_text())


def read_dimacs(text: str) -> Clauses:
    """The clauses of a DIMACS file."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [[int(word) for word in line[:-1]] for line in lines if line[0] not in ("p", "c")]


def requirements(clauses: Clauses) -> Theory:
    """Clauses over labels, which are inputs and outputs."""
    labels = max(abs(literal) for clause in clauses for literal in clause)
    columns = [z3.Bool(f"y{i}") for i in range(labels)]

    def term(literal: int) -> z3.BoolRef:
        column = columns[abs(literal) - 1]
        return column if literal > 0 else z3.Not(column)

    return Theory([z3.Or(*map(term, clause)) for clause in clauses], columns, columns)


def bio_theory(tokens: int) -> Theory:
    """BIO tags: an entity begins with B and continues with I; at most `ENTITIES` of them."""
    tags = [z3.Int(f"tag{i}") for i in range(tokens)]
    begins = [z3.And(tag >= 1, tag <= TYPES) for tag in tags]
    rules = [tags[0] <= TYPES, z3.AtMost(*begins, ENTITIES)]
    for last, tag in pairwise(tags):
        rules.append(z3.Implies(tag > TYPES, z3.Or(last == tag, last == tag - TYPES)))
    columns = [one_hot(tag, range(TAGS)) for tag in tags]
    return Theory(rules, inputs=columns, outputs=columns)


def selection(weights: Sequence[int], capacity: int, *, exactly: bool) -> Theory:
    """Items whose total weight is the capacity, or at most the capacity."""
    items = [z3.Bool(f"item{i}") for i in range(len(weights))]
    pairs = list(zip(items, weights, strict=True))
    rule = z3.PbEq(pairs, capacity) if exactly else z3.PbLe(pairs, capacity)
    return Theory(rule, inputs=items, outputs=items)


def knapsack_weights(items: int) -> list[int]:
    """Random weights from 5 to 30, the same in all runs."""
    generator = torch.Generator().manual_seed(1)
    weights: list[int] = torch.randint(5, 31, (items,), generator=generator).tolist()
    return weights


def path_theory(size: int) -> Theory:
    """The cells of a path between two opposite corners of a grid, with 8 neighbours.

    An end has one neighbour among the chosen cells, every other chosen cell has two. So closed
    loops that do not touch the path are possible beside it.
    """
    cells = {(i, j): z3.Bool(f"cell_{i}_{j}") for i in range(size) for j in range(size)}
    ends = ((0, 0), (size - 1, size - 1))
    rules = [cells[end] for end in ends]
    for (i, j), cell in cells.items():
        beside = [(other, 1) for (k, m), other in cells.items() if max(abs(k - i), abs(m - j)) == 1]
        rules.append(z3.Implies(cell, z3.PbEq(beside, 1 if (i, j) in ends else 2)))
    columns = list(cells.values())
    return Theory(rules, inputs=columns, outputs=columns)


def encode_sums(theory: Theory, digits: Tensor) -> Tensor:
    """The signs of the sums of two numbers: (B, 2 length) digits to (B, m)."""
    total = digits_of_sum(*digits.chunk(2, dim=-1))
    names = [symbol.name for symbol in theory.output_symbols]
    return theory.encode_outputs(**dict(zip(names, total.T, strict=True)))
