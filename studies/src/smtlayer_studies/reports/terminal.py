"""This file shows an inspected row in a terminal: picture, symbols, answer, and why."""

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import TYPE_CHECKING

from torch import Tensor

from smtlayer.explain.text import percent, verdict
from smtlayer_studies.reports.blocks import side_by_side
from smtlayer_studies.reports.example_report import ExampleReport, Outcome, certainty
from smtlayer_studies.reports.sentences import written
from smtlayer_studies.tasks.examples import Reading

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

_STYLES: dict[Outcome, str] = {"right": "green", "corrected": "yellow", "failed": "red"}
_MOST_SYMBOLS = 12  # of more, only those that were overruled or came out wrong are listed


def example_text(one: ExampleReport, title: str, width: int) -> "Group":
    """For a rich console.

    Args:
        one: What to show.
        title: Of which run.
        width: Characters of a line.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    head = Text(f"{title}, {one.split} row {one.number}: ", "bold")
    parts = [head.append(one.outcome, _STYLES[one.outcome]), Text()]
    if drawn := _drawn(one, width - 2):
        parts.append(Padding(drawn, (0, 0, 1, 2)))  # type: ignore[arg-type]
    if table := _symbols(one):
        parts.append(Padding(table, (0, 0, 1, 1)))  # type: ignore[arg-type]
    if one.task == "visual-sudoku":
        parts.append(Padding(_board(one), (0, 0, 1, 2), expand=False))  # type: ignore[arg-type]
    parts += [_answer(one), Text(), Text(verdict(one.explanation))]
    parts.append(Padding(_statements(one), (0, 0, 1, 2)))  # type: ignore[arg-type]
    return Group(*parts)


def _drawn(one: ExampleReport, width: int) -> "Text | None":
    """Images as block characters; the sentences of a puzzle as they are."""
    from rich.text import Text

    features = one.examples.batch.features[0]
    if not features.is_floating_point():
        said = (f"{i + 1}. {written(tokens)}" for i, tokens in enumerate(features))
        return Text("\n".join(said))
    if features.ndim == 2:
        images = _pieces(features)
        captions = [""] * len(images)
    else:
        every = one.examples.readings(0)
        listed = {reading.name for reading in _listed(one.symbols)}
        shown = [i for i, reading in enumerate(every) if reading.name in listed]
        images, captions = features[shown], [f"{every[i].name} = {every[i].text}" for i in shown]
    if not len(images):
        return None
    return Text(side_by_side(images, captions, width), no_wrap=True, overflow="crop")


def _pieces(wide: Tensor) -> Tensor:
    """A wide image as squares, an image a symbol, so that lines can break between them."""
    height, width = wide.shape
    if width % height:
        return wide[None]
    return wide.reshape(height, -1, height).movedim(1, 0)  # (symbols, height, height)


def _listed(symbols: Sequence[Reading]) -> list[Reading]:
    few = len(symbols) <= _MOST_SYMBOLS
    return [reading for reading in symbols if few or reading.overruled or reading.wrong]


def _symbols(one: ExampleReport) -> "Table | None":
    """What was read, taken and true."""
    from rich.table import Table
    from rich.text import Text

    every = one.symbols
    listed = _listed(every)
    table = Table(box=None, padding=(0, 2, 0, 1), header_style="dim")
    for heading in ("symbol", "read", "certainty", "solver took", "truth", ""):
        table.add_column(heading, justify="left" if heading in ("symbol", "") else "right")
    for reading in listed:
        table.add_row(
            reading.name, "?" if reading.read is None else str(reading.read),
            percent(certainty(reading)),
            Text("-" if reading.taken is None else str(reading.taken),
                 "yellow" if reading.overruled else ""),
            str(reading.truth),
            Text("wrong", "red") if reading.wrong else "corrected" if reading.overruled else "",
        )  # fmt: skip
    if len(every) > len(listed):
        table.caption = f"and {len(every) - len(listed)} others, read right"
        table.caption_justify = "left"
    return table if listed else None


def _board(one: ExampleReport) -> "Text":
    """The board as it came out: hints bold, filled in cells plain, with the truth beside it."""
    from rich.text import Text

    found, wanted = one.boards
    symbols = {reading.name: reading for reading in one.symbols}
    size = isqrt(len(wanted))
    box, text = isqrt(size), Text()
    for line in range(size):
        cells = list(wanted)[line * size : (line + 1) * size]
        sides = (found, wanted) if one.outcome == "failed" else (found,)
        for side in sides:
            text.append("" if side is found else "      truth  " if line == 0 else " " * 13)
            for i, name in enumerate(cells):
                text.append("| " if i and i % box == 0 else "", "dim")
                text.append(f"{side[name] or '?'} ", _cell_style(name, side, wanted, symbols))
        text.append("\n" if line + 1 < size else "")
        if (line + 1) % box == 0 and line + 1 < size:
            text.append("\n")
    return text


def _cell_style(
    name: str, side: Mapping[str, int], truth: Mapping[str, int], hints: Mapping[str, Reading]
) -> str:
    hint = "bold" if name in hints else ""
    if side[name] != truth[name]:
        return f"{hint} red"
    overruled = name in hints and side is not truth and hints[name].overruled
    return f"{hint} yellow" if overruled else hint


def _answer(one: ExampleReport) -> "Text":
    from rich.text import Text

    found, truth = one.answers
    right = one.outcome != "failed"
    said = Text("  answer  ").append(found, "bold green" if right else "bold red")
    return said if right or not truth else said.append(f"   truth  {truth}")


def _statements(one: ExampleReport) -> "Table":
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for heading, lines in one.statements:
        grid.add_row(heading, Text("\n".join(lines)))
    return grid
