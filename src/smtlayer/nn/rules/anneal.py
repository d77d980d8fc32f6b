"""Numbers that change with the progress of training."""

from dataclasses import dataclass
from typing import Literal, TypeVar, final

from torch import Tensor

from smtlayer.errors import ArgumentError
from smtlayer.plain import is_finite, number

Shape = Literal["linear", "geometric"]
_Progress = TypeVar("_Progress", float, Tensor)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Anneal:
    """A number that moves from one value to another during training; see `anneal`."""

    start: float
    end: float
    until: float = 1.0
    shape: Shape = "linear"

    def __post_init__(self) -> None:
        for name in ("start", "end", "until"):
            object.__setattr__(
                self, name, _finite(f"anneal expects {name} as", getattr(self, name))
            )
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


Number = float | Anneal


def anneal(start: float, end: float, until: float = 1.0, shape: Shape = "linear") -> Anneal:
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
    return Anneal(start, end, until, shape)


def checked_number(who: str, name: str, value: Number, *, zero: bool = False) -> Number:
    """Returns the number if it is always above 0, or at least 0 where `zero` allows it."""
    bound = "at least 0" if zero else "above 0"
    expected = f"{who} expects {name} {bound},"
    if not isinstance(value, Anneal):
        value = _finite(expected, value, " or anneal(...)")
    low = min(value.start, value.end) if isinstance(value, Anneal) else value
    if low < 0 or (low == 0 and not zero):
        raise ArgumentError(f"{expected} a number or anneal(...). Got {short(value)}.")
    return value


def value_at(number: Number, progress: _Progress) -> float | _Progress:
    """The value of a number at a progress."""
    return number.at(progress) if isinstance(number, Anneal) else number


def short(number: Number) -> str:
    """The shortest text that reads back as the number: `2`, `0.7`, `anneal(4, 1)`."""
    if isinstance(number, Anneal) or not number.is_integer() or abs(number) > 1e15:
        return repr(number)
    return str(int(number))


def _finite(expected: str, value: object, alternative: str = "") -> float:
    if not is_finite(value):
        raise ArgumentError(f"{expected} a number{alternative}. Got {value!r}.")
    return number(value)
