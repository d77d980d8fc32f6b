"""The options of `smtlayer evaluate`."""

from typing import Literal

import typer

from smtlayer_cli.errors import ExitCode
from smtlayer_studies.commands.options import LAYER, Backend, DataDir, Device, RunFolders, Workers


def evaluate(
    runs: RunFolders,
    split: Literal["test", "validation"] | None = typer.Option(
        None, help="Which examples [default: those of the record]."
    ),
    rows: int | None = typer.Option(
        None, metavar="N", min=1, help="Number of examples [default: as in training]."
    ),
    inference: Literal["smt", "maxsmt"] | None = typer.Option(
        None, rich_help_panel=LAYER,
        help="Rule: contradictions count as wrong, or are repaired first.",
    ),
    backend: Backend = None,
    weights: Literal["logit", "softmax"] | None = typer.Option(
        None, rich_help_panel=LAYER, help="How repairs weigh the confidence of an input."
    ),
    workers: Workers = None,
    timeout_ms: int | None = typer.Option(
        None, metavar="MS", min=1, rich_help_panel=LAYER, help="Time limit for one example."
    ),
    device: Device = "cpu",
    data_dir: DataDir = None,
    tolerance: float | None = typer.Option(
        None, metavar="X", min=0.0,
        help="Exit code 4 if a score differs from the record's by more, as 0.001.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object per run."),
) -> None:  # fmt: skip
    """Score trained runs again, and show the scores beside those of their records.

    Without options this repeats the evaluation at the end of the training, and gives the same
    scores. Options show the effect of another rule, backend or set of examples. Nothing is written.

    Examples:

    \b
        smtlayer evaluate runs/demo
        smtlayer evaluate runs/demo/best --inference smt
        smtlayer evaluate runs/visual-sudoku-10/best --workers 2 --rows 200
        smtlayer evaluate runs/demo/best --tolerance 0.001 --json
    """
    from smtlayer_studies.commands.evaluation import Changes, evaluate_runs

    options = {"inference": inference, "backend": backend, "weights": weights, "workers": workers,
               "timeout_ms": timeout_ms}  # fmt: skip
    layer = {name: value for name, value in options.items() if value is not None}
    changes = Changes(split, rows, layer, device, data_dir)
    if not evaluate_runs(runs, changes, tolerance, as_json=as_json):
        raise typer.Exit(ExitCode.UNMET)
