"""Counts the readings that fit, compares their answers, and chooses rows that separate them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.interrupts import interruptible
from smtlayer.solvers.readings.answers import Answers, Signs, determined_rows
from smtlayer.solvers.readings.kinds import Kinds
from smtlayer.solvers.readings.result import ReadingClass, Readings
from smtlayer.solvers.readings.search import find_fitting
from smtlayer.theory import Theory

LIMIT = 10_000
_ROWS = 2_000  # most rows to compare answers on
_PAIRS, _ASKED_PAIRS = 4_000_000, 200_000  # most rows x readings: with listed models, and without

Rows = tuple[Tensor, Tensor]  # inputs (R, n) and outputs (R, m), as signs
_Readings = NDArray[np.int8]  # (N, columns)


@interruptible
def count_readings(
    theory: Theory, widths: Sequence[int], readers: Sequence[int], shown: Rows,
    tested: Rows | None, answers: Answers, limit: int = LIMIT,
) -> Readings:  # fmt: skip
    """The readings of the input symbols that fit the rows shown: see `smtlayer.lab.readings`."""
    kinds = Kinds(theory, widths, readers, shown[0])
    distinct = torch.unique(torch.cat(shown, dim=-1), dim=0)
    labels = [tuple(row) for row in distinct[:, theory.n_inputs :].tolist()]
    places = kinds.places(distinct[:, : theory.n_inputs]).tolist()
    rows = list(zip(places, labels, strict=True))
    truth = kinds.truth.tolist()
    found, complete = find_fitting(truth, rows, answers, limit, kinds.fixed)
    every = _determined(kinds, answers)
    tests = every if tested is None else tested[0][_follow(tested, answers)]
    test = _compare(kinds, answers, tests, found)
    wrong = ~test.right.all(0)
    known = set(map(tuple, tests.tolist()))
    other = every[[tuple(row) not in known for row in every.tolist()]]
    more = _compare(kinds, answers, other, found[wrong])
    chosen = _cover(np.concatenate([more.right, test.right[:, wrong]]))  # tested ones come last
    rows_to_show = torch.cat([more.inputs, test.inputs])[chosen]
    return Readings(
        count=len(found),
        complete=complete,
        fits=tuple(map(kinds.values, found)),
        true_fits=bool((found == kinds.truth).all(-1).any()),
        classes=_classes(kinds, found, test) if len(test.inputs) else (),
        never_shown=kinds.missing(tests),
        shown=len(distinct),
        tested=len(test.inputs),
        rows_to_show=tuple(map(theory.decode_inputs, rows_to_show)),
    )


def _determined(kinds: Kinds, answers: Answers) -> Tensor:
    """Inputs with one answer: all, or random ones of the kinds shown if they cannot be listed."""
    if answers.models is not None:
        return answers.models.inputs[determined_rows(answers.models)]
    drawn = kinds.draw(_ROWS)
    return drawn[[answers(tuple(row)) is not None for row in drawn.tolist()]]


def _follow(rows: Rows, answers: Answers) -> list[bool]:
    """Whether the label of each row follows from the theory."""
    pairs = zip(*(map(tuple, part.tolist()) for part in rows), strict=True)
    return [answers(inputs) == outputs for inputs, outputs in pairs]


class _Compared(NamedTuple):
    inputs: Tensor  # (R, n) int8
    answers: NDArray[np.int32]  # (R, N): equal numbers for equal answers
    right: NDArray[np.bool_]  # (R, N)


def _compare(kinds: Kinds, answers: Answers, rows: Tensor, readings: _Readings) -> _Compared:
    """The answers of readings to inputs whose kinds they read; to some of them if too many."""
    places = kinds.places(rows)
    pairs = _ASKED_PAIRS if answers.models is None else _PAIRS
    most = min(_ROWS, max(100, pairs // max(1, len(readings))))
    kept = np.random.default_rng(0).permutation(np.flatnonzero((places >= 0).all(-1)))[:most]
    kept = kept[np.lexsort(places[kept].T[::-1])]  # kinds that were shown first come first
    inputs = rows[kept]
    numbers: dict[Signs | None, int] = {}
    labels = [numbers.setdefault(answers(tuple(x)), len(numbers)) for x in inputs.tolist()]
    known: dict[bytes, int] = {}
    found = np.empty((len(kept), len(readings)), dtype=np.int32)
    for row, place in zip(found, places[kept], strict=True):
        read = np.ascontiguousarray(readings[:, place])  # (N, n)
        keys = read.view(f"V{read.shape[1]}").ravel().tolist()
        for signs, key in zip(read, keys, strict=True):
            if key not in known:
                answer = answers(tuple(signs.tolist()))
                known[key] = numbers.setdefault(answer, len(numbers))
        row[:] = [known[key] for key in keys]
    return _Compared(inputs, found, found == np.array(labels, dtype=np.int32)[:, None])


def _classes(kinds: Kinds, readings: _Readings, test: _Compared) -> tuple[ReadingClass, ...]:
    members = defaultdict(list)
    for i, answers in enumerate(test.answers.T):
        members[answers.tobytes()].append(i)
    changes = np.logical_or.reduceat(readings != kinds.truth, kinds.starts, axis=1).sum(1)
    found = []
    for own in members.values():
        nearest = readings[min(own, key=lambda i: int(changes[i]))]
        accuracy = float(test.right[:, own[0]].mean())
        found.append(ReadingClass(len(own), accuracy, kinds.values(nearest)))
    return tuple(sorted(found, key=lambda c: (c.accuracy < 1, -c.count, -c.accuracy)))


def _cover(right: NDArray[np.bool_]) -> list[int]:
    """Rows that rule out all readings, or as many as possible, chosen greedily: (R, N) to (C,)."""
    left, chosen = np.ones(right.shape[1], dtype=bool), list[int]()
    while (ruled_out := (~right[:, left]).sum(1)).any():
        chosen.append(int(ruled_out.argmax()))
        left &= right[chosen[-1]]
    return chosen
