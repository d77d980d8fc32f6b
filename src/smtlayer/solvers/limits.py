"""This file checks numbers that users set, and turns seconds into the milliseconds of z3."""

import math

from smtlayer.plain import number, whole

LONGEST_S = 1e6  # of one wait, 11 days: z3 and the system count milliseconds, and not for ever


def check_limit(who: str, name: str, value: object) -> None:
    """Raises unless a limit is a number above zero; infinity is one."""
    wrong = f"{who} expects {name} above 0. Got {value!r}."
    try:
        fits = number(value) > 0
    except TypeError as error:
        raise TypeError(wrong) from error
    except OverflowError:  # an integer of hundreds of digits
        fits = False
    if not fits:
        raise ValueError(wrong)


def check_limits(options: object, *names: str) -> None:
    """Raises unless the named options are numbers above zero."""
    for name in names:
        check_limit(type(options).__name__, name, getattr(options, name))


def check_count(who: str, name: str, value: object, least: int = 1, most: float = math.inf) -> None:
    """Raises unless a value is a whole number, no less than `least` and no more than `most`."""
    reach = f"of {least} or more" if most == math.inf else f"from {least} to {most:.0f}"
    wrong = f"{who} expects {name} as a whole number {reach}. Got {value!r}."
    try:
        fits = least <= whole(value) <= most
    except TypeError as error:
        raise TypeError(wrong) from error
    if not fits:
        raise ValueError(wrong)


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, the last one begun, however many seconds there are.

    Examples:
        >>> milliseconds(1.5), milliseconds(1e-9), milliseconds(float("inf"))
        (1500, 1, 1000000000)
    """
    return math.ceil(min(seconds, LONGEST_S) * 1000)
