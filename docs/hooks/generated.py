"""Inserts generated text into pages when the site is built.

`<!-- commands -->` is replaced by the help of the command line.
"""

import re

import typer
from typer.cli import get_docs_for_click

from smtlayer_cli.app import app


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Replaces the marks of a page."""
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", commands())
    return markdown


def commands() -> str:
    """The help of every command, each under a heading."""
    command = typer.main.get_command(app)
    command.commands = {name: found.imported() for name, found in command.commands.items()}
    context = typer.Context(command, info_name="smtlayer")
    text = get_docs_for_click(obj=command, ctx=context, name="smtlayer")
    text = text.partition("**Commands**")[2].partition("\n## ")[2]
    text = re.sub(r"^\* `--help`.*\n", "", f"## {text}", flags=re.MULTILINE)
    return (
        text.replace("\b\n", "")
        .replace("**Options**:\n\n\n", "")
        .replace("```console\n$ ", "```console\n")
    )
