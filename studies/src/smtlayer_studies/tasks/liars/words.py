"""Word vectors for the liar's puzzle: GloVe, or none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from smtlayer_studies.tasks.data import find, state
from smtlayer_studies.tasks.data_files import FILES
from smtlayer_studies.tasks.liars.sentences import PADDING, WORDS

WordSource = Literal["auto", "random", "glove-100d"]
_FILE = "glove-100d"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for each of `WORDS`, and where they come from."""

    vectors: Tensor  # (21, d) float
    source: Literal["glove-100d"] = "glove-100d"

    def table(self, width: int = 300) -> Tensor:
        """One row per token, padding first: the vectors with zeros up to the width."""
        rows = torch.zeros(1 + len(WORDS), width)
        rows[PADDING + 1 :, : self.vectors.shape[1]] = self.vectors
        return rows


def load_words(data_dir: Path | None = None, source: WordSource = "auto") -> WordVectors | None:
    """Word vectors, or None for random ones.

    The paper starts from the vectors of GloVe-6B with 300 numbers. Those are not available for
    every word; the vectors with 100 numbers initialize the first 100.

    Args:
        data_dir: The folder that holds `glove/`; see `data_folder` for the default.
        source: `"glove-100d"` for GloVe, `"random"` for none, `"auto"` for GloVe if it is there.

    Raises:
        MissingDataError: If GloVe is asked for and not there, or damaged.
    """
    if source == "random" or (source == "auto" and state(FILES[_FILE], data_dir) == "missing"):
        return None
    lines = find(_FILE, data_dir).read_text(encoding="utf-8").splitlines()
    vectors = {
        word: [float(number) for number in numbers] for word, *numbers in map(str.split, lines)
    }
    return WordVectors(torch.tensor([vectors[word] for word in WORDS]))
