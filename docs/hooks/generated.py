"""What others say is put into pages when the site is made, so that it never goes stale.

`<!-- commands -->` becomes the help of the command line; `<!-- results: A | B -->` becomes those
columns of the accuracies on the results page, which is made from records.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import typer
from mkdocs.exceptions import PluginError
from typer.cli import get_docs_for_click

from smtlayer.cli import app

_RESULTS = re.compile(r"<!-- results: (.*?) -->")
_TABLE = re.compile(r"<!-- table1 -->\n((?:\|.*\n)+)")


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Fills in the marks of a page."""
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", commands())
    for found in _RESULTS.finditer(markdown):
        source = (Path(config.docs_dir) / "explain" / "results.md").read_text(encoding="utf-8")
        wanted = [name.strip() for name in found[1].split("|")]
        markdown = markdown.replace(found[0], columns(source, wanted))
    return markdown


def commands() -> str:
    """The help of every command, a heading each."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="smtlayer")
    text = get_docs_for_click(obj=command, ctx=context, name="smtlayer")
    text = text.partition("**Commands**")[2].partition("\n## ")[2]
    text = re.sub(r"^\* `--help`.*\n", "", f"## {text}", flags=re.MULTILINE)
    return text.replace("**Options**:\n\n\n", "").replace("```console\n$ ", "```console\n")


def columns(page: str, names: Sequence[str]) -> str:
    """The first column and the named ones of the table of accuracies."""
    found = _TABLE.search(page)
    lines = [] if found is None else found[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    if not cells or not set(names) <= set(cells[0]):
        raise PluginError(f"The results page has no columns {', '.join(names)}.")
    kept = [0, *(cells[0].index(name) for name in names)]
    return "\n".join("| " + " | ".join(row[i] for i in kept) + " |" for row in cells)
