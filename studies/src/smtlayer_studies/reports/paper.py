"""The numbers that the paper reports.

Source: Fredrikson et al., "Learning Modulo Theories" (2023), later published as "Grounding Neural
Inference with Satisfiability Modulo Theories" (NeurIPS 2023): Table 1 for results (means of five
seeds, an RTX 3080), Table 2 of the appendix for optimisers and epochs. One accuracy is not a mean
of the paper's runs: SATNet on Visual Sudoku 100 %, 63.2, which it takes from SATNet's own paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from smtlayer_studies.reports.published import PUBLISHED, UNTUNED
from smtlayer_studies.runs import RunConfig

RESULTS_TABLE = "Table 1"
TRAINING_TABLE = "Table 2"
DEVICE = "NVIDIA RTX 3080"
# The note of tables on the numbers that they quote.
QUOTED_FROM = (
    f"Quoted from the paper, {RESULTS_TABLE}: means of five seeds, except for the accuracy of "
    "SATNet on Visual Sudoku 100 %, which the paper takes from SATNet's own paper (Wang et al., "
    "2019)."
)
# Titles of the methods that the paper compares.
TITLES = MappingProxyType({
    "conventional": "conventional", "smtlayer": "SMTLayer", "satnet": "SATNet",
    "scallop": "Scallop",
})  # fmt: skip


@dataclass(frozen=True)
class Quoted:
    """One method on one problem, as the paper reports it.

    Attributes:
        accuracy: Test accuracy, per cent.
        seconds: Seconds per epoch.
        optimizer: With its learning rate, or rates for groups of parameters.
        epochs: Epochs of pre-training, and of training.
    """

    accuracy: float
    seconds: float
    optimizer: str
    epochs: tuple[int, int]


@dataclass(frozen=True)
class PaperExperiment:
    """A line of the paper's table; a method that cannot do the problem is not in `methods`."""

    name: str
    title: str
    methods: Mapping[str, Quoted]
    batch_size: int  # of its layer
    facts: str = ""  # that the problem states and its formula does not; our theory has them
    data: str = ""  # how ours differ
    note: str = ""  # on our seeds

    def accuracy(self, method: str) -> float | None:
        """Test accuracy of a method, per cent; None where the paper has none."""
        return self.methods[method].accuracy if method in self.methods else None

    def seconds(self, method: str) -> float | None:
        """Seconds per epoch of a method; None where the paper has none."""
        return self.methods[method].seconds if method in self.methods else None

    @property
    def ratio(self) -> float:
        """An epoch with the paper's layer over a conventional one."""
        return self.methods["smtlayer"].seconds / self.methods["conventional"].seconds


_Numbers = tuple[float, float]
_SGD = "SGD(1.0)"
_SATNET = "Adam(2e-3, 1e-5)"
_SCALLOP = "Adam(1e-3)"


def _experiment(
    name: str,
    title: str,
    *numbers: _Numbers,
    optimizers: tuple[str, str] = (_SGD, _SGD),
    epochs: tuple[tuple[int, int], ...] = ((0, 5), (3, 5), (3, 5), (3, 5)),
    **ours: Any,
) -> PaperExperiment:
    """An experiment from accuracy and seconds of the methods, in the order of `TITLES`."""
    trained = (*optimizers, _SATNET, _SCALLOP)
    cells = zip(TITLES, numbers, trained, epochs, strict=False)
    methods = {method: Quoted(*pair, how, long) for method, pair, how, long in cells}
    return PaperExperiment(name, title, MappingProxyType(methods), **ours)


_ADAM = ("Adam(2e-3)", "Adam(1e-3)")
_ADDITION: dict[str, Any] = {"batch_size": 128, "facts": "digits ≤ 9"}
_ALGEBRA: dict[str, Any] = {"batch_size": 64, "facts": "numbers in range"}
_SUDOKU: dict[str, Any] = {"batch_size": 1, "data": "other boards"}
# fmt: off
_ALL = (
    _experiment("mnist-addition-10", "MNIST+ 10 %",
                (10.0, 7.1), (98.1, 75.4), (10.0, 31.0), (33.7, 96.3), **_ADDITION),
    _experiment("mnist-addition-25", "MNIST+ 25 %",
                (32.5, 7.1), (98.3, 74.8), (34.2, 30.9), (65.8, 96.4), **_ADDITION),
    _experiment("mnist-addition-50", "MNIST+ 50 %",
                (51.5, 7.0), (98.6, 75.8), (54.8, 32.8), (98.4, 96.5), **_ADDITION),
    _experiment("mnist-addition-75", "MNIST+ 75 %",
                (76.1, 7.0), (98.5, 75.0), (78.4, 31.9), (93.5, 96.4), **_ADDITION),
    _experiment("mnist-addition-100", "MNIST+ 100 %",
                (98.3, 7.1), (98.5, 75.8), (96.7, 33.5), (98.6, 96.6), **_ADDITION),
    _experiment("visual-algebra-1", "Visual algebra #1",
                (24.1, 13.2), (98.2, 168.2), (19.6, 80.1), (18.7, 602.8), **_ALGEBRA),
    _experiment("visual-algebra-2", "Visual algebra #2",
                (25.4, 11.2), (25.4, 127.2), (18.6, 52.5), (21.3, 636.1),
                data="letters a to m", **_ALGEBRA),
    _experiment("liars-puzzle", "Liar's puzzle",
                (54.2, 3.1), (86.1, 28.7), (84.6, 3.0),
                optimizers=_ADAM, epochs=((0, 15), (15, 5), (15, 5)), batch_size=32,
                facts="one speaker per sentence", data="random word vectors",
                note="Each seed of the liar's puzzle has a different split."),
    _experiment("visual-sudoku-10", "Visual Sudoku 10 %",
                (0.0, 6.3), (66.0, 135.7), (0.0, 9.9),
                epochs=((0, 100), (30, 15), (30, 100)), **_SUDOKU),
    _experiment("visual-sudoku-50", "Visual Sudoku 50 %",
                (0.0, 28.3), (73.1, 608.1), (0.0, 45.4),
                epochs=((0, 100), (30, 5), (30, 100)), **_SUDOKU),
    _experiment("visual-sudoku-100", "Visual Sudoku 100 %",
                (0.0, 26.7), (79.1, 1199.0), (63.2, 86.5),
                epochs=((0, 100), (30, 5), (0, 100)), **_SUDOKU),
)
# fmt: on
EXPERIMENTS: Mapping[str, PaperExperiment] = MappingProxyType({one.name: one for one in _ALL})
# One experiment for each of the paper's four problems.
PROBLEMS = ("mnist-addition-10", "visual-algebra-1", "liars-puzzle", "visual-sudoku-10")


def experiment_title(name: str) -> str:
    """The title of an experiment in tables: of the paper, `PUBLISHED` or `UNTUNED`, else its name.

    Examples:
        >>> experiment_title("mnist-addition-10"), experiment_title("my-experiment")
        ('MNIST+ 10 %', 'my-experiment')
    """
    known = EXPERIMENTS.get(name) or PUBLISHED.get(name)
    return UNTUNED.get(name, name) if known is None else known.title


def run_title(config: RunConfig) -> str:
    """The title of a run: experiment and method."""
    return f"{experiment_title(config.experiment)}, {config.method}"
