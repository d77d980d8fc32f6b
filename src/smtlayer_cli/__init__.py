"""The command line: one line a command."""

import os

import typer

from smtlayer import __version__
from smtlayer_cli.errors import MEANINGS, end_quietly_at_ctrl_c, exit_code_of
from smtlayer_cli.help import Section, in_line
from smtlayer_cli.registry import Listed, ListedGroup

_START, _TRAIN, _LOOK, _KEEP = "Start here", "Train and measure", "Look", "Housekeeping"
# A module may import torch and the like at its top: it is loaded when its command is asked for.
# It should not, for then `smtlayer COMMAND --help` and completion wait for torch: see later.py.
COMMANDS = (
    Listed(
        "doctor", _START, "See what works here, what is missing, and what to do about it.",
        "smtlayer_cli.doctor",
    ),
    Listed(
        "demo", _START, "Serve a web page: draw digits, disturb Sudokus, paste theories.",
        "smtlayer_playground.command",
    ),
    Listed(
        "train", _TRAIN, "Train a row of the paper's table, with the layer and without it.",
        "smtlayer_studies.commands.train",
    ),
    Listed(
        "evaluate", _TRAIN, "Score a trained run again: other rows, rules or backend.",
        "smtlayer_studies.commands.evaluate",
    ),
    Listed(
        "lab", _TRAIN, "Find out which blame rule trains a theory, without a network.",
        "smtlayer_cli.lab",
    ),
    Listed(
        "reproduce", _TRAIN, "Train what is missing of the paper's table, and show it.",
        "smtlayer_studies.commands.reproduce",
    ),
    Listed(
        "bench", _TRAIN, "Time the layer against z3, and training with it against without.",
        "smtlayer_benchmarks.command",
    ),
    Listed(
        "inspect", _LOOK, "Show rows of a trained run, and explain what came of them.",
        "smtlayer_studies.commands.inspect",
    ),
    Listed(
        "report", _LOOK, "Write a web page on trained runs, which opens offline.",
        "smtlayer_studies.commands.report",
    ),
    Listed(
        "data", _KEEP, "Show which data are there, and fetch those that can be had.",
        "smtlayer_studies.commands.data",
    ),
    Listed(
        "cache", _KEEP, "Show the compiled theories kept on disk, or delete them.",
        "smtlayer_cli.cache",
    ),
)  # fmt: skip


class _Page(ListedGroup):
    listed = COMMANDS
    sections = (
        Section("Examples", (
            ("smtlayer train mnist-addition --data sample",
             "Learn to add from sums of equal digits alone, in minutes and without a download."),
            ("smtlayer evaluate runs/mnist-addition-10/best --inference smt",
             "Score that run again, without letting the solver overrule the network."),
            ("smtlayer lab my_theory.smt2 --inputs a,b --outputs total",
             "See in seconds whether a formula of yours can be learned from, and by which rule."),
        )),
        *in_line([("Environment", (
            ("SMTLAYER_DATA", "Folder of the data sets."),
            ("SMTLAYER_DOWNLOAD", "1 lets training fetch data that are missing."),
            ("SMTLAYER_CACHE", "Folder of compiled theories; off keeps none."),
            ("SMTLAYER_DEBUG", "1 is the same as --debug."),
            ("NO_COLOR", "1 for no colours."),
        ))]),
        *in_line([("Exit codes", [(str(int(code)), said) for code, said in MEANINGS.items()])]),
        *in_line([("More", (
            ("smtlayer COMMAND --help", "All that can be said to a command."),
            ("docs/ in the source", "Start with docs/how-to/command-line.md."),
        ))]),
    )  # fmt: skip


app = typer.Typer(
    name="smtlayer",
    cls=_Page,
    help="Neural networks that obey a formula.\n\nWrite down what you know as an SMT formula, and "
    "put it on top of a network as a PyTorch layer. These commands train the worked examples, try "
    "theories of yours, and show what came out.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"smtlayer {__version__}")
        raise typer.Exit


def _show_traces(wanted: bool) -> None:
    if wanted:
        os.environ["SMTLAYER_DEBUG"] = "1"  # also for the processes that a command starts


@app.callback()
def _options(
    ctx: typer.Context,
    debug: bool = typer.Option(
        False, "--debug", callback=_show_traces, is_eager=True,
        help="Show where an error comes from, not only what it is.",
    ),
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:  # fmt: skip
    """Options before a command."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), nl=False)


def run() -> int:
    """The command line; see `errors` for what it returns."""
    end_quietly_at_ctrl_c()
    return exit_code_of(lambda: app(prog_name="smtlayer", standalone_mode=False))
