"""Counts the fresh Sudokus of the playground that come out entirely right, and reads drawn digits.

Boards and images are those that the page shows, and its code answers: boards are generated, images
are test images of MNIST (or of the sample, without a data folder). Drawn digits are those of HASYv2
in the data folder, drawn with mouse, pen or finger, converted as the page converts drawings.

    python apps/playground/measure_reader.py --boards 100 --seed 0
"""

import argparse
from operator import ne
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from smtlayer_playground.digits import DigitBank
from smtlayer_playground.images import like_mnist
from smtlayer_playground.reader import shipped
from smtlayer_playground.sudoku import SudokuPage
from smtlayer_playground.trained import Trained, load_all
from smtlayer_studies.tasks.data import data_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="runs, as for `smtlayer demo`")
    parser.add_argument("--boards", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, default=None)
    options = parser.parse_args()
    readers = shipped() | load_all(options.runs)
    page = SudokuPage(readers["visual-sudoku"], DigitBank(options.data_dir))
    print(f"network: {page.run.folder}, images: {page.bank.title}")
    boards(page, range(options.seed, options.seed + options.boards))
    folder = data_folder(options.data_dir) or Path()
    drawings = folder / "hasy" / "hasyv2_letters_digits.npz"
    if drawings.is_file():
        drawn(readers["mnist-addition"], drawings)


def boards(page: SudokuPage, seeds: range) -> None:
    right = hints = misread = 0
    for seed in seeds:
        board = page.board({"seed": seed})
        answer = page.answer({"images": board["images"]})
        right += answer["solution"] == board["solution"]
        shown = [number for number in board["shown"] if number]
        read = [cell["value"] for cell in answer["read"] if cell]
        hints += len(shown)
        misread += sum(map(ne, read, shown))
    print(f"boards entirely right: {right} of {len(seeds)} ({misread} of {hints} hints misread)")


@torch.no_grad()
def drawn(run: Trained, path: Path) -> None:
    with np.load(path) as data:
        is_digit = np.char.isdigit(data["latex"])
        images = 255 - torch.from_numpy(data["X"][is_digit])  # ink is 0 there
        labels = torch.from_numpy(data["latex"][is_digit].astype(np.int64))
    seen = torch.stack([like_mnist(large(image)) for image in images])
    logits = run.network(seen[:, None].float() / 255)
    read = ((logits > 0) * torch.tensor([8, 4, 2, 1])).sum(-1)
    print(f"drawn digits read correctly: {(read == labels).sum()} of {len(labels)}")


def large(image: Tensor) -> Tensor:
    """A drawing of 32 by 32 pixels on a canvas of 128 by 128."""
    return image.repeat_interleave(4, 0).repeat_interleave(4, 1)


if __name__ == "__main__":
    main()
