"""The command `smtlayer bench`: ratios measured side by side in one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable

from smtlayer.errors import ConfigError
from smtlayer_cli.complete import devices
from smtlayer_cli.errors import ExitCode
from smtlayer_cli.later import Later
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    import torch

    from smtlayer import provenance, pyplot
    from smtlayer_benchmarks import (
        encodings,
        scaling,
        scaling_plot,
        speed,
        startup,
        sudoku,
        timing,
        workers,
    )
    from smtlayer_studies.runs import options
else:
    torch, scaling_plot = Later("torch"), Later("smtlayer_benchmarks.scaling_plot")
    speed, sudoku = Later("smtlayer_benchmarks.speed"), Later("smtlayer_benchmarks.sudoku")
    encodings, workers = (
        Later("smtlayer_benchmarks.encodings"),
        Later("smtlayer_benchmarks.workers"),
    )
    scaling, startup = Later("smtlayer_benchmarks.scaling"), Later("smtlayer_benchmarks.startup")
    options, pyplot = Later("smtlayer_studies.runs.options"), Later("smtlayer.pyplot")
    provenance = Later("smtlayer.provenance")


class Part(StrEnum):
    """What can be timed."""

    LAYER = "layer"
    STEP = "step"
    SUDOKU = "sudoku"
    WORKERS = "workers"
    STARTUP = "startup"
    SCALING = "scaling"


def bench(
    parts: list[Part] | None = typer.Argument(
        None, metavar="PART",
        help="layer, step, sudoku, workers, startup or scaling [default: all, a few minutes].",
    ),
    as_json: bool = typer.Option(
        False, "--json", help="One JSON object per line, with commit, date and machine."
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit code 4 if a bar is missed."),
    device: str | None = typer.Option(
        None, metavar="NAME", autocompletion=devices,
        help="Device of the training step [default: cuda if there is one, else cpu].",
    ),
    repeats: int = typer.Option(10, metavar="N", help="How often each side is timed.", min=1),
    repairs: int = typer.Option(
        5, metavar="N", min=1,
        help="Sudoku boards that z3's Optimize repairs, a second or more each.",
    ),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Draw the scaling to this file."),
) -> None:  # fmt: skip
    """Time the layer, a training step, Sudoku, workers, start-up, and how all scales with size.

    Both sides of a ratio are timed in turn in one run: leave the machine alone meanwhile.

    Examples:

        smtlayer bench
        smtlayer bench layer sudoku --json
        smtlayer bench step --device cuda --strict
    """
    if device:
        options.check_device(device)
    wanted = set(parts or Part)
    if plot is not None:
        _check_plot(plot, wanted)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    console = Console(stderr=True)
    ratios: list[timing.Ratio] = []
    for part, doing, measure in _measures(where, repeats, repairs):
        if part in wanted:
            with Waiting(doing, console):
                ratios += measure()
    origin = provenance.here(where) if as_json else None
    _show([asdict(r) | {"met": r.met} for r in ratios], _table(ratios), origin)
    starts: list[startup.Start] = []
    if Part.STARTUP in wanted:
        with Waiting("timing the start of every task's layer", console):
            starts = startup.startup()
        _show([asdict(s) | {"met": s.met} for s in starts], _starts(starts), origin)
    if Part.SCALING in wanted:
        found = list(_scaling(console))
        _show([asdict(cost) for cost in found], _costs(found), origin)
        if plot is not None:
            console.print(
                f"plot  {scaling_plot.draw_scaling(found, plot)}", highlight=False, soft_wrap=True
            )
    if strict and not all([one.met for one in ratios] + [one.met for one in starts]):
        raise typer.Exit(ExitCode.UNMET)


def _check_plot(plot: Path, wanted: set[Part]) -> None:
    if Part.SCALING not in wanted:
        named = " ".join(part for part in Part if part in wanted)
        raise ConfigError(
            f"--plot draws the scaling, which is not among the parts. Add it: smtlayer bench "
            f"{named} scaling --plot {plot}."
        )
    pyplot.check_picture(plot, "--plot")
    pyplot.pyplot()


def _measures(
    where: str, repeats: int, repairs: int
) -> list[tuple[Part, str, Callable[[], list[timing.Ratio]]]]:
    steps = repeats * 20 if "cuda" in where else repeats
    return [
        (Part.LAYER, "timing the layer against z3",
         lambda: [speed.layer_against_z3(repeats=repeats)]),
        (Part.STEP, f"timing training steps on {where}",
         lambda: [speed.step_against_dense(where, repeats=steps)]),
        (Part.SUDOKU, "timing Sudoku against z3", lambda: sudoku.sudoku_ratios(repairs=repairs)),
        (Part.SUDOKU, "timing encodings of Sudoku", encodings.values_against_bits),
        (Part.WORKERS, "timing two workers against one",
         lambda: [workers.two_workers_over_one(repeats=max(3, repeats // 2))]),
    ]  # fmt: skip


def _scaling(console: Console) -> Iterator[scaling.Cost]:
    with Waiting("timing theories as they grow", console) as waiting:
        for make in scaling.problems():
            problem = make()
            waiting.say(f"timing {problem.family}, {problem.title}")
            yield from scaling.costs(problem)


def _show(
    found: list[dict[str, Any]], table: RenderableType, origin: dict[str, Any] | None
) -> None:
    """For people; or for machines, if there is something to say where the figures are from."""
    if origin is not None:
        for one in found:
            typer.echo(json.dumps(one | origin))
    elif found:
        Console().print(table)


def _table(ratios: list[timing.Ratio]) -> RichTable:
    table = RichTable(title="Medians, both sides timed in turn", title_justify="left")
    for heading in ("what", "ours", "baseline", "ratio", "bar"):
        table.add_column(heading, justify="right" if heading in ("ratio", "bar") else "left")
    for r in ratios:
        kind = "faster" if r.faster else "the time"
        sign = "at least" if r.faster else "at most"
        note = f"\n[dim]{r.note}[/dim]" if r.note else ""
        table.add_row(
            f"{r.name}\n({r.device})",
            f"{r.ours}\n{r.ours_ms:.2f} ms{note}",
            f"{r.baseline}\n{r.baseline_ms:.2f} ms",
            f"{r.ratio:.3g} x {kind}",
            f"{sign} {r.bar:g}\n{'met' if r.met else 'MISSED'}",
            end_section=True,
        )
    return table


def _starts(starts: list[startup.Start]) -> RichTable:
    table = RichTable(title="From theory to layer, seconds in a new process", title_justify="left")
    for heading in ("task", "answered by", "cold", "from the cache", "bars"):
        table.add_column(heading, justify="left" if heading in ("task", "answered by") else "right")
    for s in starts:
        bars = f"{startup.COLD_S:g} and {startup.CACHED_S:g}: {'met' if s.met else 'MISSED'}"
        table.add_row(s.task, s.backend, f"{s.cold_s:.3f}", f"{s.cached_s:.3f}", bars)
    return table


def _costs(found: list[scaling.Cost]) -> Group:
    """A table for each question, so that they fit a terminal."""
    cells = {(c.family, c.size, c.question, c.backend): c for c in found}
    backends = list(dict.fromkeys(cost.backend for cost in found))
    tables = []
    for question in scaling.QUESTIONS:
        table = RichTable(title=f"{question}, milliseconds per row", title_justify="left")
        table.add_column("theory", no_wrap=True)
        for heading in ("columns", *backends):
            table.add_column(heading, justify="right")
        for family, size in dict.fromkeys((c.family, c.size) for c in found):
            row = [cells[family, size, question, backend] for backend in backends]
            name, columns = f"{family}, {row[0].title}", str(row[0].columns)
            table.add_row(name, columns, *map(_cell, row))
        tables.append(table)
    return Group(*tables, "-: the backend cannot; *: gave up on rows")


def _cell(cost: scaling.Cost) -> str:
    if cost.ms is None:
        return "-"
    return f"{cost.ms:.3g}" + ("*" if cost.note else "")
