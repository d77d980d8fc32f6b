"""The sentences of the liar's puzzle: 12 kinds in 25 wordings each."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import torch
from torch import Tensor

AGENTS = ("alice", "bob", "charlie")
SPEECH = ("says", "says that", "said", "said that", ":")
GUILT = (
    "did it", "is guilty", "is definitely guilty", "definitely did it", "is the criminal",
)  # fmt: skip
INNOCENCE = (
    "did not do it", "is innocent", "is definitely innocent", "definitely did not do it",
    "is a good person",
)  # fmt: skip
WORDS = (
    "alice", "bob", "charlie", "says", "said", "that", ":", "is", "did", "not", "do", "it",
    "guilty", "innocent", "definitely", "the", "criminal", "a", "good", "person", ".",
)  # fmt: skip
PADDING = 0  # a word's token is its position in WORDS, counted from 1
LONGEST = 10  # words, with the full stop
N_WORDINGS = len(SPEECH) * len(GUILT)


@dataclass(frozen=True)
class Kind:
    """The meaning of a sentence; agents are positions in `AGENTS`."""

    speaker: int
    subject: int
    accuses: bool

    @property
    def signs(self) -> list[int]:
        """Inputs of the theory: the speaker, the subject, and whether it is an accusation."""
        who = [1 if agent == self.speaker else -1 for agent in range(3)]
        whom = [1 if agent == self.subject else -1 for agent in range(3)]
        return [*who, *whom, 1 if self.accuses else -1]

    def is_true(self, guilty: int) -> bool:
        """Whether it is true if this agent is guilty."""
        return self.accuses == (self.subject == guilty)


KINDS = tuple(
    Kind(one, other, accuses)
    for one, other, accuses in product(range(3), range(3), (False, True))
    if one != other
)


def wording(kind: Kind, number: int) -> str:
    """A sentence in words: five ways to name the speaker times five to state guilt or innocence.

    Examples:
        >>> wording(Kind(speaker=0, subject=1, accuses=False), 15)
        'alice said that bob did not do it .'
        >>> wording(Kind(speaker=2, subject=0, accuses=True), 24)
        'charlie : alice is the criminal .'
    """
    speech, claim = divmod(number, len(GUILT))
    claims = GUILT if kind.accuses else INNOCENCE
    return f"{AGENTS[kind.speaker]} {SPEECH[speech]} {AGENTS[kind.subject]} {claims[claim]} ."


def tokens(sentence: str) -> list[int]:
    """The tokens of a sentence, with padding at the end.

    Examples:
        >>> tokens("bob : alice did it .")
        [2, 7, 1, 9, 12, 21, 0, 0, 0, 0]
    """
    found = [WORDS.index(word) + 1 for word in sentence.split()]
    return found + [PADDING] * (LONGEST - len(found))


def words_of(tokens: Tensor) -> str:
    """The sentence of some tokens."""
    return " ".join(WORDS[token - 1] for token in tokens.tolist() if token != PADDING)


@cache
def all_tokens() -> Tensor:
    """Every kind of sentence in every wording: (12, 25, 10) int64."""
    return torch.tensor(
        [[tokens(wording(kind, number)) for number in range(N_WORDINGS)] for kind in KINDS]
    )
