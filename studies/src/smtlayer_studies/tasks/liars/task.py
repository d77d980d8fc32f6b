"""This file holds the liar's puzzle: three agents accuse or defend each other; one is guilty."""

from functools import cached_property

import torch
from torch import nn

from smtlayer.errors import ConfigError
from smtlayer.theory import Theory
from smtlayer_studies.tasks.base import Rows, SplitName, check_validation, count_apart
from smtlayer_studies.tasks.liars.data import N_TRAIN, Puzzles, draw_split
from smtlayer_studies.tasks.liars.network import SentenceReader
from smtlayer_studies.tasks.liars.sentences import AGENTS as AGENTS
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.liars.view import LiarsView
from smtlayer_studies.tasks.liars.words import WordVectors
from smtlayer_studies.tasks.networks import DenseHead
from smtlayer_studies.tasks.view import View


class LiarsPuzzle:
    """Read three sentences and name the one who lies, having seen half of what they can say.

    A configuration is what each of the three agents says, of whom, and whether it accuses; 24 of
    64 leave exactly one guilty. With 25 wordings for each sentence that makes 375,000 puzzles.
    The split follows the paper: each puzzle has its sentences in a random order; half of the
    puzzles are left out; half of the configurations, 12, are for training and the other 12 for
    test; of each training configuration only the puzzles in one order are kept, drawn at random.
    That leaves about 15,600 and 93,750 puzzles, of which 9,400 and 28,062 are taken at random: the
    paper's numbers, which follow from nothing else that it states.

    A kind of sentence that training never shows, such as Bob defending Alice, cannot be learnt,
    and one random split in four has such a kind; those are not used. Even so most splits leave
    readings that fit every training puzzle and disagree on test puzzles; the default split is the
    first that leaves none, with what the puzzle states (`benchmarks/liars_readings.py` counts).

    Args:
        as_printed: Use the paper's equation as it is: see `liars_theory`.
        words: Where word vectors start; random if None. They are trained in any case.
        split: Seed of the split: configurations, orders and puzzles.
        validation: Share of the training puzzles that is set apart for validation: the same
            configurations and orders in other wordings.
    """

    name = "liars-puzzle"
    view: View = LiarsView()

    def __init__(
        self,
        as_printed: bool = False,
        words: WordVectors | None = None,
        split: int = 1,
        validation: float = 0.0,
    ) -> None:
        check_validation(self.name, validation)
        self._apart = count_apart(self.name, "puzzles", N_TRAIN, validation)
        self.as_printed = as_printed
        self.validation = validation
        self.split = split
        self._words = words

    @property
    def data(self) -> str:
        """The puzzles, and what the word vectors start from."""
        vectors = (
            "random 300-d word vectors" if self._words is None else "GloVe 100-d padded to 300"
        )
        return f"liars-puzzle, {vectors}"

    @property
    def data_title(self) -> str:
        """The data for people."""
        start = "at random" if self._words is None else "from GloVe, 100 of 300 numbers"
        return f"375,000 puzzles, word vectors starting {start}"

    @cached_property
    def theory(self) -> Theory:
        """Who is guilty, given who says what of whom."""
        return liars_theory(as_printed=self.as_printed)

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """The puzzles of a split, the same for every seed and epoch: see `split` of the task.

        Raises:
            ConfigError: If no puzzles were set apart for validation.
        """
        puzzles = self.puzzles(split)[:count]
        seen = torch.full((len(puzzles),), split != "test")
        return Rows(puzzles.items(), puzzles.targets(), puzzles.symbols(), seen)

    def puzzles(self, split: SplitName) -> Puzzles:
        """All puzzles of a split."""
        train, test = self._split
        if split == "validation" and not self._apart:
            raise ConfigError(
                "No puzzles are set apart for validation: set task.validation to a share of the "
                "training puzzles, such as 0.1."
            )
        cut = N_TRAIN - self._apart
        return {"train": train[:cut], "validation": train[cut:], "test": test}[split]

    def network(self) -> nn.Module:
        """The paper's reader of sentences, shared by all three."""
        return SentenceReader(None if self._words is None else self._words.table())

    def head(self) -> nn.Module:
        """One hidden layer of 512."""
        return DenseHead(self.theory.n_inputs, self.theory.n_outputs)

    def autoencoder(self, network: nn.Module) -> nn.Module:
        """There is none: the puzzle has no images."""
        raise ConfigError(
            "liars-puzzle has no auto-encoder: it rebuilds images, and this task has sentences. "
            "Pre-train with a dense head instead."
        )

    @cached_property
    def _split(self) -> tuple[Puzzles, Puzzles]:
        return draw_split(self.split)
