"""The options of `smtlayer train`."""

from typing import Literal

import typer

from smtlayer_cli.complete import rules
from smtlayer_studies.commands.complete import experiments, methods
from smtlayer_studies.commands.options import FILES, LAYER, Backend, DataDir, Device, Workers
from smtlayer_studies.tasks.data_files import DigitSource
from smtlayer_studies.tasks.registry import default_task


def train(
    context: typer.Context,
    experiment: str = typer.Argument(
        default_task().experiment, metavar="EXPERIMENT", autocompletion=experiments,
        help="An experiment of the paper's table, or a TOML file.",
    ),
    method: list[str] = typer.Option(
        ["conventional", "best"], metavar="NAME", autocompletion=methods,
        help="A method of the experiment; may be given more than once.",
    ),
    epochs: int | None = typer.Option(None, metavar="N", help="Number of epochs.", min=1),
    seed: int = typer.Option(0, metavar="N", help="Seed of the network, the data and sampling."),
    backend: Backend = None,
    forward: Literal["smt", "maxsmt"] | None = typer.Option(
        None, rich_help_panel=LAYER,
        help="Rule in training: inputs that contradict the theory give zeros, or are repaired.",
    ),
    backward: str | None = typer.Option(
        None, metavar="RULE", autocompletion=rules, rich_help_panel=LAYER,
        help="Blame rule: core, maxsmt, sample, marginal, mix(core, marginal), ...",
    ),
    workers: Workers = None,
    device: Device = "cpu",
    data: DigitSource | None = typer.Option(
        None, rich_help_panel=FILES,
        help="All of MNIST from the data folder, or a sample that needs no download.",
    ),
    data_dir: DataDir = None,
    set_: list[str] = typer.Option(
        [], "--set", help="Any option of the TOML file, as train.lr=1e-3.", metavar="KEY=VALUE"
    ),
    out: str | None = typer.Option(  # text, as Path("") is the current folder
        None, metavar="FOLDER", rich_help_panel=FILES,
        help="Folder of the run [default: runs/EXPERIMENT].",
    ),
    timing: int = typer.Option(
        0, metavar="N", min=0,
        help="Only time this many epochs of each method, with and without the layer in turn.",
    ),
) -> None:  # fmt: skip
    """Train an experiment: by default a network with the layer and a conventional one.

    A run that was stopped continues where it was. A finished run is only shown again.

    Examples:

    \b
        smtlayer train mnist-addition --data sample
        smtlayer train visual-sudoku-10 --method best --device cuda
        smtlayer train liars-puzzle --method best --backward core --seed 3
        smtlayer train my_experiment.toml --set train.lr=1e-3 --out runs/mine
    """
    from smtlayer_studies.commands.train_steps import train_experiment

    options = {"train.epochs": epochs, "layer.backend": backend, "layer.forward": forward,
               "layer.backward": backward, "layer.workers": workers, "task.data": data}  # fmt: skip
    settings = [f"{key}={value}" for key, value in options.items() if value is not None]
    source = context.get_parameter_source("method")
    usual = source is not None and source.name == "DEFAULT"
    train_experiment(
        experiment, methods=None if usual else method, seed=seed, device=device,
        settings=settings + set_, data_dir=data_dir, out=out, timed_epochs=timing,
    )  # fmt: skip
