"""Symbols by name and value for one row of signs, in plain Python."""

from collections.abc import Sequence
from itertools import compress
from typing import Any

from smtlayer.explain.result import BlamedSymbol
from smtlayer.theory import Symbol

Signs = Sequence[int]


def value_of(symbol: Symbol, row: Signs) -> Any:
    """The value that a symbol has in a row, None if its columns stand for none."""
    return symbol.value(row[symbol.columns])


def marked_columns(symbol: Symbol, row: Signs) -> tuple[str, ...]:
    """The names of a symbol's columns that are not 0 in a row."""
    return tuple(compress(symbol.column_names, row[symbol.columns]))


def values_of(symbols: Sequence[Symbol], row: Signs) -> dict[str, Any]:
    """Values by symbol name."""
    return {symbol.name: value_of(symbol, row) for symbol in symbols}


def wanted_of(symbols: Sequence[Symbol], row: Signs) -> dict[str, Any]:
    """Wanted values by symbol name; for a symbol with only some columns wanted, those columns."""
    found: dict[str, Any] = {}
    for symbol in symbols:
        value = value_of(symbol, row)
        if value is not None:
            found[symbol.name] = value
        else:
            pairs = zip(symbol.column_names, row[symbol.columns], strict=True)
            found |= {name: sign > 0 for name, sign in pairs if sign}
    return found


def blamed_of(symbols: Sequence[Symbol], part: Signs, whole: Signs) -> tuple[BlamedSymbol, ...]:
    """The symbols with blamed columns, those not 0 in `part`, and their values in `whole`."""
    return tuple(
        BlamedSymbol(
            symbol.name, symbol.kind, value_of(symbol, whole), marked_columns(symbol, part)
        )
        for symbol in symbols
        if any(part[symbol.columns])
    )
