"""`matches`: words of a regular expression, by a deterministic automaton unrolled over symbols.

A state after i symbols is the set of ways to continue (Antimirov's partial derivatives): sequences
whose words complete the word. Sequences that have no word of the length that is left are dropped.
From the last symbol to the first, each state becomes one formula over `symbol == value`,

    accept(i, q) = or over successors q' of (symbol i has a letter from q to q') and accept(i+1, q')

and states with the same formula become one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import z3

from smtlayer.errors import ArgumentError, ArgumentTypeError, TooLargeError
from smtlayer.forks import uses_z3
from smtlayer.theory import regex
from smtlayer.theory.arguments import OneHot, symbols_of
from smtlayer.theory.regex import Choice, Letter, Repeat
from smtlayer.theory.symbols import Symbol

_MAX_STATES = 100_000

State = frozenset[regex.Sequence]
Edges = dict[str, State]  # by letter


@uses_z3
def matches(
    symbols: Sequence[OneHot | Symbol],
    pattern: str,
    *,
    letters: Mapping[Any, str] | None = None,
) -> Any:
    r"""A formula: the values of the symbols, read as one word, match a regular expression.

    The whole word must match, as in `re.fullmatch`. The word has one letter per symbol: write
    padding into the pattern, such as `" *"` at its end, where words may be shorter. The formula
    contains `symbol == value` terms only, so the theory is finite, and small: one part per state of
    the pattern's automaton and symbol.

    Args:
        symbols: One `one_hot(symbol, values)` per letter.
        pattern: A regular expression in Python's syntax, without backreferences, lookarounds,
            possessive repetitions and scoped flags. Anchors may stand at its ends.
        letters: The letter that a value is read as. A value without one is read as its own text,
            which must be one character: `"A"`, `7`, or an enumeration's member named `A`.

    Raises:
        ArgumentError: If no word of this many letters matches; the message has the lengths of words
            that do. If the pattern is not regular, or a value has no letter.
        TooLargeError: If the automaton has more than 100,000 states.

    Examples:
        >>> from smtlayer import Theory, one_hot
        >>> cells = [one_hot(z3.String(f"cell{i}"), "AB0123 ") for i in range(4)]
        >>> theory = Theory(matches(cells, r"[AB]\d{1,3} *"), inputs=cells, outputs=cells)
        >>> theory.check().n_models  # 2 * (4 + 4**2 + 4**3)
        168
        >>> tags = [one_hot(z3.String(f"tag{i}"), ["O", "B-PER", "I-PER"]) for i in range(3)]
        >>> matches(tags[:2], "(O|BI*)*", letters={"B-PER": "B", "I-PER": "I"})
        And(Not(tag0 == "I-PER"),
            Or(And(tag0 == "O", Not(tag1 == "I-PER")), tag0 == "B-PER"))
    """
    cells = _cells(symbols)
    read = [[_letter(cell, value, letters or {}) for value in cell.values] for cell in cells]
    tree = regex.parse(pattern, {letter for row in read for letter in row})
    automaton = _Automaton(tree, len(cells))
    steps = automaton.unrolled(read)
    found = _formula(cells, read, steps)
    if found is None:
        raise _no_word(pattern, automaton.lengths, len(cells))
    return found


def _cells(symbols: Any) -> tuple[Symbol, ...]:
    members = list(symbols) if isinstance(symbols, Iterable) else []
    kinds = [one.kind if isinstance(one, Symbol) else type(one) for one in members]
    wrong = [
        one for one, kind in zip(members, kinds, strict=True) if kind not in ("one-hot", OneHot)
    ]
    if wrong or not members:
        first = wrong[0] if wrong else symbols
        raise ArgumentTypeError(
            f"matches expects a list of one_hot(symbol, values), one per letter. "
            f"Got {first!r} of type {type(first).__name__}."
        )
    return symbols_of(members, "symbols")


def _letter(cell: Symbol, value: Any, letters: Mapping[Any, str]) -> str:
    letter = letters.get(value, str(value))
    if not isinstance(letter, str) or len(letter) != 1:
        raise ArgumentError(
            f"matches reads each value as one character. Got {letter!r} for the value {value!r} of "
            f"{cell.name!r}. Pass letters={{{value!r}: ...}} with a character for it."
        )
    return letter


class _Automaton:
    """The states that can be reached in a number of steps, and still accept in time."""

    def __init__(self, tree: regex.Sequence, n: int) -> None:
        self._n, self._tree = n, tree
        self._most = 2 * n + 32  # longest words whose length is computed
        self._lengths = cache(self._lengths_of)
        self._steps = cache(lambda sequence: tuple(self._steps_of(sequence)))

    @property
    def lengths(self) -> list[int]:
        """Lengths of words, whatever their letters, up to some length."""
        found = self._lengths(self._tree)
        return [k for k in range(self._most + 1) if found >> k & 1]

    def unrolled(self, read: Sequence[Sequence[str]]) -> list[dict[State, Edges]]:
        """The edges of the states after 0, 1, ..., n - 1 letters."""
        start = frozenset({self._tree}) if self._lengths(self._tree) >> self._n & 1 else None
        states, layers, count = {start} - {None}, list[dict[State, Edges]](), 0
        for i, letters in enumerate(read):
            layers.append({q: self._edges(q, set(letters), self._n - i - 1) for q in states if q})
            states = {target for edges in layers[-1].values() for target in edges.values()}
            count += len(states)
            if count > _MAX_STATES:
                raise TooLargeError(
                    f"matches: the automaton of the pattern has more than {_MAX_STATES:,} states.",
                    "Split the pattern, or write it with fewer alternatives.",
                )
        return layers

    def _edges(self, state: State, letters: set[str], left: int) -> Edges:
        found: dict[str, set[regex.Sequence]] = {}
        for sequence in state:
            for some, after in self._steps(sequence):
                if self._lengths(after) >> left & 1:
                    for letter in some & letters:
                        found.setdefault(letter, set()).add(after)
        return {letter: frozenset(targets) for letter, targets in found.items()}

    def _steps_of(
        self, sequence: regex.Sequence
    ) -> Iterator[tuple[frozenset[str], regex.Sequence]]:
        """The letters that a word may begin with, each set with what follows."""
        if not sequence:
            return
        head, rest = sequence[0], sequence[1:]
        match head:
            case Letter(letters):
                yield letters, rest
            case Choice(options):
                for option in options:
                    yield from self._steps(option + rest)
            case Repeat(body, low, high):
                if high != 0:
                    fewer = self._fewer(body, low, high)
                    for letters, after in self._steps(body):
                        yield letters, after + fewer + rest
                if low == 0 or self._lengths(body) & 1:
                    yield from self._steps(rest)

    def _fewer(self, body: regex.Sequence, low: int, high: int | None) -> regex.Sequence:
        """What is left of a repetition after one more; no word is longer than n letters."""
        high = None if high is None or high > self._n else high - 1
        return () if high == 0 else (Repeat(body, max(low - 1, 0), high),)

    def _lengths_of(self, sequence: regex.Sequence) -> int:
        """The lengths of words as bits."""
        found = 1
        for item in sequence:
            match item:
                case Letter():
                    found = self._joined(found, 2)
                case Choice(options):
                    either = 0
                    for option in options:
                        either |= self._lengths(option)
                    found = self._joined(found, either)
                case Repeat(body, low, high):
                    found = self._joined(found, self._power(self._lengths(body), low, high))
        return found

    def _power(self, once: int, low: int, high: int | None) -> int:
        always, ever = 1, 0
        for _ in range(low):
            before, always = always, self._joined(always, once)
            if always in (before, 0):
                break
        for _ in range(self._most + 1 if high is None else high - low + 1):
            before, ever = ever, ever | always
            always = self._joined(always, once)
            if ever == before:
                break
        return ever

    def _joined(self, one: int, other: int) -> int:
        whole = 0
        while other:
            low = other & -other
            whole |= one * low
            other ^= low
        return whole & ((1 << self._most + 1) - 1)


def _formula(
    cells: Sequence[Symbol], read: Sequence[Sequence[str]], layers: Sequence[dict[State, Edges]]
) -> Any:
    """The formula of the first state; None if it accepts no word."""
    true = z3.BoolVal(True, cells[0].term.ctx)
    accept = {q: true for edges in layers[-1].values() for q in edges.values()}
    parts: list[Any] = []
    for cell, letters, layer in list(zip(cells, read, layers, strict=True))[::-1]:
        accept, used = _layer(cell, letters, layer, accept)
        if not accept:
            return None
        parts.append(_among(cell, sorted(used)))  # follows from the rest, and propagates at once
    parts = [*reversed(parts), *accept.values()]
    return _all(list({part.get_id(): part for part in parts if part is not None}.values()))


def _layer(
    cell: Symbol, letters: Sequence[str], layer: dict[State, Edges], later: dict[State, Any]
) -> tuple[dict[State, Any], set[int]]:
    """The formulas of states from those of their successors, and the columns on their edges."""
    terms = {term.get_id(): term for term in later.values()}
    accept, known, used = dict[State, Any](), dict[Any, Any](), set[int]()
    for state, edges in layer.items():
        groups: dict[int, list[int]] = {}  # columns by what must hold afterwards
        for column, letter in enumerate(letters):
            after = later.get(edges[letter]) if letter in edges else None
            if after is not None:
                groups.setdefault(after.get_id(), []).append(column)
                used.add(column)
        if groups:
            key = tuple((after, tuple(columns)) for after, columns in groups.items())
            if key not in known:
                known[key] = _either(cell, [(terms[after], columns) for after, columns in key])
            accept[state] = known[key]
    return accept, used


def _either(cell: Symbol, cases: Sequence[tuple[Any, Sequence[int]]]) -> Any:
    found = []
    for after, columns in cases:
        here = _among(cell, columns)
        parts = [part for part in (here, after) if part is not None and not z3.is_true(part)]
        found.append(_all(parts) if parts else after)
    return z3.Or(*found) if len(found) > 1 else found[0]


def _all(parts: Sequence[Any]) -> Any:
    return z3.And(*parts) if len(parts) > 1 else parts[0]


def _among(cell: Symbol, columns: Sequence[int]) -> Any:
    """That a symbol has one of these values; None if that is always so."""
    others = sorted({*range(cell.width)} - {*columns})
    if not others:
        return None
    few = columns if len(columns) <= len(others) else others
    terms = [cell.column_terms[column] for column in few]
    some = z3.Or(*terms) if len(terms) > 1 else terms[0]
    return some if few is columns else z3.Not(some)


def _no_word(pattern: str, lengths: Sequence[int], n: int) -> ArgumentError:
    if n in lengths:
        return ArgumentError(
            f"matches: no word over the values of these {n} symbols matches {pattern!r}. "
            f"Add the letters that the pattern needs to their values."
        )
    shown = ", ".join(map(str, lengths[:8])) + (", ..." if len(lengths) > 8 else "")
    return ArgumentError(
        f"matches: words that match {pattern!r} have {shown or 'far more'} letters. Got {n} "
        f"symbols, one per letter. Change their number, or write padding into the pattern, such as "
        f"' *' at its end."
    )
