"""The options of `smtlayer bench`."""

from enum import StrEnum
from pathlib import Path

import typer

from smtlayer_cli.complete import devices
from smtlayer_cli.errors import ExitCode


class Part(StrEnum):
    """The parts of the benchmarks."""

    LAYER = "layer"
    STEP = "step"
    LIKELIHOOD = "likelihood"
    SUDOKU = "sudoku"
    WORKERS = "workers"
    LATENCY = "latency"
    STARTUP = "startup"
    CIRCUITS = "circuits"
    SCALING = "scaling"


def bench(
    parts: list[Part] | None = typer.Argument(
        None, metavar="PART",
        help="layer, step, likelihood, sudoku, workers, latency, startup, circuits or "
        "scaling [default: all, a few minutes].",
    ),
    as_json: bool = typer.Option(
        False, "--json", help="Print one JSON object per line, with commit, date and machine."
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit code 4 if a bar is missed."),
    device: str | None = typer.Option(
        None, metavar="NAME", autocompletion=devices,
        help="Device of the training steps [default: cuda if there is one, else cpu].",
    ),
    repeats: int = typer.Option(10, metavar="N", help="How often each side is timed.", min=1),
    repairs: int = typer.Option(
        5, metavar="N", min=1,
        help="Sudoku boards that z3's Optimize repairs, at a second or more each.",
    ),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Draw the scaling to this file."),
) -> None:  # fmt: skip
    """Time the layer, training steps, Sudoku, workers, single rows, start-up, compilation, scaling.

    Both sides of a ratio are timed in turn in one run. The machine should be otherwise idle.

    Examples:

    \b
        smtlayer bench
        smtlayer bench layer sudoku --json
        smtlayer bench step --device cuda --strict
    """
    from smtlayer_benchmarks.suite import run_suite

    met = run_suite(
        parts or list(Part), device=device, repeats=repeats, repairs=repairs, plot=plot,
        as_json=as_json,
    )  # fmt: skip
    if strict and not met:
        raise typer.Exit(ExitCode.UNMET)
