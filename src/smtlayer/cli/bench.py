"""This file holds `smtlayer bench`: ratios measured side by side in one run."""

import json
from dataclasses import asdict

import torch
import typer
from rich.console import Console
from rich.table import Table as RichTable

from smtlayer.bench import Ratio, layer_against_z3, step_against_dense
from smtlayer.training.options import check_device


def bench(
    as_json: bool = typer.Option(False, "--json", help="One JSON object a line, for machines."),
    device: str | None = typer.Option(
        None, help="Device of the training step [default: cuda if there is one, else cpu]."
    ),
    repeats: int = typer.Option(10, help="How often each side is timed.", min=1),
) -> None:
    """Time the layer against z3 asked row by row, and a training step against a dense head."""
    if device:
        check_device(device)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    console = Console(stderr=True)
    with console.status("timing the layer against z3"):
        ratios = [layer_against_z3(repeats=repeats)]
    with console.status(f"timing training steps on {where}"):
        ratios.append(
            step_against_dense(where, repeats=repeats * 20 if "cuda" in where else repeats)
        )
    if as_json:
        for ratio in ratios:
            typer.echo(json.dumps(asdict(ratio) | {"met": ratio.met}))
    else:
        Console().print(_table(ratios))


def _table(ratios: list[Ratio]) -> RichTable:
    table = RichTable(title="Medians, both sides timed in turn", title_justify="left")
    for heading in ("what", "ours", "baseline", "ratio", "bar"):
        table.add_column(heading, justify="right" if heading in ("ratio", "bar") else "left")
    for r in ratios:
        kind = "faster" if r.faster else "the time"
        sign = "at least" if r.faster else "at most"
        table.add_row(
            f"{r.name}\n({r.device})",
            f"{r.ours}\n{r.ours_ms:.2f} ms",
            f"{r.baseline}\n{r.baseline_ms:.2f} ms",
            f"{r.ratio:.3g} x {kind}",
            f"{sign} {r.bar:g}\n{'met' if r.met else 'MISSED'}",
        )
    return table
