"""Explanations as text: a verdict, and statements under headings."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from smtlayer.explain.result import BlamedSymbol, Contradiction, Explanation, Overruled, SymbolRead
from smtlayer.plain import counted
from smtlayer.theory.values import shortened

_WIDTH = 80
_HEADING = 12  # columns
_SYMBOLS = 8  # shown one by one; of more, only some
_LEAST = 3
_CONSTRAINTS = 6
ROWS = 20  # of a batch that are shown
_UNBROKEN = re.compile(r" = | %|\(cost |\([<>] ")  # no line breaks there
_NO_BREAK = "\xa0"

_COUNTED = {
    "fits": "fit the theory",
    "repaired": "repaired",
    "contradicts": "contradict the theory",
    "unknown": "not answered",
}

Statement = tuple[str, list[str]]  # a heading, and its lines


def explanation_text(row: Explanation, title: str = "") -> str:
    """The verdict on a row and its statements, in lines of 80 characters."""
    lines = textwrap.wrap(title + verdict(row), _WIDTH)
    for heading, parts in statements(row):
        for i, line in enumerate(parts):
            first = f"  {heading if i == 0 else '':<{_HEADING}}"
            rest = " " * (2 + _HEADING + 2 * line.startswith("- "))
            lines += textwrap.wrap(
                _UNBROKEN.sub(lambda found: found[0].replace(" ", _NO_BREAK), line), _WIDTH,
                initial_indent=first, subsequent_indent=rest, break_on_hyphens=False,
            )  # fmt: skip
    return "\n".join(lines).replace(_NO_BREAK, " ")


def explanations_text(rows: Sequence[Explanation]) -> str:
    """The explanations of a batch one after the other; of a large batch only the first."""
    if not rows:
        return "No rows to explain."
    if len(rows) == 1:
        return explanation_text(rows[0])
    parts = [explanation_text(row, f"Row {i}. ") for i, row in enumerate(rows[:ROWS])]
    return "\n\n".join([*parts, *left_out(rows)])


def left_out(rows: Sequence[Explanation]) -> list[str]:
    """A line about the rows of a batch that are not shown, if any."""
    left = len(rows) - ROWS
    if left <= 0:
        return []
    counts = {word: sum(row.status == s for row in rows) for s, word in _COUNTED.items()}
    summary = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return [f"... and {counted(left, 'more row')}. Of all {len(rows)}: {summary}."]


def verdict(row: Explanation) -> str:
    """The explanation of a row in one sentence."""
    contradicts = "Contradicts the theory"
    if row.status == "fits":
        return "Fits the theory."
    if row.status == "contradicts":
        certain = row.conflict is not None and row.conflict.given and not row.conflict.inputs
        return f"{'What is given contradicts the theory' if certain else contradicts}: no answer."
    if row.status == "unknown":
        return f"{contradicts}; no repair in time." if row.fits is False else "No answer in time."
    start = f"{contradicts}: repaired" if row.fits is False else "Repaired"
    least = "possible" if row.proved else "found in time"
    return f"{start} at a cost of {number(row.cost)}, the least {least}."


def statements(row: Explanation, goal: str = "") -> list[Statement]:
    """The parts of an explanation, each with a heading; `goal` may describe the wanted values."""
    found: list[Statement] = [("read", _read_lines(row))]
    if row.conflict is not None:
        found.append(("conflict", _blame_lines(row.conflict, row)))
    if row.overruled:
        found.append(("overruled", [_listed([_change(part, row) for part in row.overruled])]))
    if row.answer is not None:
        found.append(("answer", [_values(row.answer) + _chance(row.probability)]))
    if row.runner_up_status != "not asked":
        found.append(("runner-up", [_runner_up(row)]))
    if row.wanted is not None:
        found.append(("wanted", _wanted_lines(row, row.wanted, goal)))
    return found


def _read_lines(row: Explanation) -> list[str]:
    """All symbols if they are few, else their number and the least certain ones."""
    known = [symbol for symbol in row.read if symbol.known]
    free = len(row.read) - len(known)
    tail = [f"{free} not known"] if free else []
    given = sum(symbol.given for symbol in known)
    if not known:
        return ["nothing: the solver may choose every input"]
    if len(known) <= _SYMBOLS:
        return [", ".join([*map(_read, known), *tail])]
    count = ", ".join([f"{len(known)} symbols", *([f"{given} given"] if given else []), *tail])
    read = [symbol for symbol in known if not symbol.given]
    least = sorted(read, key=lambda symbol: symbol.certainty)[:_LEAST]
    return [count, *([f"least certain: {', '.join(map(_read, least))}"] if least else [])]


def _read(symbol: SymbolRead) -> str:
    joint = ": " if symbol.value is None else " = "
    part = ", partly given" if any(column.given for column in symbol.columns) else ""
    sure = "given" if symbol.given else f"{percent(symbol.certainty)}{part}"
    return f"{symbol.name}{joint}{symbol.shown} ({sure})"


def _blame_lines(blame: Contradiction, row: Explanation) -> list[str]:
    read = [_blamed(part, _columns(row, part)) for part in blame.inputs]
    facts = [_blamed(part, _columns(row, part)) for part in blame.given]
    goals = [_blamed(part, row.wanted or {}) for part in blame.wanted]
    doubt = [] if blame.minimal else ["(there was no time to show that all of these are needed)"]
    given = f"the given {_listed(facts, ' and ')}" if facts else ""
    wanted = f"the wanted {_listed(goals, ' and ')}" if goals else ""
    sides = [part for part in (_listed(read, " and "), given) if part]
    first, *rest = [part for part in (*sides, wanted) if part] or [""]
    who = f"{first} with {' and '.join(rest)}" if rest else first
    single = len(read or facts) <= 1
    if not blame.constraints and goals and sides:
        verb = "excludes" if single else "exclude"
        return [f"{' with '.join(sides)} {verb} {wanted}", *doubt]
    if not blame.constraints:
        parts = (*blame.inputs, *blame.given, *blame.wanted)
        alone = sum(len(part.columns) for part in parts) == 1
        return [f"{who} cannot be" if alone else f"{who} exclude each other", *doubt]
    verb = "breaks" if single else "together break"
    labels = [f'"{part.name}"' if part.name else part.label for part in blame.constraints]
    if len(labels) == 1:
        return [f"{who} {verb} {labels[0]}", *doubt]
    lines = [f"- {label}" for label in labels[:_CONSTRAINTS]]
    if len(labels) > _CONSTRAINTS:
        lines.append(f"- and {counted(len(labels) - _CONSTRAINTS, 'more constraint')}")
    return [f"{who} {verb}:", *lines, *doubt]


def _columns(row: Explanation, part: BlamedSymbol) -> dict[str, Any]:
    symbol = next(symbol for symbol in row.read if symbol.name == part.name)
    return {column.name: column.value for column in symbol.columns if column.value is not None}


def _blamed(part: BlamedSymbol, columns: Mapping[str, Any]) -> str:
    """A symbol with its value and, if only some of its columns take part, their values."""
    value = f"{part.name} = {part.value}"
    if part.value is not None and len(part.columns) == len(columns):
        return value
    parts = _column_texts(part, {name: columns[name] for name in part.columns if name in columns})
    if part.value is None:
        return " and ".join(parts)
    return value if value in parts or not parts else f"{value} ({', '.join(parts)})"


def _column_texts(part: BlamedSymbol, columns: Mapping[str, bool]) -> list[str]:
    """The values of some columns of a symbol: `a[3] = 1`, `a = 5`, `a not 5, 6`."""
    if part.kind != "one-hot":
        bits = part.kind == "bits"
        return [f"{name} = {int(value) if bits else value}" for name, value in columns.items()]
    values = {name.removeprefix(f"{part.name}="): value for name, value in columns.items()}
    true = [f"{part.name} = {text}" for text, value in values.items() if value]
    false = [text for text, value in values.items() if not value]
    return [*true, f"{part.name} not {_listed(false)}"] if false else true


def _change(overruled: Overruled, row: Explanation) -> str:
    read = overruled.read
    if read is None:
        read = next(symbol.shown for symbol in row.read if symbol.name == overruled.name)
    return f"{overruled.name}: {overruled.taken} instead of {read} (cost {number(overruled.cost)})"


def _runner_up(row: Explanation) -> str:
    rival = row.runner_up
    if rival is None:
        none = row.runner_up_status == "impossible"
        return "none: no other answer is possible" if none else "none found in time"
    before = row.answer or {}
    other = {name: value for name, value in rival.answer.items() if value != before.get(name)}
    least = "" if rival.proved else ", the least found in time"
    changes = _listed([_change(part, row) for part in rival.overruled])
    what = f"{_listed(_equations(other))}{_chance(rival.probability)}"
    text = f"{what} at a cost of {number(rival.cost)}{least}"
    return f"{text}; {changes}" if changes else text


def _wanted_lines(row: Explanation, wanted: Mapping[str, Any], goal: str) -> list[str]:
    goal, blame = goal or _values(wanted), row.blame
    before = row.answer or {}
    other = {name: value for name, value in wanted.items() if value != before.get(name)}
    many = len(wanted) > _SYMBOLS + 1
    more = [f"other than the answer: {_listed(_equations(other))}"] if many and other else []
    if blame is not None and not blame.inputs:
        anyway = "with what is given" if blame.given else "whatever is read"
        return [f"{goal}: impossible, {anyway}", *more, *_blame_lines(blame, row)]
    if blame is not None and before and not other:
        why = [] if blame == row.conflict else ["by itself the reading rules it out:"]
        return [f"{goal}: the answer", *why, *(_blame_lines(blame, row) if why else [])]
    if blame is not None:
        return [f"{goal}: ruled out", *more, *_blame_lines(blame, row)]
    if row.allows is None:
        return [f"{goal}: not known whether the reading allows it", *more]
    if before and not other:
        return [f"{goal}: the answer"]
    return [f"{goal}: possible with this reading", *more]


def _values(values: Mapping[str, Any]) -> str:
    """All values if they are few, else their number and the first ones."""
    equations = _equations(values)
    if len(equations) <= _SYMBOLS + 1:
        return ", ".join(map(shortened, equations))
    return f"{len(equations)} values ({', '.join(map(shortened, equations[:_LEAST]))}, ...)"


def _equations(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {value}" for name, value in values.items()]


def _listed(parts: Sequence[str], joint: str = ", ") -> str:
    """The parts separated by commas, of many only the first; `joint` is before the last."""
    shown = [shortened(part) for part in parts]
    if len(parts) > _SYMBOLS + 1:
        shown, joint = [*shown[:_SYMBOLS], f"{len(parts) - _SYMBOLS} more"], " and "
    return joint.join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def _chance(probability: float | None) -> str:
    return "" if probability is None else f" ({percent(probability)})"


def percent(probability: float) -> str:
    """A probability as text."""
    if probability > 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if probability < 0.001 else f"{100 * probability:.1f} %"


def number(cost: float) -> str:
    """A cost as text."""
    return "0" if cost < 1e-99 else f"{cost:.2f}" if cost >= 0.01 else f"{cost:.1e}"
