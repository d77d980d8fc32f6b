"""Regular expressions in Python's syntax, read into a tree over a given set of letters.

Only the structure is read here: groups, alternatives and repetitions. Python's `re` itself decides
which letters a class, an escape or a dot stands for.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from smtlayer.errors import ArgumentError, ArgumentTypeError


@dataclass(frozen=True, slots=True)
class Letter:
    """One letter out of a set."""

    letters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several sequences."""

    options: tuple["Sequence", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A sequence that is repeated, from `low` to `high` times; without limit if that is None."""

    body: "Sequence"
    low: int
    high: int | None


Sequence = tuple[Letter | Choice | Repeat, ...]

_FLAGS = re.compile(r"(?:\(\?[a-zA-Z]+\))*")
_TOKEN = re.compile(
    r"""
    (?P<repeat>(?:[*+?]|\{(?:[0-9]+|[0-9]*,[0-9]*)\})[?]?(?![+]))
    | (?P<open>\((?:\?:|\?P<\w+>|(?!\?)))
    | (?P<close>\))
    | (?P<bar>\|)
    | (?P<start>\^|\\A)
    | (?P<end>(?:\$|\\Z)+(?=\||\Z))
    | (?P<atom>\[\^?\]?(?:\\.|[^]\\])*\]    # a class
        | \\(?:[0-3][0-7]{2}|0[0-7]?|x..|u.{4}|U.{8}|N\{[^}]*\}|[^1-9bBAZz])
        | [^*+?{($\\] | \{(?!(?:[0-9]+|[0-9]*,[0-9]*)\}))
    """,
    re.VERBOSE | re.DOTALL,
)


def parse(pattern: str, alphabet: Iterable[str]) -> Sequence:
    """The tree of a pattern whose words consist of letters of the alphabet.

    Raises:
        ArgumentError: If `re` cannot compile the pattern, or it is not regular.
    """
    flags, letters = _flags(pattern), tuple(alphabet)

    @cache
    def matching(atom: str) -> Letter:
        test = re.compile(atom, flags).fullmatch
        return Letter(frozenset(letter for letter in letters if test(letter)))

    groups: list[list[list[Letter | Choice | Repeat]]] = [[[]]]  # open ones: their alternatives
    place = _FLAGS.match(pattern).end()  # type: ignore[union-attr] # it matches the empty text
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        kind, items = token and token.lastgroup, groups[-1][-1]
        inside = (kind == "start" and items) or (kind in ("start", "end") and len(groups) > 1)
        if token is None or inside:
            raise _not_regular(pattern, place)
        match kind:
            case "atom":
                items.append(matching(token[0]))
            case "repeat":
                items.append(Repeat((items.pop(),), *_limits(token[0])))
            case "open":
                groups.append([[]])
            case "bar":
                groups[-1].append([])
            case "close":
                options = groups.pop()
                groups[-1][-1].append(Choice(tuple(map(tuple, options))))
        place = token.end()
    return (Choice(tuple(map(tuple, groups[0]))),)


def _flags(pattern: str) -> int:
    if not isinstance(pattern, str):
        raise ArgumentTypeError(
            f"matches expects a regular expression as a string. "
            f"Got {pattern!r} of type {type(pattern).__name__}."
        )
    try:
        flags = re.compile(pattern).flags
    except re.error as error:
        raise ArgumentError(
            f"matches expects a regular expression that Python's re can compile. "
            f"Got {pattern!r}: {error}."
        ) from error
    if flags & re.VERBOSE:
        raise _not_regular(pattern, 0)
    return flags


def _not_regular(pattern: str, place: int) -> ArgumentError:
    return ArgumentError(
        f"matches: the pattern {pattern!r} uses {pattern[place : place + 3]!r} at position "
        f"{place}, which is not supported. Use letters, classes, groups, |, *, +, ? and {{m,n}}, "
        f"without backreferences, lookarounds, possessive repetitions and scoped or verbose flags; "
        f"anchors only at the ends."
    )


def _limits(token: str) -> tuple[int, int | None]:
    """How often a repetition may repeat; a lazy one has the same words."""
    match token[0]:
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
    low, comma, high = token.rstrip("?")[1:-1].partition(",")
    return int(low or 0), int(high) if high else None if comma else int(low)
