"""Runs the benchmarks and prints their tables."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable

from smtlayer.errors import ConfigError
from smtlayer_benchmarks import (
    circuits,
    encodings,
    latency,
    likelihood,
    scaling,
    speed,
    startup,
    sudoku,
    timing,
    workers,
)
from smtlayer_benchmarks.command import Part
from smtlayer_benchmarks.scaling_plot import draw_scaling
from smtlayer_cli import provenance, pyplot
from smtlayer_cli.waiting import Waiting
from smtlayer_studies.runs.run_options import check_device


def run_suite(
    parts: Collection[Part],
    *,
    device: str | None,
    repeats: int,
    repairs: int,
    plot: Path | None,
    as_json: bool,
) -> bool:
    """Runs parts of the benchmarks, prints the results, and returns whether all bars are met."""
    if device:
        check_device(device)
    if plot is not None:
        _check_plot(plot, parts)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    console = Console(stderr=True)
    ratios: list[timing.Ratio] = []
    for part, doing, measure in _measures(where, repeats, repairs):
        if part in parts:
            with Waiting(doing, console):
                ratios += measure()
    origin = provenance.here(where) if as_json else None
    _show([asdict(r) | {"met": r.met} for r in ratios], _table(ratios), origin)
    rows: list[latency.Latency] = []
    if Part.LATENCY in parts:
        with Waiting("timing single rows", console):
            rows = list(latency.latencies(repeats))
        _show([asdict(r) | {"met": r.met} for r in rows], _latencies(rows), origin)
    starts: list[startup.Start] = []
    if Part.STARTUP in parts:
        with Waiting("timing the start of every task's layer", console):
            starts = startup.startup()
        _show([asdict(s) | {"met": s.met} for s in starts], _starts(starts), origin)
    compiled = _compile(console) if Part.CIRCUITS in parts else []
    _show([asdict(c) | {"met": c.met} for c in compiled], _compilations(compiled), origin)
    if Part.SCALING in parts:
        found = list(_scaling(console))
        _show([asdict(cost) for cost in found], _costs(found), origin)
        if plot is not None:
            drawn = draw_scaling(found, plot)
            console.print(f"plot  {drawn}", highlight=False, soft_wrap=True)
    met = [r.met for r in ratios] + [r.met for r in rows] + [s.met for s in starts]
    return all(met) and all(c.met for c in compiled)


def _check_plot(plot: Path, wanted: Collection[Part]) -> None:
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
        (Part.LIKELIHOOD, f"timing the exact likelihood on {where}",
         lambda: likelihood.likelihood_ratios(where, repeats=steps)),
        (Part.SUDOKU, "timing Sudoku against z3", lambda: sudoku.sudoku_ratios(repairs=repairs)),
        (Part.SUDOKU, "timing encodings of Sudoku", encodings.values_against_bits),
        (Part.WORKERS, "timing two workers against one",
         lambda: [workers.two_workers_over_one(repeats=max(3, repeats // 2))]),
    ]  # fmt: skip


def _compile(console: Console) -> list[circuits.Compilation]:
    missing = circuits.skipped()
    if missing:
        console.print(missing, highlight=False, soft_wrap=True)
    with Waiting("compiling theories to decision diagrams", console):
        return circuits.compilations()


def _scaling(console: Console) -> Iterator[scaling.Cost]:
    with Waiting("timing theories as they grow", console) as waiting:
        for make in scaling.problems():
            problem = make()
            waiting.update(f"timing {problem.family}, {problem.title}")
            yield from scaling.costs(problem)


def _show(
    found: list[dict[str, Any]], table: RenderableType, origin: dict[str, Any] | None
) -> None:
    """Prints the table, or JSON if an origin is given."""
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
    for heading in ("task", "backend", "cold", "from the cache", "bars"):
        table.add_column(heading, justify="left" if heading in ("task", "backend") else "right")
    for s in starts:
        bars = f"{startup.COLD_S:g} and {startup.CACHED_S:g}: {'met' if s.met else 'MISSED'}"
        table.add_row(s.task, s.backend, f"{s.cold_s:.3f}", f"{s.cached_s:.3f}", bars)
    return table


def _latencies(found: list[latency.Latency]) -> RichTable:
    table = RichTable(title="One row without gradient, on the CPU", title_justify="left")
    for heading in ("theory", "backend", "row", "ms", f"at most {latency.LATENCY_MS:g}"):
        table.add_column(heading, justify="right" if heading == "ms" else "left")
    for one in found:
        met = "met" if one.met else "MISSED"
        table.add_row(one.theory, one.backend, one.row, f"{one.latency_ms:.3f}", met)
    return table


def _compilations(found: list[circuits.Compilation]) -> RichTable:
    table = RichTable(title="Circuit, seconds in a new process", title_justify="left")
    for heading in ("theory", "diagram", "define", "compile", "cached"):
        table.add_column(heading, justify="left" if heading == "theory" else "right")
    for one in found:
        name, columns, models, nodes, arcs, levels, define, compile_s, cached = one.cells
        table.add_row(
            f"{name}\n[dim]{columns} columns, {models} models[/dim]",
            f"{nodes} nodes\n{arcs} arcs\n{levels} levels",
            define,
            f"{compile_s}\nat most {circuits.COMPILE_S:g}\n{'met' if one.met else 'MISSED'}",
            cached,
            end_section=True,
        )
    return table


def _costs(found: list[scaling.Cost]) -> Group:
    """One table per query, so that they fit a terminal."""
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
