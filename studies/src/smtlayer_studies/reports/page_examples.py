"""This file puts single rows into a page: their pictures, what came out, and why."""

from collections.abc import Sequence
from itertools import groupby

from smtlayer.explain.text import Statement, verdict
from smtlayer_studies.reports.example_report import ExampleReport
from smtlayer_studies.reports.html import Html, tag

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
    return tag(
        "article",
        head,
        Html(one.view.html(one.examples, 0)),
        _answer(one),
        _why(one),
        class_="card",
    )


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
