"""This file reads the sentences of a liar's puzzle: by keywords, or by a trained network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
_USUAL, _UNSURE, _CERTAIN = 3.0, 1.0, 4.5  # log-odds of what keywords say


@dataclass(frozen=True, eq=False)
class Sentences:
    """What was read in three sentences: seven columns each, as the theory has them."""

    logits: Tensor  # (1, 21)
    known: Tensor  # (1, 21) bool, False where nothing was found
    reader: str  # "network" or "keywords"
    note: str = ""


def by_keywords(sentences: Sequence[str]) -> Sentences:
    """Looks for names and for words of guilt and innocence.

    Who is named first speaks, the next one is spoken of. Words such as "maybe" and "definitely"
    make the claim less or more certain. What is not found is left free for the solver.

    Examples:
        >>> read = by_keywords(["Alice says Bob isn't guilty.", "Bob: maybe Alice.", "Hm."])
        >>> read.logits[0, :7].tolist()
        [3.0, -3.0, -3.0, -3.0, 3.0, -3.0, -3.0]
        >>> read.known[0].reshape(3, 7).sum(-1).tolist()
        [7, 6, 0]
    """
    rows = [_columns(sentence.lower()) for sentence in sentences]
    logits = torch.tensor([[value or 0.0 for row in rows for value in row]])
    known = torch.tensor([[value is not None for row in rows for value in row]])
    return Sentences(logits, known, "keywords")


def by_network(network: nn.Module, sentences: Sequence[str]) -> Sentences:
    """Asks a trained network where it knows all the words, else looks for keywords."""
    written = [_written(sentence) for sentence in sentences]
    strange = [word for text in written for word in text.split() if word not in WORDS]
    if strange or any(not 1 <= len(text.split()) <= LONGEST for text in written):
        why = f"does not know the word {strange[0][:30]!r}" if strange else "reads 1 to 10 words"
        found = by_keywords(sentences)
        note = f"The network {why}, so keywords were looked for instead."
        return Sentences(found.logits, found.known, found.reader, note)
    with torch.no_grad():
        logits = network(torch.tensor([[tokens(text) for text in written]]))
    return Sentences(logits, torch.ones_like(logits, dtype=torch.bool), "network")


def _written(sentence: str) -> str:
    """As the network's training had it: small letters, stops and colons apart, a stop at the end.

    Examples:
        >>> _written("Bob: Alice did it")
        'bob : alice did it .'
    """
    spaced = re.sub(r"([:.])", r" \1 ", sentence.lower()).split()
    return " ".join([*(word for word in spaced if word != "."), "."]) if spaced else ""


def _columns(sentence: str) -> list[float | None]:
    """Three for the speaker, three for whom it is about, one for the accusation."""
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
