"""This file tells symbols from columns: rows of signs, in plain Python, as names and values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, final

import numpy as np

from smtlayer.nn.explanation import BlamedInput
from smtlayer.theory.encodings import Encoding

Signs = Sequence[int]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A symbol and its columns."""

    name: str
    labels: tuple[str, ...]  # of its columns
    place: slice  # of its columns, in a row
    encoding: Encoding
    _values: dict[tuple[int, ...], Any] = field(default_factory=dict, repr=False)

    def value(self, row: Signs) -> Any:
        """The value that its columns stand for, None if they stand for none."""
        signs = tuple(row[self.place])
        if signs not in self._values:
            columns = np.array(signs, dtype=np.int8)
            value = self.encoding.decode(columns)[()] if self.encoding.reads(columns) else None
            self._values[signs] = value.item() if isinstance(value, np.generic) else value
        return self._values[signs]

    def told(self, row: Signs) -> tuple[str, ...]:
        """The names of its columns that are not 0."""
        return tuple(compress(self.labels, row[self.place]))


def symbols_of(encodings: Sequence[Encoding]) -> tuple[Symbol, ...]:
    """The symbols of one side of a theory."""
    return tuple(_symbols(encodings))


def _symbols(encodings: Sequence[Encoding]) -> Iterator[Symbol]:
    start = 0
    for encoding in encodings:
        labels = encoding.labels
        place = slice(start, start + len(labels))
        yield Symbol(encoding.name, labels, place, encoding)
        start = place.stop


def values_of(symbols: Sequence[Symbol], row: Signs) -> dict[str, Any]:
    """Values by symbol name."""
    return {symbol.name: symbol.value(row) for symbol in symbols}


def wanted_of(symbols: Sequence[Symbol], row: Signs) -> dict[str, Any]:
    """Values that are wanted; of a symbol of which only some columns are, those columns."""
    found: dict[str, Any] = {}
    for symbol in symbols:
        value = symbol.value(row)
        if value is not None:
            found[symbol.name] = value
        else:
            pairs = zip(symbol.labels, row[symbol.place], strict=True)
            found |= {label: sign > 0 for label, sign in pairs if sign}
    return found


def blamed_of(symbols: Sequence[Symbol], part: Signs, whole: Signs) -> tuple[BlamedInput, ...]:
    """The symbols of which a part of the columns is blamed, with the values of all of them."""
    return tuple(
        BlamedInput(symbol.name, symbol.value(whole), symbol.told(part))
        for symbol in symbols
        if any(part[symbol.place])
    )
