"""Conversion of Python values to z3 values and back."""

import math
import re
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import z3
from torch import Tensor

from smtlayer.errors import TheoryError
from smtlayer.forks import PerProcess, uses_z3

_DIGITS = 4000  # Python reads and writes integers of up to 4300
# To be held while z3 prints or reads terms that other threads may use: it prints all terms of a
# context into one buffer.
term_lock = PerProcess(threading.Lock)


def name_of(symbol: Any) -> str:
    """Name of a constant. Call it once and keep the result: it is not safe between threads."""
    return str(symbol.decl().name())


@uses_z3
def text_of(term: Any) -> str:
    """A term as z3 prints it, on one line."""
    with term_lock.get():
        return " ".join(str(term).split())


def shortened(text: str, width: int = 72) -> str:
    """The text, or its beginning and three dots."""
    return text if len(text) <= width else f"{text[: width - 3].rstrip()}..."


@uses_z3
def rounded(value: float, symbol: Any) -> float:
    """The number rounded to the floating-point sort of a symbol."""
    with term_lock.get():
        found: float = python_value(z3.FPVal(value, symbol.sort(), symbol.ctx))
    return found


def z3_value(symbol: Any, value: Any) -> Any:
    """Converts a Python value, z3 value or name of an enumeration member to the symbol's sort."""
    sort = symbol.sort()
    wrong = TheoryError(
        f"one_hot: {shown(value)} is not a value of {name_of(symbol)!r}, whose sort is {sort}. "
        f"Give values of that sort."
    )
    if z3.is_expr(value) and value.ctx != symbol.ctx:
        raise TheoryError(
            f"one_hot: {value!r} belongs to another z3 context than {name_of(symbol)!r}. Move it "
            f"there with value.translate(symbol.ctx)."
        )
    number = isinstance(value, np.generic) or (isinstance(value, Tensor) and value.ndim == 0)
    value = value.item() if number else value
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        raise TheoryError(
            f"one_hot: {shown(value)} is too long a value for {name_of(symbol)!r}. "
            f"Give values of at most {_DIGITS} digits."
        )
    literal = isinstance(value, int) or (isinstance(value, str) and z3.is_string(symbol))
    given = value
    try:
        if isinstance(value, str) and sort.kind() == z3.Z3_DATATYPE_SORT:
            members = {sort.constructor(i).name(): i for i in range(sort.num_constructors())}
            return sort.constructor(members[value])()
        if isinstance(value, str) and z3.is_string(symbol):
            # z3 would read "\\u{41}" as "A"
            value = z3.StringVal(value.replace("\\u", "\\u{5c}u"), symbol.ctx)
        if isinstance(value, Fraction):
            value = z3.Q(value.numerator, value.denominator, symbol.ctx)
        term = z3.simplify(sides(symbol == value)[1])
    except (z3.Z3Exception, KeyError, AttributeError) as error:
        raise wrong from error
    if term.sort() != sort or not _is_value(term) or (literal and python_value(term) != given):
        raise wrong
    return term


def _is_value(term: Any) -> bool:
    symbolic = not z3.is_app(term) or term.decl().kind() == z3.Z3_OP_UNINTERPRETED
    return not symbolic and all(_is_value(child) for child in term.children())


def whole_number(term: Any) -> int:
    """Value of an integer or bit-vector term of any length."""
    text = term.as_string()
    if len(text) <= _DIGITS:
        return int(text)
    found = 0
    for start in range(0, len(digits := text.removeprefix("-")), _DIGITS):
        part = digits[start : start + _DIGITS]
        found = found * 10 ** len(part) + int(part)
    return -found if text.startswith("-") else found


def shown(value: Any) -> str:
    """A value as text for an error message."""
    try:
        return repr(value)
    except ValueError:
        return "an integer of thousands of digits"


def sides(equation: Any) -> tuple[Any, Any]:
    """The symbol and the value of an equation, which z3 may write in either order."""
    one, other = equation.children()
    swapped = other.decl().kind() == z3.Z3_OP_UNINTERPRETED
    return (other, one) if swapped else (one, other)


def python_value(term: Any) -> Any:
    """Converts a z3 value to Python: int, bool, str, Fraction, float, or a member's name."""
    if z3.is_bool(term):
        return z3.is_true(term)
    if z3.is_int_value(term) or z3.is_bv_value(term):
        return whole_number(term)
    if z3.is_rational_value(term):
        return Fraction(term.numerator_as_long(), term.denominator_as_long())
    if z3.is_fp_value(term) and not term.isNaN():
        if term.isInf():
            return -math.inf if term.isNegative() else math.inf
        return float(python_value(z3.simplify(z3.fpToReal(term, term.ctx))))
    if z3.is_string_value(term):
        return re.sub(r"\\u\{([0-9a-f]+)\}", lambda m: chr(int(m[1], 16)), term.as_string())
    text = str(term)
    return term.sexpr() if "..." in text else text  # z3 abbreviates deep terms


def as_array(name: str, value: Any) -> Any:
    """Converts the values of a symbol to an array: a scalar, list, array or tensor of them."""
    value = python_value(value) if z3.is_expr(value) else value
    try:
        if isinstance(value, Tensor):
            host = value.detach().cpu()
            return np.asarray(host.double() if host.is_floating_point() else host)
        array = np.asarray(value)
        return array if isinstance(value, np.ndarray) else _keep_elements(array, value)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        raise TheoryError(
            f"Theory.encode expects one value for {name!r}, or an array of them with rows of the "
            f"same length. Got {value!r}."
        ) from error


def _keep_elements(array: Any, value: Any) -> Any:
    """Keeps the elements of mixed lists, which numpy would convert to floats or strings."""
    if array.dtype.kind not in "fUO":
        return array
    exact = np.array(value, dtype=object)
    members = exact.ravel().tolist()
    if array.dtype.kind == "O":
        exact = np.empty(len(members), dtype=object)
        exact[:] = [python_value(member) if z3.is_expr(member) else member for member in members]
        return exact.reshape(array.shape)
    same = str if array.dtype.kind == "U" else float | np.floating | Tensor
    return array if all(isinstance(member, same) for member in members) else exact
