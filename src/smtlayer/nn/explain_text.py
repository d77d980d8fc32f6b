"""This file puts explanations into words, for terminals and, line by line, for notebooks."""

import textwrap
from collections.abc import Iterable, Sequence

from smtlayer.nn.explanation import (
    Blame,
    BlamedInput,
    Column,
    Explanation,
    Overruled,
    SymbolRead,
    shortened,
)

WIDTH = 88
_HEAD = 12  # columns of a heading
_SYMBOLS = 8  # shown one by one; of more, only those that matter
_LEAST_CERTAIN = 3
_CONSTRAINTS = 6
_COLUMNS = 4
_ROWS = 20  # of a batch

Statement = tuple[str, list[str]]  # a heading, and its lines


def explanation_text(row: Explanation) -> str:
    """A verdict, and under it a few lines that say why."""
    lines = [verdict(row)]
    for heading, told in statements(row):
        for i, line in enumerate(told):
            first = f"  {heading if i == 0 else '':<{_HEAD}}"
            rest = " " * (2 + _HEAD + 2 * line.startswith("- "))
            lines += textwrap.wrap(
                line, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
            )
    return "\n".join(lines)


def explanations_text(rows: Sequence[Explanation]) -> str:
    """The explanations of a batch one after the other, the first of many."""
    if not rows:
        return "No rows to explain."
    if len(rows) == 1:
        return explanation_text(rows[0])
    parts = [f"Row {i}: {explanation_text(row)}" for i, row in enumerate(rows[:_ROWS])]
    if len(rows) > _ROWS:
        parts.append(more_rows(rows))
    return "\n\n".join(parts)


def more_rows(rows: Sequence[Explanation]) -> str:
    """What is left out of a long batch."""
    counts = [f"{sum(row.status == s for row in rows)} {word}" for s, word in _COUNTED.items()]
    told = [count for count in counts if not count.startswith("0 ")]
    left = len(rows) - _ROWS
    return f"... and {left} more {_plural('row', left)}. Of all {len(rows)}: {', '.join(told)}."


def first_rows(rows: Sequence[Explanation]) -> Sequence[Explanation]:
    """Those of a batch that are shown."""
    return rows[:_ROWS]


_COUNTED = {
    "fits": "fit the theory",
    "repaired": "repaired",
    "contradicts": "contradict the theory",
    "unknown": "not answered",
}


def verdict(row: Explanation) -> str:
    """What the row comes down to, in a sentence."""
    if row.status == "fits":
        return "The reading fits the theory."
    if row.status == "contradicts":
        return "The reading contradicts the theory, and there is no answer."
    if row.status == "unknown":
        start = "The reading contradicts the theory, and the" if row.conflict else "The"
        return f"{start} solver found no answer in time."
    count = len(row.overruled)
    what = f"{count} {_plural('symbol', count)} overruled at a cost of {number(row.cost)}"
    if row.proved:
        return f"The reading contradicts the theory: {what}, the least possible."
    start = "The reading contradicts the theory: " if row.conflict else "Repaired: "
    return f"{start}{what}, the least found in time."


def statements(row: Explanation) -> list[Statement]:
    """Headings and lines of all that there is to tell."""
    by_name = {symbol.name: symbol for symbol in row.read}
    told: list[Statement] = [("read", read_lines(row))]
    if row.conflict is not None:
        told.append(("conflict", _blame_lines(row.conflict, by_name, "")))
    if row.overruled:
        told.append(("overruled", [_few(_change(o, by_name) for o in row.overruled)]))
    if row.answer is not None:
        told.append(("answer", [_values(row.answer)]))
    if row.runner_up_status != "not asked":
        told.append(("runner-up", [_runner_up(row, by_name)]))
    if row.wanted is not None:
        told.append(("wanted", _wanted_lines(row, by_name)))
    return told


def read_lines(row: Explanation) -> list[str]:
    """All symbols if they are few, else how many and the least certain."""
    known = [symbol for symbol in row.read if symbol.known]
    free = len(row.read) - len(known)
    tail = f"{free} not known" if free else ""
    if not known:
        return ["nothing: the solver may choose every input"]
    if len(known) <= _SYMBOLS:
        return [", ".join([*map(_read, known), *([tail] if tail else [])])]
    least = sorted(known, key=lambda symbol: symbol.certainty)[:_LEAST_CERTAIN]
    first = f"{len(known)} symbols" + (f", {tail}" if tail else "")
    return [first, f"least certain: {', '.join(map(_read, least))}"]


