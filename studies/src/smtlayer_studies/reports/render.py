"""Tables of results in a terminal, in Markdown, LaTeX and HTML."""

import re
from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING

from smtlayer_studies.reports.result_tables import DASH, QUOTED, TIMES, TextTable

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# Special characters of LaTeX.
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "≤": r"$\leq$", DASH: "--", QUOTED: r"$^\dagger$", TIMES: r"$\times$",
})  # fmt: skip
_EMPHASIS = re.compile(r"\*(.+?)\*")  # in notes
_WIDEST = 64  # characters of a text column in a terminal, before it is wrapped
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1e293b; margin: 2rem auto; padding: 0 1rem;
       max-width: 76rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: 1.15rem; padding: 1.5rem 0 .5rem; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; }
thead th { vertical-align: bottom; font-weight: 500; color: #475569; }
th.text, td.text { text-align: left; }
td.text:last-child { white-space: normal; color: #475569; }
tbody tr.first { border-top: 1px solid #94a3b8; }
tbody tr:hover { background: #f1f5f9; }
.notes { font-size: .85rem; color: #475569; padding-left: 1.2rem; }
"""


def markdown(tables: Iterable[TextTable]) -> str:
    """Tables with their notes below."""
    return "\n\n".join(_markdown(table) for table in tables)


def _markdown(table: TextTable) -> str:
    rules = ["---" if column.is_text else "---:" for column in table.columns]
    rows = [[cell.replace("|", r"\|") for cell in row] for row in table.rows]
    heads = [column.title for column in table.columns]
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, rules, *rows)]
    return "\n".join([*lines, *([""] if table.notes else []), *(f"- {n}" for n in table.notes)])


def latex(tables: Iterable[TextTable]) -> str:
    """Tables for `\\usepackage{booktabs}`."""
    return "% needs \\usepackage{booktabs}\n" + "\n\n".join(_latex(table) for table in tables)


def _latex(table: TextTable) -> str:
    kinds = "".join("l" if column.is_text else "r" for column in table.columns)
    notes = _marked(" ".join(table.notes), r"\emph{{{}}}", _tex)
    lines = [
        r"\begin{table*}", r"\centering\small",
        rf"\caption{{{_tex(table.title)}. {notes}}}",
        rf"\begin{{tabular}}{{{kinds}}}", r"\toprule",
        _latex_row(column.title for column in table.columns), r"\midrule",
        *map(_latex_row, table.rows), r"\bottomrule", r"\end{tabular}", r"\end{table*}",
    ]  # fmt: skip
    return "\n".join(lines)


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(_tex, cells)) + r" \\"


def html(tables: Iterable[TextTable], title: str = "Results") -> str:
    """A self-contained page."""
    body = "\n".join(_html(table) for table in tables)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _html(table: TextTable) -> str:
    marks = [' class="text"' if column.is_text else "" for column in table.columns]

    def cells(tag: str, texts: Iterable[str]) -> str:
        pairs = zip(marks, texts, strict=True)
        return "".join(f"<{tag}{mark}>{escape(text)}</{tag}>" for mark, text in pairs)

    heads = cells("th", (column.title for column in table.columns))
    first = {True: ' class="first"', False: ""}  # of an experiment
    rows = "\n".join(f"<tr{first[bool(r[0])]}>{cells('td', r)}</tr>" for r in table.rows)
    notes = "\n".join(f"<li>{_marked(note, '<em>{}</em>', escape)}</li>" for note in table.notes)
    return (
        f'<div class="wide">\n<table id="{escape(table.name)}">\n'
        f"<caption>{escape(table.title)}</caption>\n"
        f"<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n"
        f'</table>\n</div>\n<ul class="notes">\n{notes}\n</ul>'
    )


def terminal(table: TextTable, width: int) -> "RichTable":
    """A table for a rich console, with a line between experiments and the notes below.

    Args:
        table: The table.
        width: Characters of the console; if they are few, the last column is wrapped.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    notes = "\n".join(_marked(note, "{}", str) for note in table.notes)
    shown = RichTable(
        title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
        caption=Text(notes), caption_justify="left", width=min(width, terminal_width(table)),
    )  # fmt: skip
    last = len(table.columns) - 1
    for i, column in enumerate(table.columns):
        shown.add_column(
            column.title, justify="left" if column.is_text else "right",
            no_wrap=i != last, overflow="fold",
        )  # fmt: skip
    for row, after in zip(table.rows, (*table.rows[1:], ("",)), strict=True):
        shown.add_row(*map(Text, row), end_section=bool(after[0]))
    return shown


def terminal_width(table: TextTable) -> int:
    """Width at which no cell of a table is wrapped."""
    widths = [
        min(_WIDEST, max(len(text) for text in (column.title, *(row[i] for row in table.rows))))
        for i, column in enumerate(table.columns)
    ]
    return sum(width + 2 for width in widths) + 1


def _marked(text: str, mark: str, written: Callable[[str], str]) -> str:
    """A note with markup for its emphasised words."""
    parts = _EMPHASIS.split(text)  # plain, emphasised, plain, ...
    return "".join(mark.format(written(p)) if i % 2 else written(p) for i, p in enumerate(parts))


def _tex(text: str) -> str:
    return text.translate(_LATEX)
