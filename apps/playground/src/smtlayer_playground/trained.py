"""Loads trained networks for the pages, without the data that they were trained on."""

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer.theory import Theory
from smtlayer_studies.runs.run_folder import RunFolder, find_runs
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.options import make_task
from smtlayer_studies.tasks.sudoku.task import VisualSudoku

PAGES = (MnistAddition.name, VisualSudoku.name, LiarsPuzzle.name)
Options = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Trained:
    """A network that was trained with a layer, and the folder of its run."""

    task: str  # name
    folder: Path
    options: Options  # of the task
    network: nn.Module
    theory: Theory
    scores: Mapping[str, float]  # empty if the run has no record
    data: str  # title of the training data

    def about(self) -> dict[str, Any]:
        """Facts that the page shows."""
        return {"folder": str(self.folder), "data": self.data, "scores": dict(self.scores)}


def load_all(folders: Iterable[Path]) -> dict[str, Trained]:
    """Loads runs, by task.

    Raises:
        ConfigError: If two are of the same task, or one is of a task that has no page.
        MissingDataError: If a folder contains no finished run.
    """
    found: dict[str, Trained] = {}
    for folder in folders:
        run = load(folder)
        if run.task not in PAGES:
            raise ConfigError(
                f"demo: {run.folder} is a run of {run.task}, which has no page. "
                f"Pages are for {', '.join(PAGES)}."
            )
        if run.task in found:
            raise ConfigError(
                f"demo: {found[run.task].folder} and {run.folder} are both runs of {run.task}. "
                f"Give one of them."
            )
        found[run.task] = run
    return found


def load(folder: Path) -> Trained:
    """Loads the run in a folder, or a run with a layer in a folder of several methods."""
    run = RunFolder.read(_with_layer(folder))
    config = run.config
    if config.layer is None:
        raise ConfigError(
            f"demo: {run.path} is a conventional network without a layer, so there is nothing "
            f"to show. Give a run of another method, such as best."
        )
    task = make_task(config.task)
    network = task.network()
    _load_parameters(network, run.path / "model.pt")
    scores = {} if run.record is None else run.record.scores
    data = "" if run.record is None else run.record.data_title
    return Trained(task.name, run.path, config.task, network.eval(), task.theory, scores, data)


def _with_layer(folder: Path) -> Path:
    """The folder itself, or the run in it that has a layer: `best` if there is one."""
    found = [path for path in find_runs(folder) if path.name != "conventional"] or [folder]
    best = [path for path in found if path.name == "best"]
    return (best or found)[0]


def _load_parameters(network: nn.Module, path: Path) -> None:
    """Loads the parameters of a network. The layer of the run has none."""
    if not path.is_file():
        raise MissingDataError(
            f"demo: {path.parent} has no model.pt: its training is not finished. "
            f"Run the same train command again to resume it."
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        Model(network, nn.Identity()).load_state_dict(state)
    except (RuntimeError, pickle.UnpicklingError, EOFError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"demo: {path} cannot be read as the model of its config.toml "
            f"({type(error).__name__}). Train the run again."
        ) from error
