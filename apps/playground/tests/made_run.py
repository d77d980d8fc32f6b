"""Run folders as `smtlayer train` writes them, with networks that are not trained."""

from pathlib import Path

import torch
from torch import nn

from smtlayer.theory import Theory
from smtlayer_studies.runs import RunConfig, RunFolder, RunRecord
from smtlayer_studies.runs.records import here
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.liars.network import SentenceReader
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.networks import DigitNetwork
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


def write_run(
    folder: Path, task: dict, network: nn.Module, theory: Theory, *, layer: bool = True
) -> Path:
    """Writes a finished run of a network."""
    data = {"task": task, "train": {"epochs": 1, "rows": 64}} | ({} if layer else {"layer": False})
    config = RunConfig.of(data, experiment=task["name"], method="best", seed=0, device="cpu")
    head = nn.Linear(theory.n_inputs, theory.n_outputs) if config.layer is None else nn.Identity()
    record = RunRecord(
        experiment=task["name"], method="best", seed=0, data="sample",
        data_title="digits for a test", split="test", config=config.as_dict(), layer="",
        epochs=[], scores={"representation": 0.9}, epoch_seconds=0.0, **here("cpu"),
    )  # fmt: skip
    run = RunFolder.for_writing(folder, config)
    run.write_config()
    run.save(Model(network, head), record)
    return folder


def addition_run(folder: Path) -> Path:
    torch.manual_seed(0)
    return write_run(folder, {"name": "mnist-addition"}, DigitNetwork(), addition_theory())


def liars_run(folder: Path) -> Path:
    torch.manual_seed(0)
    return write_run(folder, {"name": "liars-puzzle"}, SentenceReader(), liars_theory())


def sudoku_run(folder: Path) -> Path:
    torch.manual_seed(0)
    task = {"name": "visual-sudoku", "reading": "digits"}
    return write_run(folder, task, HintReader(9), sudoku_theory(reading="digits"))
