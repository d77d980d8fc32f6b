"""Reads the sentences of a liar's puzzle, by keywords or with a trained network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from smtlayer_studies.tasks.liars.sentences import AGENTS, LONGEST, WORDS, tokens

_NAMES = "|".join(AGENTS)
_SPEAKER_LAST = re.compile(rf"\b(?:says?|said|claims?|claimed)\s+({_NAMES})\s*[.!]*\s*$")
_SELF = re.compile(r"\b(?:i|me|myself|himself|herself)\b")
_GUILT = re.compile(
    r"\b(?:guilty|criminal|culprit|thief|liar|lie[sd]?|lying|bad|did it|do it|done it|stole)\b"
)
_INNOCENCE = re.compile(r"\b(?:innocent|good|honest|truthful|tells the truth)\b")
_NOT = re.compile(r"\b(?:not|never|no)\b|n['\u2019]t\b")
_VAGUE = re.compile(r"\b(?:maybe|perhaps|probably|possibly|might|may|think|guess)\b")
_SURE = re.compile(r"\b(?:definitely|certainly|surely|absolutely|must)\b")
_USUAL, _UNSURE, _CERTAIN = 3.0, 1.0, 4.5  # log-odds of a keyword


@dataclass(frozen=True, eq=False)
class SentenceReading:
    """The reading of three sentences, with seven columns per sentence in the theory's order."""

    logits: Tensor  # (1, 21)
    known: Tensor  # (1, 21) bool, False where nothing was found
    reader: str  # "network" or "keywords"
    note: str = ""


def read_by_keywords(sentences: Sequence[str]) -> SentenceReading:
    """Searches sentences for names and for words for guilt and innocence.

    The first name is the speaker, the second one the subject. Words such as "maybe" make the claim
    less certain, words such as "definitely" more certain. Parts that are not found are left free
    for the solver.

    Examples:
        >>> read = read_by_keywords(["Alice says Bob isn't guilty.", "Bob: maybe Alice.", "Hm."])
        >>> read.logits[0, :7].tolist()
        [3.0, -3.0, -3.0, -3.0, 3.0, -3.0, -3.0]
        >>> read.known[0].reshape(3, 7).sum(-1).tolist()
        [7, 6, 0]
    """
    rows = [_columns(sentence.lower()) for sentence in sentences]
    logits = torch.tensor([[value or 0.0 for row in rows for value in row]])
    known = torch.tensor([[value is not None for row in rows for value in row]])
    return SentenceReading(logits, known, "keywords")


def read_by_network(network: nn.Module, sentences: Sequence[str]) -> SentenceReading:
    """Reads sentences with a trained network if it knows all words, and by keywords otherwise."""
    texts = [_normalized(sentence) for sentence in sentences]
    unknown = [word for text in texts for word in text.split() if word not in WORDS]
    if unknown or any(not 1 <= len(text.split()) <= LONGEST for text in texts):
        why = f"does not know the word {unknown[0][:30]!r}" if unknown else "reads 1 to 10 words"
        note = f"The network {why}, so the sentences were read by keywords."
        return replace(read_by_keywords(sentences), note=note)
    with torch.no_grad():
        logits = network(torch.tensor([[tokens(text) for text in texts]]))
    return SentenceReading(logits, torch.ones_like(logits, dtype=torch.bool), "network")


def _normalized(sentence: str) -> str:
    """A sentence as in the training data: lower case, punctuation as words, a full stop at the end.

    Examples:
        >>> _normalized("Bob: Alice did it")
        'bob : alice did it .'
    """
    spaced = re.sub(r"([:.])", r" \1 ", sentence.lower()).split()
    return " ".join([*(word for word in spaced if word != "."), "."]) if spaced else ""


def _columns(sentence: str) -> list[float | None]:
    """Three columns for the speaker, three for the subject, one for the accusation."""
    speaker, subject = _people(sentence)
    return [*_one_of(speaker), *_one_of(subject), _claim(sentence)]


def _people(sentence: str) -> tuple[int | None, int | None]:
    named = [AGENTS.index(name) for name in re.findall(rf"\b({_NAMES})\b", sentence)]
    last = _SPEAKER_LAST.search(sentence)
    if last and len(named) > 1:
        named = [AGENTS.index(last[1]), *named[:-1]]
    speaker = named[0] if named else None
    others = named[1:]
    if not others and speaker is not None and _SELF.search(sentence):
        others = [speaker]
    return speaker, (others[0] if others else None)


def _one_of(agent: int | None) -> list[float | None]:
    if agent is None:
        return [None] * len(AGENTS)
    return [_USUAL if other == agent else -_USUAL for other in range(len(AGENTS))]


def _claim(sentence: str) -> float | None:
    guilt, innocence = _GUILT.search(sentence), _INNOCENCE.search(sentence)
    if not guilt and not innocence:
        return None
    accuses = bool(guilt) != (len(_NOT.findall(sentence)) % 2 == 1)
    sure = _UNSURE if _VAGUE.search(sentence) else _CERTAIN if _SURE.search(sentence) else _USUAL
    return sure if accuses else -sure
