"""This file draws help as a page: what a command does, what can be said to it, examples.

A page has no boxes, so that it reads the same in a narrow terminal, without colours and in a pipe.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from typer.core import TyperCommand, TyperGroup

_WIDEST = 100  # columns; longer lines are hard to read
_WIDEST_LEFT = 26
_EXAMPLES = "\n\nExamples:\n\n"  # begins the last part of a command's docstring
_TITLE, _SAID = "bold yellow", "bold cyan"

Line = list[tuple[str, str]]  # pieces of text, each with its style


class Section(NamedTuple):
    """A part of a page: things that can be said, each with what it means."""

    title: str
    rows: Sequence[tuple[str, str]]
    left: int = 0  # columns of the left side; 0 for meanings on lines of their own


class CommandPage(TyperCommand):
    """A command whose help is a page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the page."""
        print_page(self.get_usage(ctx), self.help or "", param_sections(self, ctx))


class GroupPage(TyperGroup):
    """A group of commands whose help is a page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the page."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, (command.help or "").split("\n\n")[0]) for name, command in found if command]
        sections = [*in_line([("Commands", rows)]), *param_sections(self, ctx)]
        print_page(self.get_usage(ctx), self.help or "", sections)


def param_sections(command: Any, ctx: Any) -> list[Section]:
    """Arguments, options, and then those options that have a panel of their own."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is None:
            continue
        said, meaning = record
        meaning = re.sub(r"x>=([\d.]+)", r"at least \1", meaning.replace("\\[", "["))
        if param.param_type_name == "argument":
            found["Arguments"].append((said.partition(" <")[0], meaning))
        else:
            panel = getattr(param, "rich_help_panel", None) or "Options"
            found.setdefault(panel, []).append((said, meaning))
    return in_line([(title, rows) for title, rows in found.items() if rows])


def in_line(parts: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> list[Section]:
    """Sections whose meanings all begin in the same column.

    Examples:
        >>> [part.left for part in in_line([("A", [("one", "1")]), ("B", [("eleven", "11")])])]
        [10, 10]
    """
    said = [len(said) for _, rows in parts for said, _ in rows]
    left = max((length for length in said if length <= _WIDEST_LEFT), default=0) + 4
    return [Section(title, rows, left) for title, rows in parts]


def print_page(usage: str, text: str, sections: Sequence[Section]) -> None:
    """Prints to stdout: how to call it, what it does, sections, and the examples of the text.

    In a text, paragraphs that are indented are kept as they are; others flow.
    """
    from rich.console import Console  # here, for completion needs none of it
    from rich.text import Text

    console = Console(highlight=False)
    for line in _page(usage, text, sections, min(console.width, _WIDEST)):
        console.print(Text.assemble(*line), soft_wrap=True)


def _page(usage: str, text: str, sections: Sequence[Section], width: int) -> Iterator[Line]:
    about, _, examples = text.partition(_EXAMPLES)
    yield [(usage, "bold")]
    for paragraph in about.split("\n\n") if about else ():
        yield [("", "")]
        kept = paragraph.startswith("  ")
        for line in paragraph.splitlines() if kept else _wrapped(paragraph, width):
            yield [(line, "")]
    for section in sections:
        yield [(f"\n{section.title}", _TITLE)]
        for said, meaning in section.rows:
            yield from _row(said, meaning, section.left or 6, width)
    if examples:
        yield [("\nExamples", _TITLE)]
        for line in textwrap.dedent(examples).splitlines():
            yield [(f"  {line}", "")]


def _row(said: str, meaning: str, indent: int, width: int) -> Iterator[Line]:
    lines = _wrapped(meaning, width - indent)
    if len(said) + 4 <= indent and lines:
        yield [(f"  {said}".ljust(indent), _SAID), (lines.pop(0), "")]
    else:
        yield [(f"  {said}", _SAID)]
    for line in lines:
        yield [(" " * indent + line, "")]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), max(width, 20), break_on_hyphens=False)
