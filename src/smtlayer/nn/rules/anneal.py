"""Numbers that change with the progress of training."""

from dataclasses import dataclass, fields
from typing import Literal, TypeVar, final

from torch import Tensor

from smtlayer.errors import ArgumentError
from smtlayer.plain import is_finite, is_whole, number

Shape = Literal["linear", "geometric"]
_Progress = TypeVar("_Progress", float, Tensor)


@final
@dataclass(frozen=True, slots=True, repr=False)
class anneal:  # noqa: N801 (as the rules are written: lower case)
    """A number that moves from `start` to `end` as `SMTLayer.progress` goes from 0 to `until`.

    Args:
        start: The value at the beginning of training.
        end: The value from `until` on.
        until: The share of training after which the value is `end`.
        shape: `"linear"` by equal steps, `"geometric"` by equal factors.

    Examples:
        >>> temperature = anneal(4, 1, until=0.5)
        >>> temperature, [temperature.at(progress) for progress in (0.0, 0.25, 0.5, 1.0)]
        (anneal(4, 1, until=0.5), [4.0, 2.5, 1.0, 1.0])
        >>> anneal(4, 1, shape="geometric").at(0.5)
        2.0
    """

    start: float
    end: float
    until: float = 1.0
    shape: Shape = "linear"

    def __post_init__(self) -> None:
        for name in ("start", "end", "until"):
            value = getattr(self, name)
            if not is_finite(value):
                raise ArgumentError(f"anneal expects {name} as a number. Got {value!r}.")
            object.__setattr__(self, name, number(value))
        if not 0 < self.until <= 1:
            raise ArgumentError(
                f"anneal expects until above 0 and at most 1, a share of training. "
                f"Got {self.until:g}."
            )
        if self.shape not in ("linear", "geometric"):
            raise ArgumentError(
                f"anneal expects shape 'linear' or 'geometric'. Got {self.shape!r}."
            )
        if self.shape == "geometric" and not (self.start > 0 and self.end > 0):
            raise ArgumentError(
                f"anneal expects start and end above 0 for shape='geometric'. "
                f"Got {short(self.start)} and {short(self.end)}. Use shape='linear'."
            )

    def at(self, progress: _Progress) -> _Progress:
        """Returns its value at a progress from 0 to 1."""
        done = progress / self.until
        done = min(done, 1.0) if isinstance(done, float) else done.clamp(max=1.0)
        if self.shape == "linear":
            return self.start + (self.end - self.start) * done
        fallen: _Progress = self.start ** (1 - done)  # their ratio may exceed the range of floats
        risen: _Progress = self.end**done
        return fallen * risen

    def __repr__(self) -> str:
        until = "" if self.until == 1 else f", until={short(self.until)}"
        shape = "" if self.shape == "linear" else f", shape={self.shape!r}"
        return f"anneal({short(self.start)}, {short(self.end)}{until}{shape})"


Number = float | anneal


def checked_number(who: str, name: str, value: Number, *, zero: bool = False) -> Number:
    """Returns the number if it is always above 0, or at least 0 where `zero` allows it."""
    low = min(value.start, value.end) if isinstance(value, anneal) else value
    if not is_finite(low, 0) or (low == 0 and not zero):
        bound = "at least 0" if zero else "above 0"
        raise ArgumentError(
            f"{who} expects {name} {bound}, a number or anneal(...). Got {value!r}."
        )
    return value if isinstance(value, anneal) else number(value)


def checked_count(who: str, name: str, value: int) -> int:
    """Returns the value if it is a whole number of at least 1."""
    if not is_whole(value, 1):
        raise ArgumentError(f"{who} expects {name} as a whole number of at least 1. Got {value!r}.")
    return int(value)


def value_at(value: Number, progress: _Progress) -> float | _Progress:
    """The value of a number at a progress."""
    return value.at(progress) if isinstance(value, anneal) else value


def short(value: Number) -> str:
    """The shortest text that reads back as the number: `2`, `0.7`, `anneal(4, 1)`."""
    if isinstance(value, anneal) or not float(value).is_integer() or abs(value) > 1e15:
        return repr(value)
    return str(int(value))


def rule_text(name: str, rule: object) -> str:
    """A rule as text that reads back: its name, and the parameters that are not the default."""
    values = [(f.name, getattr(rule, f.name), f.default) for f in fields(rule)]  # type: ignore[arg-type]
    listed = ", ".join(f"{name}={short(value)}" for name, value, usual in values if value != usual)
    return f"{name}({listed})" if listed else name
