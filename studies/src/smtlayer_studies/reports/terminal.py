"""Reports on examples in a terminal: picture, symbols, answer and explanation."""

from typing import TYPE_CHECKING

from smtlayer.explain.text import percent, verdict
from smtlayer_studies.reports.example_report import ExampleReport, Outcome
from smtlayer_studies.tasks.examples import listed

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

_STYLES: dict[Outcome, str] = {"right": "green", "corrected": "yellow", "failed": "red"}


def example_text(one: ExampleReport, title: str, width: int) -> "Group":
    """A report on an example, for a rich console.

    Args:
        one: The report.
        title: The title of the run.
        width: Characters per line.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    head = Text(f"{title}, {one.split} example {one.number}: ", "bold")
    parts = [head.append(one.outcome, _STYLES[one.outcome]), Text()]
    if drawn := one.view.terminal(one.examples, 0, width - 2):
        parts.append(Padding(drawn, (0, 0, 1, 2)))  # type: ignore[arg-type]
    if table := _symbols(one):
        parts.append(Padding(table, (0, 0, 1, 1)))  # type: ignore[arg-type]
    parts += [_answer(one), Text(), Text(verdict(one.explanation))]
    parts.append(Padding(_statements(one), (0, 0, 1, 2)))  # type: ignore[arg-type]
    return Group(*parts)


def _symbols(one: ExampleReport) -> "Table | None":
    """One line per symbol: the value that was read, that the solver used, and that is true."""
    from rich.table import Table
    from rich.text import Text

    every = one.symbols
    shown = listed(every)
    table = Table(box=None, padding=(0, 2, 0, 1), header_style="dim")
    for heading in ("symbol", "read", "certainty", "solver", "truth", ""):
        table.add_column(heading, justify="left" if heading in ("symbol", "") else "right")
    for reading in shown:
        table.add_row(
            reading.name, "?" if reading.read is None else str(reading.read),
            percent(reading.certainty),
            Text("-" if reading.taken is None else str(reading.taken),
                 "yellow" if reading.overruled else ""),
            str(reading.truth),
            Text("wrong", "red") if reading.wrong else "corrected" if reading.overruled else "",
        )  # fmt: skip
    if len(every) > len(shown):
        table.caption = f"and {len(every) - len(shown)} others, read right"
        table.caption_justify = "left"
    return table if shown else None


def _answer(one: ExampleReport) -> "Text":
    from rich.text import Text

    found, truth = one.answers
    right = one.outcome != "failed"
    text = Text("  answer  ").append(found, "bold green" if right else "bold red")
    return text if right or not truth else text.append(f"   truth  {truth}")


def _statements(one: ExampleReport) -> "Table":
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for heading, lines in one.statements:
        grid.add_row(heading, Text("\n".join(lines)))
    return grid
