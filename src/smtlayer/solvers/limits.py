"""This file checks limits that users set, and turns seconds into the milliseconds of z3."""

from numbers import Real

LONGEST_S = 1e6  # of one wait, 11 days: z3 and the system count milliseconds, and not for ever


def check_limit(who: str, name: str, value: object) -> None:
    """Raises unless a limit is a number above zero; infinity is one."""
    wrong = f"{who} expects {name} above 0. Got {value!r}."
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(wrong)
    if not float(value) > 0:
        raise ValueError(wrong)


def check_positive(options: object, *names: str) -> None:
    """Raises unless the named options are numbers above zero."""
    for name in names:
        check_limit(type(options).__name__, name, getattr(options, name))


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, however many seconds there are.

    Example:
        >>> milliseconds(1.5), milliseconds(float("inf"))
        (1500, 1000000000)
    """
    return int(min(seconds, LONGEST_S) * 1000)
