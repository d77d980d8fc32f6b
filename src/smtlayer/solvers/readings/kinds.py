"""Kinds: what a network sees, such as the images of one digit, and the readers that see them."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.theory import Symbol, Theory

_NAMES = 3  # of symbols that share a reader; of more, the first and the last

FACT = -1
"""In place of the index of a reader: the symbol is not read but given as a fact."""

Kind = tuple[int, tuple[int, ...]]  # a reader, and the true signs of a symbol


def shared_readers(
    theory: Theory, widths: Sequence[int] | None = None, separate: bool = False
) -> tuple[int, ...]:
    """The index of the reader of each symbol.

    Symbols of the same width share one; one-hot symbols only if they have the same values.
    """
    alike: Sequence[object] = theory.input_widths if widths is None else widths
    if separate:
        alike = range(len(alike))
    elif widths is None:
        symbols = theory.input_symbols
        alike = [(s.width, s.values if s.kind == "one-hot" else None) for s in symbols]
    return tuple(list(dict.fromkeys(alike)).index(symbol) for symbol in alike)


class _Part(NamedTuple):
    """The input columns that a reader sets at once: a symbol, or several of them."""

    reader: int
    columns: slice
    names: tuple[str, ...]
    symbol: Symbol | None

    def value(self, signs: Sequence[int]) -> Any:
        """The symbol's value; of several symbols, the names of the columns that are true."""
        if self.symbol is not None:
            return self.symbol.value(signs)
        return tuple(name for name, sign in zip(self.names, signs, strict=True) if sign > 0)


@final
class Kinds:
    """The kinds in some rows: the different signs that the symbols of each reader have there.

    A reading is an array of the signs that each kind is read as, kind after kind. In the true
    reading, `truth`, they are the kind's own, and so they are in all readings for facts (`fixed`).
    """

    def __init__(
        self, theory: Theory, widths: Sequence[int], readers: Sequence[int], inputs: Tensor
    ) -> None:
        symbols = {(s.start, s.width): s for s in theory.input_symbols}
        self._parts = [
            _Part(r, slice(i, i + n), theory.input_names[i : i + n], symbols.get((i, n)))
            for r, i, n in zip(readers, accumulate(widths, initial=0), widths, strict=False)
        ]
        self._first = {part.reader: part for part in reversed(self._parts)}
        self._names = {reader: self._name(reader) for reader in sorted(self._first)}
        found = dict.fromkeys(kind for row in inputs.tolist() for kind in self._in_row(row))
        self.starts = list(accumulate((len(signs) for _, signs in found), initial=0))[:-1]
        self.truth = np.array([x for _, signs in found for x in signs], dtype=np.int8)
        self._start = dict(zip(found, self.starts, strict=True))
        facts = [range(i, i + len(signs)) for (r, signs), i in self._start.items() if r == FACT]
        self.fixed = [place for fact in facts for place in fact]

    def places(self, inputs: Tensor) -> NDArray[np.intp]:
        """Where in a reading the signs of input columns are; -1 for a kind that is not here.

        Shape:
            - inputs, result: (R, n).
        """
        found = np.full(inputs.shape, -1, dtype=np.intp)
        for place, row in zip(found, inputs.tolist(), strict=True):
            for part, kind in zip(self._parts, self._in_row(row), strict=True):
                if kind in self._start:
                    place[part.columns] = self._start[kind] + np.arange(len(kind[1]))
        return found

    def missing(self, inputs: Tensor) -> dict[str, tuple[Any, ...]]:
        """The kinds in some rows that are not here, by reader."""
        kinds = {kind for row in inputs.tolist() for kind in self._in_row(row)} - self._start.keys()
        found: dict[str, list[Any]] = {}
        for reader, signs in kinds:
            if reader != FACT:
                found.setdefault(self._names[reader], []).append(self._first[reader].value(signs))
        return {name: tuple(sorted(values)) for name, values in sorted(found.items())}

    def values(self, reading: NDArray[np.int8]) -> dict[str, dict[Any, Any]]:
        """The value that each kind is read as, by reader."""
        found: dict[str, dict[Any, Any]] = {n: {} for r, n in self._names.items() if r != FACT}
        for (reader, signs), start in self._start.items():
            if reader == FACT:
                continue
            read, part = reading[start : start + len(signs)].tolist(), self._first[reader]
            found[self._names[reader]][part.value(signs)] = part.value(read)
        return found

    def draw(self, count: int) -> Tensor:
        """Different combinations of kinds, at random: at most (count, n) int8."""
        random = Random(0)
        own = [[signs for r, signs in self._start if r == part.reader] for part in self._parts]
        rows = {tuple(x for some in own for x in random.choice(some)) for _ in range(count)}
        return torch.tensor(sorted(rows), dtype=torch.int8)

    def _in_row(self, row: Sequence[int]) -> Iterator[Kind]:
        return ((part.reader, tuple(row[part.columns])) for part in self._parts)

    def _name(self, reader: int) -> str:
        own = [part for part in self._parts if part.reader == reader]
        names = [p.symbol.name if p.symbol else f"{p.names[0]} to {p.names[-1]}" for p in own]
        return ", ".join(names if len(names) <= _NAMES else (names[0], "...", names[-1]))
