"""The liars page: who is guilty in a typed liar's puzzle, and why."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.explain import Contradiction, Explanation, Overruled, SymbolRead
from smtlayer.nn import SMTLayer
from smtlayer.theory import to_signs
from smtlayer_playground.errors import PlaygroundError, TooBigError
from smtlayer_playground.fields import whole_number
from smtlayer_playground.sentences import SentenceReading, read_by_keywords, read_by_network
from smtlayer_playground.trained import Trained
from smtlayer_studies.tasks.liars.sentences import AGENTS
from smtlayer_studies.tasks.liars.theory import SENTENCES, liars_theory

_MAX_LENGTH = 200
_TRIES = 12
_SAME_COST = 1e-6
_NAMES = tuple(agent.capitalize() for agent in AGENTS)
_PARTS = {"speaker": slice(0, 3), "subject": slice(3, 6), "claim": slice(6, 7)}
_COLUMNS = 7  # per sentence


def rules(*, as_printed: bool = False) -> list[str]:
    """The constraints of `liars_theory` in words, in its order."""
    texts = ["exactly one of the three is guilty"]
    texts += [f"{name} says exactly one of the sentences" for name in _NAMES]
    texts += [f"sentence {s} is about exactly one person" for s in SENTENCES]
    texts += [
        f"what {one} says about {other} in sentence {s} is true if {one} is innocent, "
        f"and false if {one} is guilty"
        for s, one, other in product(SENTENCES, _NAMES, _NAMES)
    ]
    if not as_printed:
        texts += [f"sentence {s} has exactly one speaker" for s in SENTENCES]
        texts += [
            f"{name} does not speak about themselves in sentence {s}"
            for name, s in product(_NAMES, SENTENCES)
        ]
    return texts


@final
class LiarsPage:
    """A network or a keyword search reads the sentences, and the solver finds the liar.

    Args:
        run: A run of the liar's puzzle, or None for the keyword search.
    """

    def __init__(self, run: Trained | None) -> None:
        self.run = run
        as_printed = run is not None and bool(run.options.get("as_printed", False))
        self._rules = rules(as_printed=as_printed)
        self._layer = SMTLayer(liars_theory(as_printed=as_printed)).eval()
        self._inputs = list(self._layer.theory.input_names)

    def about(self) -> dict[str, Any]:
        """Facts that the page shows."""
        return {"run": None if self.run is None else self.run.about(), "names": _NAMES}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Explains three `sentences`; optionally with `accused`, the index of a suspect."""
        sentences = _sentences(request)
        accused = whole_number(request, "accused", 0, 2)
        reading = self._read(sentences)
        wanted = None
        if accused is not None:
            wanted = torch.zeros(1, 3, dtype=torch.int8)
            wanted[0, accused] = 1
        explanation = self._layer.explain(reading.logits, wanted, known=reading.known)[0]
        overruled = {change.name: change for change in explanation.overruled}
        return {
            "reader": reading.reader,
            "note": reading.note,
            "suspects": self._suspects(reading),
            "status": explanation.status,
            "cost": explanation.cost,
            "guilty": _guilty(explanation.answer),
            "sentences": [
                _sentence(explanation.read[start : start + _COLUMNS], overruled)
                for start in range(0, len(self._inputs), _COLUMNS)
            ],
            "overruled": [self._place(name) for name in overruled],
            **self._reasons(explanation, reading, wanted),
        }

    def _read(self, sentences: Sequence[str]) -> SentenceReading:
        if self.run is None:
            return read_by_keywords(sentences)
        return read_by_network(self.run.network, sentences)

    def _suspects(self, reading: SentenceReading) -> list[str]:
        """Everyone who can be guilty at the lowest cost."""
        guilty = torch.eye(len(_NAMES), dtype=torch.int8) * 2 - 1
        rows = (to_signs(reading.logits, reading.known), reading.logits.abs().double())
        signs, weights = (row.expand(len(_NAMES), -1).contiguous() for row in rows)
        cost = self._layer.solver.maximize(signs, weights, guilty).cost
        lowest = (cost <= cost.min() + _SAME_COST) & cost.isfinite()
        return [name for name, is_lowest in zip(_NAMES, lowest.tolist(), strict=True) if is_lowest]

    def _reasons(
        self, explanation: Explanation, reading: SentenceReading, wanted: Tensor | None
    ) -> dict[str, Any]:
        """Why the sentences contradict each other and the accusation, with the fewest rules.

        There are many minimal cores. The weights decide which one is found, so several are tried.
        """
        if explanation.conflict is None and explanation.blame is None:
            return {"conflict": None, "blame": None}
        generator = torch.Generator().manual_seed(0)
        weights = 1 + torch.rand(_TRIES, reading.logits.shape[-1], generator=generator)
        logits = torch.where(reading.logits > 0, weights, -weights)
        found = [explanation, *self._layer.explain(logits, wanted, known=reading.known)]
        return {
            "conflict": self._contradiction([row.conflict for row in found]),
            "blame": self._contradiction([row.blame for row in found]),
        }

    def _contradiction(self, found: Sequence[Contradiction | None]) -> dict[str, Any] | None:
        """The contradiction with the fewest rules, and among those with the fewest inputs."""
        candidates = [contradiction for contradiction in found if contradiction is not None]
        if not candidates:
            return None
        simplest = min(candidates, key=lambda c: (len(c.constraints), len(c.inputs)))
        places = {tuple(self._place(part.name).values()) for part in simplest.inputs}
        indices = [part.index for part in simplest.constraints if part.index is not None]
        return {
            "parts": [{"sentence": s, "part": part} for s, part in sorted(places)],
            "rules": [self._rules[index] for index in indices],
            "minimal": simplest.minimal,
        }

    def _place(self, name: str) -> dict[str, Any]:
        """The sentence and the part of it that a column belongs to."""
        sentence, column = divmod(self._inputs.index(name), _COLUMNS)
        return {"sentence": sentence, "part": list(_PARTS)[column // 3]}


def _sentences(request: Mapping[str, Any]) -> list[str]:
    sentences = request.get("sentences")
    count = len(SENTENCES)
    if not isinstance(sentences, list) or len(sentences) != count:
        raise PlaygroundError(f"'sentences' must be a list of {count} strings.")
    if not all(isinstance(sentence, str) for sentence in sentences):
        raise PlaygroundError("A sentence must be a string.")
    if any(len(sentence) > _MAX_LENGTH for sentence in sentences):
        raise TooBigError(f"A sentence can have at most {_MAX_LENGTH} characters.")
    return sentences


def _guilty(answer: Mapping[str, Any] | None) -> str | None:
    """The guilty person of an answer, whose values are in the order of the agents."""
    if answer is None:
        return None
    guilty = zip(_NAMES, answer.values(), strict=True)
    return next((name for name, is_guilty in guilty if is_guilty), None)


def _sentence(
    columns: Sequence[SymbolRead], overruled: Mapping[str, Overruled]
) -> dict[str, dict[str, Any]]:
    """Speaker, subject and claim of a sentence: as read, with its certainty, and as taken."""
    parts = {}
    for part, where in _PARTS.items():
        own = columns[where]
        read = [column.value for column in own]
        taken = [overruled[c.name].taken if c.name in overruled else c.value for c in own]
        words = _claim if part == "claim" else _person
        parts[part] = {
            "read": words(read),
            "taken": words(taken),
            "certainty": None if None in read else prod(column.certainty for column in own),
            "overruled": any(column.name in overruled for column in own),
        }
    return parts


def _person(chosen: Sequence[bool | None]) -> str | None:
    if None in chosen:
        return None
    names = [name for name, is_chosen in zip(_NAMES, chosen, strict=True) if is_chosen]
    return " and ".join(names) or "no one"


def _claim(chosen: Sequence[bool | None]) -> str | None:
    return {True: "accuses", False: "defends", None: None}[chosen[0]]
