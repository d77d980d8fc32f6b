"""Plain Python numbers of numbers of any library, as JSON and TOML need them, and their text."""

import math
import operator
from collections.abc import Callable
from dataclasses import fields
from numbers import Real
from typing import Any

from smtlayer.errors import ConfigError


def whole(value: object) -> int:
    """A whole number as an int; raises TypeError for other values, and for a bool."""
    if isinstance(value, bool):
        raise TypeError("a bool is not a number")
    return operator.index(value)  # type: ignore[arg-type]


def number(value: object) -> float:
    """A number as a float; raises TypeError for other values and a bool, or OverflowError."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("not a number")
    return float(value)


def is_whole(value: object, least: int) -> bool:
    """Whether a value is a whole number of at least `least`."""
    try:
        return whole(value) >= least
    except TypeError:
        return False


def is_finite(value: object, least: float = -math.inf) -> bool:
    """Whether a value is a finite number of at least `least`."""
    try:
        return math.isfinite(number(value)) and number(value) >= least
    except (TypeError, OverflowError):
        return False


def counted(count: int, noun: str) -> str:
    """A number with its noun: `1 row`, `2 rows`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def make_plain(options: Any) -> None:
    """Converts the fields of an options object to plain Python values of the defaults' types.

    Raises:
        ConfigError: If a value has another type, or is not finite.
    """
    for field in fields(options):
        value = getattr(options, field.name)
        expected, plain = _PLAIN[type(field.default)]
        try:
            value = plain(value)
        except (TypeError, OverflowError) as error:
            raise ConfigError(f"{field.name} expects {expected}. Got {value!r}.") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{field.name} must be finite. Got {value!r}.")
        object.__setattr__(options, field.name, value)  # the dataclass is frozen


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return str(value)


_PLAIN: dict[type, tuple[str, Callable[[object], object]]] = {
    int: ("a whole number", whole),
    float: ("a number", number),
    str: ("text", _text),
}
