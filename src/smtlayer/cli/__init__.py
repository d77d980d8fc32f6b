"""The command line: one line a command."""

import sys

import typer

from smtlayer import __version__
from smtlayer.cli.bench import bench
from smtlayer.cli.cache import cache
from smtlayer.cli.data import data
from smtlayer.cli.lab import lab
from smtlayer.cli.reproduce import reproduce_app
from smtlayer.cli.train import train
from smtlayer.errors import SMTLayerError

app = typer.Typer(
    name="smtlayer",
    help="Neural networks that obey a formula.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train)
app.add_typer(reproduce_app, name="reproduce")
app.command()(bench)
app.command()(cache)
app.command()(data)
app.command()(lab)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"smtlayer {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Options before a command."""


def run() -> None:
    """The command line; an error of the library is one line and exit code 1."""
    try:
        app()
    except SMTLayerError as error:
        sys.exit(f"smtlayer: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
