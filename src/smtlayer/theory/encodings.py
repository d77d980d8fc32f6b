"""This file turns symbols into Boolean columns, and values into signs and back.

| symbol | columns | a value is |
|---|---|---|
| `Bool` | one | `bool` |
| `BitVec(w)` | w, most significant bit first | `int` from 0 to 2**w - 1 |
| `one_hot(symbol, values)` | one a value | one of the values |
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import z3
from numpy.typing import NDArray

from smtlayer.errors import TheoryError
from smtlayer.theory.values import name_of, python_value, rounded, shown, z3_value

Signs = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class OneHot:
    """A request to read a symbol through one column a value; made by `one_hot`."""

    symbol: Any  # a z3 constant, or its name where the theory is read from SMT-LIB
    values: tuple[Any, ...]


def one_hot(symbol: Any, values: Any) -> OneHot:
    """Reads a symbol of any sort through one column a value.

    That the symbol has exactly one of these values becomes part of the theory.

    Args:
        symbol: A z3 constant (Int, Real, BitVec, String, an enumeration...), or, for
            `Theory.from_smtlib`, the name of a declared constant.
        values: The values it may have: Python or z3 values, or names of an enumeration's members.

    Examples:
        >>> from smtlayer import Theory
        >>> digit, double = z3.Ints("digit double")
        >>> theory = Theory(
        ...     double == 2 * digit,
        ...     inputs=[one_hot(digit, range(3))],
        ...     outputs=[one_hot(double, range(0, 6, 2))],
        ... )
        >>> theory.input_names
        ('digit=0', 'digit=1', 'digit=2')
        >>> theory.encode(digit=1)
        tensor([-1,  1, -1], dtype=torch.int8)
    """
    try:
        members = iter(values)
    except TypeError as error:
        raise TypeError(
            f"one_hot expects the values of {symbol!r} as a sequence, such as range(10). "
            f"Got {values!r} of type {type(values).__name__}."
        ) from error
    return OneHot(symbol, tuple(members))


class Encoding(Protocol):
    """How one symbol shows in columns."""

    @property
    def symbol(self) -> Any:
        """The z3 constant."""

    @property
    def name(self) -> str:
        """The symbol's name, asked of z3 once: threads that ask at the same time get wrong ones."""

    @property
    def columns(self) -> tuple[Any, ...]:
        """A Boolean z3 term for each column."""

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each column."""

    @property
    def domain(self) -> Any | None:
        """What the encoding adds to the theory, if anything."""

    @property
    def anchors(self) -> tuple[Any, ...]:
        """Equations from which `reader` can rebuild this encoding out of SMT-LIB text."""

    def encode(self, values: NDArray[Any]) -> Signs:
        """Values of shape (...) to signs of shape (..., width)."""

    def decode(self, signs: Signs) -> NDArray[Any]:
        """Signs of shape (..., width) to values of shape (...); they hold only where `reads`."""

    def reads(self, signs: Signs) -> NDArray[np.bool_]:
        """Where signs of shape (..., width) stand for a value at all."""


@dataclass(frozen=True, eq=False)
class _Plain:
    """A symbol whose sort has columns of its own, and which adds nothing to the theory."""

    symbol: Any

    @cached_property
    def name(self) -> str:
        return name_of(self.symbol)

    @property
    def domain(self) -> None:
        return None

    @property
    def anchors(self) -> tuple[Any, ...]:
        return (self.symbol == self.symbol,)


class BoolEncoding(_Plain):
    """A Boolean symbol is its own column."""

    @property
    def columns(self) -> tuple[Any, ...]:
        return (self.symbol,)

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.name,)

    def encode(self, values: NDArray[Any]) -> Signs:
        fits = np.asarray(np.isin(values, (0, 1)))
        if not fits.all():
            raise TheoryError(
                f"Theory.encode: symbol {self.name!r} is a Bool and takes True or False. "
                f"Got {_first(values, ~fits)}."
            )
        return np.where(values.astype(bool), 1, -1).astype(np.int8)[..., None]

    def decode(self, signs: Signs) -> NDArray[Any]:
        return np.asarray(signs[..., 0] > 0)

    def reads(self, signs: Signs) -> NDArray[np.bool_]:
        return np.asarray(signs[..., 0] != 0)


class BitsEncoding(_Plain):
    """A bit-vector symbol is one column a bit, most significant first."""

    @cached_property
    def width(self) -> int:
        return int(self.symbol.size())

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        return tuple(z3.Extract(i, i, self.symbol) == 1 for i in reversed(range(self.width)))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{self.name}[{i}]" for i in reversed(range(self.width)))

    def encode(self, values: NDArray[Any]) -> Signs:
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

    def decode(self, signs: Signs) -> NDArray[Any]:
        shifts = self._shifts()
        return np.asarray(((signs > 0).astype(shifts.dtype) << shifts).sum(-1))

    def reads(self, signs: Signs) -> NDArray[np.bool_]:
        return np.asarray((signs != 0).all(-1))


@dataclass(frozen=True, eq=False)
class OneHotEncoding:
    """A symbol with finitely many values is one column a value, exactly one of them true."""

    symbol: Any
    values: tuple[Any, ...]  # z3 values

    @cached_property
    def name(self) -> str:
        return name_of(self.symbol)

    @cached_property
    def _kind(self) -> int:
        return int(self.symbol.sort().kind())

    @cached_property
    def python_values(self) -> tuple[Any, ...]:
        """The values as Python has them; an enumeration's members by name."""
        return tuple(python_value(value) for value in self.values)

    @cached_property
    def columns(self) -> tuple[Any, ...]:
        return tuple(self.symbol == value for value in self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value}" for value in self.python_values)

    @cached_property
    def domain(self) -> Any:
        return z3.Or(*self.columns)

    @property
    def anchors(self) -> tuple[Any, ...]:
        return self.columns

    def encode(self, values: NDArray[Any]) -> Signs:
        different, which = _different(values)
        position = {value: i for i, value in enumerate(self.python_values)}
        keys = [self._key(value) for value in different]
        found = [position.get(key, -1) if isinstance(key, Hashable) else -1 for key in keys]
        index = np.array(found, dtype=np.intp)[which]
        if (index < 0).any():
            raise TheoryError(
                f"Theory.encode: symbol {self.name!r} takes one of {self.python_values}. "
                f"Got {shown(different[which[int((index < 0).argmax())]])}."
            )
        hot = np.eye(len(self.values), dtype=np.int8)[index] * np.int8(2) - np.int8(1)
        return np.asarray(hot.reshape(*values.shape, len(self.values)))

    def _key(self, value: Any) -> Any:
        if isinstance(value, float) and self._kind == z3.Z3_REAL_SORT and math.isfinite(value):
            return Fraction(str(value))  # 0.1 is a tenth, as z3 reads it
        if isinstance(value, int | float) and self._kind == z3.Z3_FLOATING_POINT_SORT:
            return rounded(value, self.symbol)
        return value

    def decode(self, signs: Signs) -> NDArray[Any]:
        small = all(type(v) is int and abs(v) < 2**63 for v in self.python_values)
        table = np.empty(len(self.values), dtype=np.int64 if small else object)
        table[:] = self.python_values
        return np.asarray(table[(signs > 0).argmax(-1)])

    def reads(self, signs: Signs) -> NDArray[np.bool_]:
        return np.asarray((signs != 0).all(-1) & ((signs > 0).sum(-1) == 1))