def _read(symbol: SymbolRead) -> str:
    if symbol.value is None:
        return f"{symbol.name}: {symbol.shown} ({percent(symbol.certainty)})"
    return f"{symbol.name} = {symbol.shown} ({percent(symbol.certainty)})"


def _blame_lines(blame: Blame, by_name: dict[str, SymbolRead], goal: str) -> list[str]:
    """Who contradicts what; `goal` is what is wanted, if anything."""
    inputs = _few(_blamed(given, by_name[given.name]) for given in blame.inputs)
    facts = " and ".join(part for part in (inputs, goal) if part)
    single = len(blame.inputs) + bool(goal) == 1 and not (goal and "," in goal)
    doubt = [] if blame.minimal else ["(no time to show that all of these are needed)"]
    if not blame.constraints:
        return [f"{facts} cannot be together" if not single else f"{facts} cannot be", *doubt]
    verb = "contradicts" if single else "together contradict"
    labels = [broken.label for broken in blame.constraints]
    if len(labels) == 1:
        return [f"{facts} {verb}: {labels[0]}", *doubt]
    shown = [f"- {label}" for label in labels[:_CONSTRAINTS]]
    left = len(labels) - len(shown)
    if left:
        shown.append(f"- and {left} more {_plural('constraint', left)}")
    return [f"{facts} {verb}:", *shown, *doubt]


def _blamed(given: BlamedInput, symbol: SymbolRead) -> str:
    columns = [column for column in symbol.columns if column.name in given.columns]
    if given.value is None:
        return _few(map(_signed, columns), " and ", _COLUMNS)
    value = f"{given.name} = {given.value}"
    whole = len(columns) == len(symbol.columns)
    if whole or [_signed(column) for column in columns] == [f"{given.name}={given.value}"]:
        return value
    return f"{value} (by {_few(map(_signed, columns), ', ', _COLUMNS)})"


def _signed(column: Column) -> str:
    return column.name if column.value else f"not {column.name}"


def _change(overruled: Overruled, by_name: dict[str, SymbolRead]) -> str:
    read = by_name[overruled.name].shown if overruled.read is None else overruled.read
    return f"{overruled.name}: {overruled.taken} instead of {read} ({number(overruled.cost)})"


def _runner_up(row: Explanation, by_name: dict[str, SymbolRead]) -> str:
    if row.runner_up is None:
        none = row.runner_up_status == "impossible"
        return "none: no other answer is possible" if none else "none found in time"
    rival = row.runner_up
    answer = row.answer or {}
    differing = {name: v for name, v in rival.answer.items() if v != answer.get(name)}
    changes = _few(_change(o, by_name) for o in rival.overruled)
    cost = f"at a cost of {number(rival.cost)}" + ("" if rival.proved else ", the least found")
    return f"{_values(differing)} {cost}" + (f"; {changes}" if changes else "")


def _wanted_lines(row: Explanation, by_name: dict[str, SymbolRead]) -> list[str]:
    wanted = row.wanted or {}
    goal = _values(wanted)
    if row.blame is not None and not row.blame.inputs:
        return [f"{goal} is impossible, whatever is read", *_blame_lines(row.blame, by_name, goal)]
    if row.blame is not None:
        return [f"{goal} is ruled out", *_blame_lines(row.blame, by_name, goal)]
    if row.allows is None:
        return [f"{goal}: not known whether the reading allows it"]
    answered = row.answer is not None and wanted.items() <= row.answer.items()
    return [f"{goal} is the answer" if answered else f"{goal} is possible with this reading"]


def _values(values: dict[str, object]) -> str:
    return _few(f"{name} = {value}" for name, value in values.items())


def _few(parts: Iterable[str], joint: str = ", ", most: int = _SYMBOLS) -> str:
    """The parts joined, only the first of many."""
    listed = list(parts)
    shown = listed if len(listed) <= most + 1 else listed[:most]
    left = len(listed) - len(shown)
    return joint.join([shortened(part) for part in shown] + ([f"and {left} more"] if left else []))


def percent(probability: float) -> str:
    """A probability for people."""
    if probability > 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if probability < 0.001 else f"{100 * probability:.1f} %"


def number(cost: float) -> str:
    """A cost for people."""
    return "0" if cost < 1e-99 else f"{cost:.2f}" if cost >= 0.01 else f"{cost:.1e}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
