"""Explanations as HTML for notebooks, with inline style and escaped text."""

from collections.abc import Sequence
from html import escape

from smtlayer.explain.result import Explanation
from smtlayer.explain.text import ROWS, left_out, statements, verdict

# Colours that are legible on white and on black; text has the colour of the notebook.
_COLOUR = {"fits": "#2e9e5b", "repaired": "#d08700", "contradicts": "#d64545", "unknown": "#8a8f98"}
_BOX = "border-left:4px solid {};padding:2px 0 2px 12px;margin:6px 0;line-height:1.45"
_TABLE = "border-collapse:collapse;border:none;margin:2px 0;font:inherit;color:inherit"
_CELL = "vertical-align:top;text-align:left;padding:1px 14px 1px 0;font-weight:normal;border:none"
_HEADING = f"{_CELL};opacity:.65;white-space:nowrap"


def explanation_html(row: Explanation, title: str = "") -> str:
    """One explanation as a box with a coloured edge."""
    lines = "".join(
        f'<tr style="background:none"><th style="{_HEADING}">{escape(heading)}</th>'
        f'<td style="{_CELL}">{"<br>".join(map(escape, parts))}</td></tr>'
        for heading, parts in statements(row)
    )
    return (
        f'<div style="{_BOX.format(_COLOUR[row.status])}"><b>{escape(title + verdict(row))}</b>'
        f'<table style="{_TABLE}">{lines}</table></div>'
    )


def explanations_html(rows: Sequence[Explanation]) -> str:
    """The explanations of a batch one below the other; of a large batch only the first."""
    if not rows:
        return "<div>No rows to explain.</div>"
    if len(rows) == 1:
        return explanation_html(rows[0])
    boxes = [explanation_html(row, f"Row {i}. ") for i, row in enumerate(rows[:ROWS])]
    return "".join([*boxes, *(f"<div>{escape(line)}</div>" for line in left_out(rows))])