def _different(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Different values, each once where they can be sorted, and which of them stands where."""
    flat = values.ravel()
    if flat.dtype.kind not in "biufU":
        return flat.tolist(), np.arange(flat.size)
    different, which = np.unique(flat, return_inverse=True)
    return different.tolist(), which.ravel()


def encoding_of(request: Any, role: str) -> Encoding:
    """The encoding that a user asks for with a z3 constant or `one_hot(...)`.

    Args:
        request: What stood in `inputs` or `outputs`.
        role: `"input"` or `"output"`, for error messages.
    """
    symbol = request.symbol if isinstance(request, OneHot) else request
    if not (z3.is_const(symbol) and symbol.decl().kind() == z3.Z3_OP_UNINTERPRETED):
        raise TypeError(
            f"Theory: each {role} must be a z3 constant such as z3.Bool('a') or z3.BitVec('a', 4), "
            f"or one_hot(symbol, values). Got {symbol!r} of type {type(symbol).__name__}."
        )
    if isinstance(request, OneHot):
        return _one_hot_encoding(symbol, request.values)
    if z3.is_bool(symbol):
        return BoolEncoding(symbol)
    if z3.is_bv(symbol):
        return BitsEncoding(symbol)
    raise TypeError(
        f"Theory: {role} {name_of(symbol)!r} has sort {symbol.sort()}, which has no columns of its "
        f"own. Wrap it: one_hot({name_of(symbol)}, [...the values it may have...])."
    )


def _one_hot_encoding(symbol: Any, values: Sequence[Any]) -> OneHotEncoding:
    terms = tuple(z3_value(symbol, value) for value in values)
    known = [python_value(term) for term in terms]
    for value in known:
        if known.count(value) > 1:
            raise TheoryError(
                f"one_hot: symbol {name_of(symbol)!r} has the value {value!r} more than once. "
                f"Give each value once."
            )
    compound = any(term.num_args() for term in terms)  # such may be written in several ways
    for one, other in combinations(terms, 2) if compound else ():
        if not z3.is_false(z3.simplify(one == other)):
            raise TheoryError(
                f"one_hot: the values {one} and {other} of symbol {name_of(symbol)!r} may be one "
                f"and the same. Give each value once."
            )
    if len(terms) < 2:
        raise TheoryError(
            f"one_hot: symbol {name_of(symbol)!r} needs at least two values. Got {len(terms)}. "
            f"Say what it always is with a constraint."
        )
    return OneHotEncoding(symbol, terms)


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers of any type as Python integers; -1 for what is none."""

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
