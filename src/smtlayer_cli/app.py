"""The commands of smtlayer."""

import os

import typer

from smtlayer_cli.errors import exit_code_of, quiet_ctrl_c
from smtlayer_cli.help import PluginGroup

app = typer.Typer(
    name="smtlayer",
    cls=PluginGroup,
    help="Neural networks that obey a formula.\n\nWrite down what you know as an SMT formula, and "
    "put it on top of a network as a PyTorch layer. These commands train the worked examples, try "
    "your own theories, and show the results.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"smtlayer {version('smtlayer')}")
        raise typer.Exit


def _show_traces(wanted: bool) -> None:
    if wanted:
        os.environ["SMTLAYER_DEBUG"] = "1"  # also for the processes that a command starts


@app.callback()
def _options(
    ctx: typer.Context,
    debug: bool = typer.Option(
        False, "--debug", callback=_show_traces, is_eager=True,
        help="Show the traceback of an error, not only its message.",
    ),
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:  # fmt: skip
    """Options before a command."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run() -> int:
    """Runs the command line and returns its exit code."""
    quiet_ctrl_c()
    return exit_code_of(lambda: app(prog_name="smtlayer", standalone_mode=False))
