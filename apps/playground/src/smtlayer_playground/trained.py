"""This file finds the trained networks that fill the pages, without the data they learnt from."""

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer.theory import Theory
from smtlayer_studies.runs.run_folder import RunFolder, find_runs
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.liars.network import SentenceReader
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.networks import DigitNetwork
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

Options = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Trained:
    """A network that was trained under a layer, and the folder it comes from."""

    task: str
    folder: Path
    options: Options  # of the task
    network: nn.Module
    theory: Theory
    scores: Mapping[str, float]  # empty if the run has no record
    data: str  # what it was trained on, for people

    def about(self) -> dict[str, Any]:
        """For the page."""
        return {"folder": str(self.folder), "data": self.data, "scores": dict(self.scores)}


def load_all(folders: Iterable[Path]) -> dict[str, Trained]:
    """The runs by task.

    Raises:
        ConfigError: If two are of the same task, or one is of a task that has no page.
        MissingDataError: If a folder holds no finished run.
    """
    found: dict[str, Trained] = {}
    for folder in folders:
        run = load(folder)
        if run.task in found:
            raise ConfigError(
                f"demo: {found[run.task].folder} and {run.folder} are both runs of {run.task}. "
                f"Give one of them."
            )
        found[run.task] = run
    return found


def load(folder: Path) -> Trained:
    """The run in a folder, or in a folder within it if it holds several methods."""
    kept = RunFolder.read(_with_layer(folder))
    config = kept.config
    name = str(config.task["name"])
    if name not in _READERS:
        raise ConfigError(
            f"demo: {kept.path} is a run of {name}, which has no page. "
            f"Pages are for {', '.join(_READERS)}."
        )
    if config.layer is None:
        raise ConfigError(
            f"demo: {kept.path} is a conventional network without a layer, so there is nothing "
            f"to show. Give a run of another method, such as best."
        )
    network, theory = _READERS[name](config.task)
    _fill(network, kept.path / "model.pt")
    scores = {} if kept.record is None else kept.record.scores
    data = "" if kept.record is None else kept.record.data_title
    return Trained(name, kept.path, config.task, network.eval(), theory, scores, data)


def _with_layer(folder: Path) -> Path:
    """The folder itself, or the run in it that has a layer: `best` if there is one."""
    found = [path for path in find_runs(folder) if path.name != "conventional"] or [folder]
    best = [path for path in found if path.name == "best"]
    return (best or found)[0]


def _fill(network: nn.Module, path: Path) -> None:
    """Reads the network's parameters. A layer has none, so that anything may stand in its place."""
    if not path.is_file():
        raise MissingDataError(
            f"demo: {path.parent} has no model.pt: its training has not come to its end. "
            f"The command that began it goes on with it."
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        Model(network, nn.Identity()).load_state_dict(state)
    except (RuntimeError, pickle.UnpicklingError, EOFError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"demo: {path} cannot be read as the model of its config.toml "
            f"({type(error).__name__}). Train the run again."
        ) from error


def _addition(options: Options) -> tuple[nn.Module, Theory]:
    return DigitNetwork(), addition_theory()


def _sudoku(options: Options) -> tuple[nn.Module, Theory]:
    reading = options.get("reading", "bits")
    return HintReader(4 if reading == "bits" else 9), sudoku_theory(reading=reading)


def _liars(options: Options) -> tuple[nn.Module, Theory]:
    return SentenceReader(), liars_theory(as_printed=options.get("as_printed", False))


_READERS: Mapping[str, Callable[[Options], tuple[nn.Module, Theory]]] = {
    "mnist-addition": _addition,
    "visual-sudoku": _sudoku,
    "liars-puzzle": _liars,
}
