"""This file turns numbers of any library into Python's own, which JSON and TOML can hold."""

import math
import operator
from numbers import Real


def whole(value: object) -> int:
    """A whole number as an int.

    Raises:
        TypeError: If it is none. A truth value is none.
    """
    if isinstance(value, bool):
        raise TypeError("a truth value is no number")
    return operator.index(value)  # type: ignore[arg-type]


def number(value: object) -> float:
    """A number as a float.

    Raises:
        TypeError: If it is none. A truth value is none.
        OverflowError: If it is too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("not a number")
    return float(value)


def is_whole(value: object, least: int) -> bool:
    """Whether a value is a whole number that is not below another."""
    try:
        return whole(value) >= least
    except TypeError:
        return False


def is_finite(value: object, least: float = -math.inf) -> bool:
    """Whether a value is a finite number that is not below another."""
    try:
        return math.isfinite(number(value)) and number(value) >= least
    except (TypeError, OverflowError):
        return False
