"""Symbols: how a z3 constant appears as Boolean columns, and its values as signs.

| symbol | kind | columns | a value is |
|---|---|---|---|
| `Bool` | `"bool"` | one | `bool` |
| `BitVec(w)` | `"bits"` | w, most significant bit first | `int` from 0 to 2**w - 1 |
| `one_hot(symbol, values)` | `"one-hot"` | one per value | one of the values |
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import numpy as np
import z3
from numpy.typing import NDArray

from smtlayer.errors import ArgumentError, TheoryError
from smtlayer.theory.values import as_array, name_of, python_value, rounded, shown

Signs = NDArray[np.int8]
SymbolKind = Literal["bool", "bits", "one-hot"]


@dataclass(frozen=True, eq=False, repr=False)
class Symbol(ABC):
    """An input or output symbol of a theory, with its columns.

    `theory.input_symbols` and `theory.output_symbols` list them in column order. They can be
    passed as inputs or outputs to another theory, in place of z3 constants.

    Examples:
        >>> from smtlayer import Theory, one_hot
        >>> a, b, colour = z3.BitVec("a", 2), z3.Bool("b"), z3.String("colour")
        >>> theory = Theory(
        ...     b == (a > 1), inputs=[a, b], outputs=[one_hot(colour, ["red", "green"])]
        ... )
        >>> for symbol in (*theory.input_symbols, *theory.output_symbols):
        ...     print(symbol.name, symbol.kind, symbol.columns, symbol.column_names)
        a bits slice(0, 2, None) ('a[1]', 'a[0]')
        b bool slice(2, 3, None) ('b',)
        colour one-hot slice(0, 2, None) ('colour=red', 'colour=green')
        >>> colour = theory.output_symbols[0]
        >>> colour.values, colour.domain
        (('red', 'green'), Or(colour == "red", colour == "green"))
        >>> colour.encode(["green", "red"])
        array([[-1,  1],
               [ 1, -1]], dtype=int8)
        >>> colour.decode([-1, 1])
        'green'
    """

    kind: ClassVar[SymbolKind]
    """How values become columns."""
    term: Any
    """The z3 constant."""
    name: str
    """Name of the constant."""
    start: int
    """Position of its first column."""
    column_names: tuple[str, ...]
    """One name per column."""
    column_terms: tuple[Any, ...]
    """One Boolean z3 term per column."""
    values: Sequence[Any]
    """The Python values it can have; members of an enumeration by name."""
    domain: Any | None = None
    """The formula it adds to the theory: the values of a one-hot symbol, else `None`."""
    _value_of: dict[tuple[int, ...], Any] = field(default_factory=dict, init=False)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.column_names)

    @property
    def columns(self) -> slice:
        """Position of its columns among the theory's inputs or outputs."""
        return slice(self.start, self.start + self.width)

    def encode(self, values: Any) -> Signs:
        """Converts values of shape (...) to signs of shape (..., width)."""
        return self._encode(as_array(self.name, values))

    def decode(self, signs: Any) -> Any:
        """Converts signs of shape (..., width) to values of shape (...).

        Signs that are free, or not those of one value, become `None`. One row gives a Python value,
        several rows a numpy array.
        """
        signs = np.asarray(signs)
        if signs.shape[-1:] != (self.width,):
            raise ArgumentError(
                f"Symbol {self.name!r} expects signs of shape (..., {self.width}), one per column. "
                f"Got {signs.shape}."
            )
        known = self._has_value(signs)
        values = self._decode(signs)
        if not known.all():
            values = values.astype(object)
            values[~known] = None
        return values[()].item() if values.ndim == 0 and values.dtype != object else values[()]

    def value(self, signs: Sequence[int]) -> Any:
        """The same as `decode` for one row, with a cache."""
        key = tuple(signs)
        if key not in self._value_of:
            self._value_of[key] = self.decode(key)
        return self._value_of[key]

    @abstractmethod
    def _encode(self, values: NDArray[Any]) -> Signs: ...

    @abstractmethod
    def _decode(self, signs: Signs) -> NDArray[Any]: ...

    def _has_value(self, signs: Signs) -> NDArray[np.bool_]:
        return np.asarray((signs != 0).all(-1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, columns={self.columns})"


@final
class BoolSymbol(Symbol):
    """A Boolean symbol: one column."""

    kind = "bool"

    @classmethod
    def of(cls, term: Any, start: int) -> "BoolSymbol":
        """The symbol for a Boolean constant."""
        name = name_of(term)
        return cls(term, name, start, (name,), (term,), (False, True))

    def _encode(self, values: NDArray[Any]) -> Signs:
        fits = np.asarray(np.isin(values, (0, 1)))
        if not fits.all():
            raise TheoryError(
                f"Theory.encode: symbol {self.name!r} is a Bool and takes True or False. "
                f"Got {_first(values, ~fits)}."
            )
        return np.where(values.astype(bool), 1, -1).astype(np.int8)[..., None]

    def _decode(self, signs: Signs) -> NDArray[Any]:
        return np.asarray(signs[..., 0] > 0)


@final
class BitsSymbol(Symbol):
    """A bit-vector symbol: one column per bit, most significant first."""

    kind = "bits"

    @classmethod
    def of(cls, term: Any, start: int) -> "BitsSymbol":
        """The symbol for a bit-vector constant."""
        name, width = name_of(term), int(term.size())
        places = range(width - 1, -1, -1)
        names = tuple(f"{name}[{i}]" for i in places)
        columns = tuple(z3.Extract(i, i, term) == 1 for i in places)
        return cls(term, name, start, names, columns, range(2**width))

    def _encode(self, values: NDArray[Any]) -> Signs:
        shifts = self._shifts()
        whole = values.astype(shifts.dtype) if values.dtype.kind in "biu" else _whole(values)
        fits = np.asarray((whole >= 0) & (whole < 2**self.width))
        if not fits.all():
            raise TheoryError(
                f"Theory.encode: symbol {self.name!r} has {self.width} bits and takes "
                f"whole numbers from 0 to {2**self.width - 1}. Got {_first(values, ~fits)}."
            )
        bits = (whole[..., None] >> shifts) & 1
        return np.where(bits.astype(bool), 1, -1).astype(np.int8)

    def _shifts(self) -> NDArray[Any]:
        dtype = np.int64 if self.width < 63 else object
        return np.array(range(self.width - 1, -1, -1), dtype=dtype)

    def _decode(self, signs: Signs) -> NDArray[Any]:
        shifts = self._shifts()
        return np.asarray(((signs > 0).astype(shifts.dtype) << shifts).sum(-1))


@final
class OneHotSymbol(Symbol):
    """A symbol with finitely many values: one column per value, exactly one of them true."""

    kind = "one-hot"

    @classmethod
    def of(cls, term: Any, start: int, value_terms: Sequence[Any]) -> "OneHotSymbol":
        """The symbol for a constant that has one of these z3 values."""
        name = name_of(term)
        values = tuple(python_value(value) for value in value_terms)
        columns = tuple(term == value for value in value_terms)
        names = tuple(f"{name}={value}" for value in values)
        return cls(term, name, start, names, columns, values, z3.Or(*columns))

    @cached_property
    def _sort_kind(self) -> int:
        return int(self.term.sort().kind())

    def _encode(self, values: NDArray[Any]) -> Signs:
        distinct, where = _distinct(values)
        position = {value: i for i, value in enumerate(self.values)}
        keys = [self._key(value) for value in distinct]
        found = [position.get(key, -1) if isinstance(key, Hashable) else -1 for key in keys]
        index = np.array(found, dtype=np.intp)[where]
        if (index < 0).any():
            raise TheoryError(
                f"Theory.encode: symbol {self.name!r} takes one of {self.values}. "
                f"Got {shown(distinct[where[int((index < 0).argmax())]])}."
            )
        hot = np.eye(self.width, dtype=np.int8)[index] * np.int8(2) - np.int8(1)
        return np.asarray(hot.reshape(*values.shape, self.width))

    def _key(self, value: Any) -> Any:
        if isinstance(value, float) and self._sort_kind == z3.Z3_REAL_SORT and math.isfinite(value):
            return Fraction(str(value))  # 0.1 is a tenth, as z3 reads it
        if isinstance(value, int | float) and self._sort_kind == z3.Z3_FLOATING_POINT_SORT:
            return rounded(value, self.term)
        return value

    def _decode(self, signs: Signs) -> NDArray[Any]:
        small = all(type(v) is int and abs(v) < 2**63 for v in self.values)
        table = np.empty(self.width, dtype=np.int64 if small else object)
        table[:] = self.values
        return np.asarray(table[(signs > 0).argmax(-1)])

    def _has_value(self, signs: Signs) -> NDArray[np.bool_]:
        return np.asarray((signs != 0).all(-1) & ((signs > 0).sum(-1) == 1))


def _distinct(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The distinct values, and the index of each element among them.

    Values that numpy cannot sort are not compared.
    """
    flat = values.ravel()
    if flat.dtype.kind not in "biufU":
        return flat.tolist(), np.arange(flat.size)
    distinct, where = np.unique(flat, return_inverse=True)
    return distinct.tolist(), where.ravel()


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers of any type as Python integers; -1 for other values."""

    def read(value: Any) -> int:
        try:
            return int(value) if value == int(value) else -1
        except (TypeError, ValueError, OverflowError):
            return -1

    whole = np.empty(values.size, dtype=object)
    whole[:] = [read(value) for value in values.ravel().tolist()]
    return whole.reshape(values.shape)


def _first(values: NDArray[Any], where: NDArray[np.bool_]) -> str:
    return shown(values[where].tolist()[0])
