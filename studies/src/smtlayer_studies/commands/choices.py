"""Options that are lists: names with commas between them, patterns, ranges of seeds."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from smtlayer.errors import ConfigError, did_you_mean


def split(text: str | None) -> tuple[str, ...]:
    """The parts of a list with commas; empty for None.

    Examples:
        >>> split("mnist-addition-*, liars-puzzle"), split(None)
        (('mnist-addition-*', 'liars-puzzle'), ())
    """
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def matching(option: str, patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The names that match a pattern, in their order; all of them if there is no pattern.

    Examples:
        >>> matching("--rows", ["sudoku-*"], ["sudoku-10", "algebra", "sudoku-50"])
        ('sudoku-10', 'sudoku-50')

    Raises:
        ConfigError: If a pattern matches no name.
    """
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names, otherwise=f"There are {', '.join(names)}.")
            raise ConfigError(
                f"{option} expects names or patterns. None matches {pattern!r}.{hint}"
            )
    return tuple(
        name for name in names if not patterns or any(fnmatchcase(name, p) for p in patterns)
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds in a list of numbers and ranges.

    Examples:
        >>> parse_seeds("0-2,7")
        (0, 1, 2, 7)

    Raises:
        ConfigError: If it is not such a list.
    """
    seeds: list[int] = []
    for part in split(text):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or part.endswith("-"):
            raise ConfigError(f"--seeds expects numbers or ranges, as 0,1,2 or 0-4. Got {text!r}.")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise ConfigError(f"--seeds expects at least one seed, as 0,1,2 or 0-4. Got {text!r}.")
    return tuple(dict.fromkeys(seeds))
