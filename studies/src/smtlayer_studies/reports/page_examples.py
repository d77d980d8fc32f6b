"""This file puts single rows into a page: their pictures, what came out, and why."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import isqrt

from torch import Tensor

from smtlayer.explain.text import Statement, percent, verdict
from smtlayer_studies.reports.example_report import ExampleReport, certainty
from smtlayer_studies.reports.html import Html, tag
from smtlayer_studies.reports.png import png_uri
from smtlayer_studies.reports.sentences import PARTS, written
from smtlayer_studies.tasks.examples import Reading

_LONG = 450  # characters of an explanation that is not shown at once


def card(one: ExampleReport, level: int) -> Html:
    """A row with its picture and its explanation.

    Args:
        one: What to show.
        level: Of its heading.
    """
    head = tag(
        "header",
        tag(f"h{level}", f"{one.split} row {one.number}"),
        tag("span", one.outcome, class_=f"badge {one.outcome}"),
    )
    return tag("article", head, _PICTURES[one.task](one), _answer(one), _why(one), class_="card")


def is_big(one: ExampleReport) -> bool:
    """Whether its card needs more room than most."""
    return one.task in ("visual-sudoku", "liars-puzzle")


def _answer(one: ExampleReport) -> Html:
    found, truth = one.answers
    beside = tag("small", f"truth: {truth}") if one.outcome == "failed" and truth else None
    return tag("p", found, beside, class_=f"answer {one.outcome}")


def _why(one: ExampleReport) -> Html:
    """The explanation; what is long of it opens on demand."""
    told = one.statements
    short = [part for part in told if part[0] == "overruled"]
    is_long = sum(len(" ".join(lines)) for _, lines in told) > _LONG
    shown, more = (short, [p for p in told if p not in short]) if is_long else (told, [])
    rest = tag("details", tag("summary", "Why"), _definitions(more)) if more else None
    return tag("div", tag("p", verdict(one.explanation)), _definitions(shown), rest, class_="why")


def _definitions(told: Sequence[Statement]) -> Html | None:
    parts = [
        part for heading, lines in told for part in (tag("dt", heading), tag("dd", *_lines(lines)))
    ]
    return tag("dl", *parts) if parts else None


def _lines(told: Sequence[str]) -> list[Html]:
    """Lines as they are; those that begin with a dash make a list."""
    parts: list[Html] = []
    for is_list, lines in groupby(told, key=lambda line: line.startswith("- ")):
        if is_list:
            parts.append(tag("ul", *(tag("li", line[2:]) for line in lines)))
        else:
            parts += [tag("div", line) for line in lines]
    return parts


def _images(one: ExampleReport) -> Html:
    """An image a symbol, or one for all of them, with the bits that were read below."""
    features, told = one.examples.batch.features[0], one.symbols
    if features.ndim == 3:
        return tag("div", *map(_digit, told, features), class_="digits")
    said = "The image of the row: " + ", ".join(f"{t.name} is {t.truth}" for t in told)
    strip = tag("img", src=png_uri(features), alt=said, class_="strip")
    return tag("div", strip, tag("div", *map(_digit, told), class_="digits"))


def _digit(told: Reading, image: Tensor | None = None) -> Html:
    picture = None
    if image is not None:
        said = f"The image of {told.name}, which is {told.truth}"
        picture = tag("img", src=png_uri(image), alt=said, width=28, height=28)
    truth = tag("div", f"truth {told.truth}", class_="wrong") if told.wrong else None
    return tag(
        "div", picture, _bits(told), tag("div", f"{told.name} = ", _value(told)), truth,
        tag("div", f"{percent(certainty(told))} sure", class_="note"), class_="digit",
    )  # fmt: skip


def _bits(told: Reading) -> Html:
    """A bar a bit, paler where the network was less certain."""
    bars = [
        tag("i", class_="over" if bit.overruled else "on" if bit.taken else None,
            style=f"opacity:{0.35 + 0.65 * bit.certainty:.2f}")
        for bit in told.bits
    ]  # fmt: skip
    return tag("div", *bars, class_="bits", aria_hidden="true")


def _value(told: Reading) -> Html:
    return tag("span", told.text, class_=_mark(told))


def _mark(told: Reading) -> str | None:
    return "wrong" if told.wrong else "changed" if told.overruled else None


def _sentences(one: ExampleReport) -> Html:
    """The sentences of a puzzle, and what was made of each."""
    told, lines = one.symbols, []
    for i, tokens in enumerate(one.examples.batch.features[0]):
        parts = told[i * len(PARTS) : (i + 1) * len(PARTS)]
        chips = tag("div", *map(_chip, parts), class_="chips")
        lines.append(tag("li", written(tokens), chips))
    return tag("ol", *lines, class_="said")


def _chip(told: Reading) -> Html:
    marks = [name for name, on in (("over", told.overruled), ("wrong", told.wrong)) if on]
    said = f"{told.name.partition('. ')[2]}: {told.text}, {percent(certainty(told))} certain"
    if told.wrong:
        said += f", truth: {told.truth}"
    return tag("span", told.text, class_=" ".join(["chip", *marks]), title=said)


def _board(one: ExampleReport) -> Html:
    """A Sudoku: images where there are hints, numbers that were filled in elsewhere."""
    found, wanted = one.boards
    hints = {told.name: told for told in one.symbols}
    size = isqrt(len(wanted))
    box, images = isqrt(size), one.examples.batch.features[0]
    cells = []
    for place, (name, image) in enumerate(zip(wanted, images, strict=True)):
        line, column = divmod(place, size)
        right = column % box == box - 1 and column < size - 1
        below = line % box == box - 1 and line < size - 1
        edges = [edge for edge, on in (("edge-r", right), ("edge-b", below)) if on]
        if name in hints:
            cells.append(_hint(hints[name], image, edges))
        else:
            cells.append(_filled(found[name], wanted[name], edges))
    overruled = sum(told.overruled for told in hints.values())
    said = f"A Sudoku board with {len(hints)} hints, {overruled} overruled: {one.answers[0]}"
    return tag("div", *cells, class_="board", role="img", aria_label=said, style=f"--n:{size}")


def _hint(told: Reading, image: Tensor, edges: Sequence[str]) -> Html:
    kind = ["bad"] if told.wrong else ["over"] if told.overruled else []
    said = tag("small", told.text.replace(" ", "")) if kind else None
    picture = tag("img", src=png_uri(image), alt="", width=28, height=28)
    return tag("div", picture, said, class_=" ".join([*kind, *edges]) or None)


def _filled(number: object, truth: object, edges: Sequence[str]) -> Html:
    wrong = number != truth
    kind = ["bad"] if wrong else []
    small = tag("small", str(truth)) if wrong else None
    shown = "" if number is None else str(number)
    return tag("div", shown, small, class_=" ".join([*kind, *edges]) or None)


_PICTURES: Mapping[str, Callable[[ExampleReport], Html]] = {
    "mnist-addition": _images,
    "visual-algebra": _images,
    "liars-puzzle": _sentences,
    "visual-sudoku": _board,
}
