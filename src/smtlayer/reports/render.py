"""This file shows tables of text: in a terminal, in Markdown, LaTeX and HTML."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from smtlayer.reports.layout import DASH, QUOTED, TIMES, Cell, Column, TextTable

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# What a cell holds that LaTeX would read as its own.
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", DASH: "--", QUOTED: r"$^\dagger$", TIMES: r"$\times$",
})  # fmt: skip
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1e293b; margin: 2rem auto; padding: 0 1rem;
       max-width: 76rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 1.15rem; padding: 1.5rem 0 .5rem; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; }
thead th { vertical-align: bottom; font-weight: 500; color: #475569; white-space: normal; }
thead th.group { text-align: center; border-bottom: 1px solid #94a3b8; }
th:first-child, td:first-child { text-align: left; }
tbody tr { border-top: 1px solid #e2e8f0; }
tbody tr:hover { background: #f1f5f9; }
.best { font-weight: 700; color: #15803d; }
.notes { font-size: .85rem; color: #475569; padding-left: 1.2rem; }
"""


def markdown(tables: Iterable[TextTable]) -> str:
    """Tables with a line above and their notes below."""
    return "\n\n".join(_markdown(table) for table in tables)


def _markdown(table: TextTable) -> str:
    heads = [column.title for column in table.columns]
    rules = ["---", *["---:"] * (len(heads) - 1)]
    rows = [[_bold(cell, "**{}**") for cell in row] for row in table.rows]
    lines = ["| " + " | ".join(cells) + " |" for cells in ([table.title, *heads[1:]], rules, *rows)]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)])


def latex(tables: Iterable[TextTable]) -> str:
    """Tables for `\\usepackage{booktabs}`."""
    return "% needs \\usepackage{booktabs}\n" + "\n\n".join(_latex(table) for table in tables)


def _latex(table: TextTable) -> str:
    rows = [_latex_row(_bold(cell, r"\textbf{{{}}}", _tex) for cell in row) for row in table.rows]
    groups, rules, start = [], [], 1
    for name, width in _groups(table.columns):
        groups.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(name)}}}")
        if name:
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    lines = [
        r"\begin{table*}", r"\centering\small",
        rf"\caption{{{_tex(table.title)}. {_tex(' '.join(table.notes))}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}", r"\toprule",
        _latex_row(groups), "".join(rules),
        _latex_row(_tex(column.name) for column in table.columns), r"\midrule",
        *rows, r"\bottomrule", r"\end{tabular}", r"\end{table*}",
    ]  # fmt: skip
    return "\n".join(line for line in lines if line)


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def html(tables: Iterable[TextTable], title: str = "Results") -> str:
    """A page that needs nothing else."""
    body = "\n".join(_html(table) for table in tables)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _html(table: TextTable) -> str:
    groups = "".join(
        f'<th class="group" colspan="{width}">{escape(name)}</th>' if name
        else f'<th colspan="{width}"></th>'
        for name, width in _groups(table.columns)
    )  # fmt: skip
    heads = "".join(f"<th>{escape(column.name)}</th>" for column in table.columns)
    rows = "\n".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in table.rows)
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (
        f'<div class="wide">\n<table id="{escape(table.name)}">\n'
        f"<caption>{escape(table.title)}</caption>\n"
        f"<thead>\n<tr>{groups}</tr>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n"
        f'</table>\n</div>\n<ul class="notes">\n{notes}\n</ul>'
    )


def _html_cell(cell: Cell) -> str:
    mark = ' class="best"' if cell.best else ""
    return f"<td{mark}>{escape(cell.text)}</td>"


def terminal(table: TextTable, width: int) -> "RichTable":
    """For a rich console: the best of a row is bold, the notes stand below.

    Args:
        table: What to show.
        width: Characters of the console; where they are few, spare columns are left out.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
        caption=Text("\n".join(table.notes)), caption_justify="left",
    )  # fmt: skip
    narrow = terminal_width(table) > width
    kept = [i for i, column in enumerate(table.columns) if not (narrow and column.spare)]
    for i in kept:
        heading = Text("\n".join(_heading(table.columns[i])))
        if narrow:
            heading = Text(heading.plain.replace("conventional", "conv."))
        shown.add_column(
            heading, justify="right" if i else "left", vertical="bottom", overflow="fold"
        )
    for row in table.rows:
        shown.add_row(*(Text(row[i].text, "bold green" if row[i].best else "") for i in kept))
    return shown


def terminal_width(table: TextTable) -> int:
    """Characters that a terminal needs to show a table with no line broken."""
    widths = [
        max(len(text) for text in (*_heading(column), *(row[i].text for row in table.rows)))
        for i, column in enumerate(table.columns)
    ]
    return sum(width + 2 for width in widths) + 1


def _heading(column: Column) -> list[str]:
    return [part for part in (column.group, column.name) if part]


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Headings with the number of columns that they are above."""
    return [(name, len(list(part))) for name, part in groupby(columns, key=lambda c: c.group)]


def _tex(text: str) -> str:
    return text.translate(_LATEX)


def _markdown_text(text: str) -> str:
    return text.replace("|", r"\|")


def _bold(cell: Cell, mark: str, written: Callable[[str], str] = _markdown_text) -> str:
    text = written(cell.text)
    return mark.format(text) if cell.best else text
