"""Run folders as `smtlayer train` writes them, with networks that are trained in a second."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.theory import Theory
from smtlayer_studies.runs import RunConfig, RunFolder, RunRecord
from smtlayer_studies.runs.records import here
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.liars.network import SentenceReader
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.mnist import load_digits
from smtlayer_studies.tasks.networks import DigitNetwork
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

_WEIGHTS = torch.tensor([8, 4, 2, 1])
_CORNERS = ((0, 0), (0, 2), (2, 0), (2, 2))


def trained_reader() -> DigitNetwork:
    """A digit reader whose convolutions copy pixels, so that only the dense layers are trained.

    It is trained on digit labels. Training with a layer needs no labels, but takes minutes.
    """
    torch.manual_seed(0)
    network = DigitNetwork().eval()
    with torch.no_grad():
        _copy_pixels(network)
        numbered = torch.arange(1.0, 785.0).reshape(1, 1, 28, 28)
        pixels = network.layers[:9](numbered)[0].round().long() - 1  # of the features; -1 for none
    features = torch.tensor([(pixels == p).nonzero()[0].item() for p in pixels.unique() if p >= 0])
    dense = _trained_dense(pixels[features])
    with torch.no_grad():
        network.layers[9].weight.zero_()
        network.layers[9].weight[:, features] = dense[0].weight
        network.layers[9].bias.copy_(dense[0].bias)
        network.layers[11].load_state_dict(dense[2].state_dict())
    return network


def _copy_pixels(network: DigitNetwork) -> None:
    convolutions = [network.layers[place] for place in (0, 2, 4, 6)]
    for convolution in convolutions:
        convolution.weight.zero_()
        convolution.bias.zero_()
    for k in range(9):
        convolutions[0].weight[k, 0, k // 3, k % 3] = 1
        convolutions[1].weight[k, k, 1, 1] = 1
        convolutions[2].weight[k, k, 1, 1] = 1
        for corner, (row, column) in enumerate(_CORNERS):
            convolutions[3].weight[9 * corner + k, k, row, column] = 1


def _trained_dense(pixels: Tensor) -> nn.Sequential:
    digits = load_digits("sample").train
    images = digits.images.flatten(1)[:, pixels].float() / 255
    targets = (digits.labels[:, None] & _WEIGHTS).bool().float()
    dense = nn.Sequential(nn.Linear(len(pixels), 256), nn.ReLU(), nn.Linear(256, 4))
    optimizer = torch.optim.Adam(dense.parameters(), 2e-3)
    for _ in range(300):
        pick = torch.randint(len(images), (128,))
        loss = F.binary_cross_entropy_with_logits(dense(images[pick]), targets[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return dense


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
    return write_run(folder, {"name": "mnist-addition"}, trained_reader(), addition_theory())


def liars_run(folder: Path) -> Path:
    torch.manual_seed(0)
    return write_run(folder, {"name": "liars-puzzle"}, SentenceReader(), liars_theory())


def sudoku_run(folder: Path) -> Path:
    torch.manual_seed(0)
    task = {"name": "visual-sudoku", "reading": "digits"}
    return write_run(folder, task, HintReader(9), sudoku_theory(reading="digits"))
