"""This file answers for a liar's puzzle that somebody typed: who is guilty, and why."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.explain import Contradiction, Explanation, Overruled, SymbolRead
from smtlayer.nn import SMTLayer
from smtlayer.theory import to_signs
from smtlayer_playground.errors import PlaygroundError, TooBigError
from smtlayer_playground.fields import whole
from smtlayer_playground.trained import Trained
from smtlayer_playground.words import Sentences, by_keywords, by_network
from smtlayer_studies.tasks.liars.sentences import AGENTS
from smtlayer_studies.tasks.liars.theory import SENTENCES, liars_theory

_LONGEST = 200
_TRIES = 12
_SAME_COST = 1e-6
_NAMES = tuple(agent.capitalize() for agent in AGENTS)
_PARTS = ("speaker", "subject", "claim")
_WIDTHS = (3, 3, 1)  # columns of the parts


def rules(*, as_printed: bool = False) -> list[str]:
    """The constraints of `liars_theory` in words, in its order."""
    told = ["exactly one of the three is guilty"]
    told += [f"{name} says exactly one of the sentences" for name in _NAMES]
    told += [f"sentence {s} is about exactly one person" for s in SENTENCES]
    told += [
        f"what {one} says of {other} in sentence {s} is true if {one} is innocent, "
        f"and false if {one} is guilty"
        for s, one, other in product(SENTENCES, _NAMES, _NAMES)
    ]
    if not as_printed:
        told += [f"sentence {s} has exactly one speaker" for s in SENTENCES]
        told += [
            f"{name} does not speak of themselves in sentence {s}"
            for name, s in product(_NAMES, SENTENCES)
        ]
    return told


@final
class LiarsPage:
    """Sentences are read by a network if there is one, else by keywords; the solver names the liar.

    Args:
        run: A run of the liar's puzzle, or None.
    """

    def __init__(self, run: Trained | None) -> None:
        self.run = run
        as_printed = run is not None and bool(run.options.get("as_printed", False))
        self._rules = rules(as_printed=as_printed)
        self._layer = SMTLayer(liars_theory(as_printed=as_printed)).eval()
        self._inputs = list(self._layer.theory.input_names)

    def about(self) -> dict[str, Any]:
        """What the page says of itself."""
        return {"run": None if self.run is None else self.run.about(), "names": _NAMES}

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answers for three `sentences`, and if given `accused`, whom somebody suspects."""
        sentences = _sentences(question)
        accused = whole(question, "accused", 0, 2)
        read = self._read(sentences)
        wanted = None
        if accused is not None:
            wanted = torch.zeros(1, 3, dtype=torch.int8)
            wanted[0, accused] = 1
        told = self._layer.explain(read.logits, wanted, known=read.known)[0]
        return {
            "reader": read.reader,
            "note": read.note,
            "suspects": self._suspects(read),
            **self._told(told),
            **self._reasons(told, read, wanted),
        }

    def _read(self, sentences: Sequence[str]) -> Sentences:
        if self.run is None:
            return by_keywords(sentences)
        return by_network(self.run.network, sentences)

    def _suspects(self, read: Sentences) -> list[str]:
        """Everyone who can be guilty at the least cost: one person, if the sentences decide it."""
        guilty = torch.eye(len(_NAMES), dtype=torch.int8) * 2 - 1
        rows = (to_signs(read.logits, read.known), read.logits.abs().double())
        signs, weights = (row.expand(len(_NAMES), -1).contiguous() for row in rows)
        cost = self._layer.solver.maximize(signs, weights, guilty).cost
        least = (cost <= cost.min() + _SAME_COST) & cost.isfinite()
        return [name for name, is_least in zip(_NAMES, least.tolist(), strict=True) if is_least]

    def _told(self, told: Explanation) -> dict[str, Any]:
        changed = {over.name: over for over in told.overruled}
        return {
            "status": told.status,
            "cost": told.cost,
            "guilty": _guilty(told.answer),
            "sentences": [
                _sentence(told.read[7 * s : 7 * s + 7], changed) for s in range(len(SENTENCES))
            ],
            "overruled": [self._place(over.name) for over in told.overruled],
        }

    def _reasons(self, told: Explanation, read: Sentences, wanted: Tensor | None) -> dict[str, Any]:
        """Why the sentences contradict themselves, and the accused: each by the fewest rules.

        There are many minimal cores. Which one is found hangs on the weights, so some are tried.
        """
        if told.conflict is None and told.blame is None:
            return {"conflict": None, "blame": None}
        order = torch.Generator().manual_seed(0)
        weights = 1 + torch.rand(_TRIES, read.logits.shape[-1], generator=order)
        logits = torch.where(read.logits > 0, weights, -weights)
        found = self._layer.explain(logits, wanted, known=read.known)
        return {
            "conflict": self._blame(_simplest([told.conflict, *(row.conflict for row in found)])),
            "blame": self._blame(_simplest([told.blame, *(row.blame for row in found)])),
        }

    def _blame(self, blame: Contradiction | None) -> dict[str, Any] | None:
        if blame is None:
            return None
        places = {tuple(self._place(part.name).values()) for part in blame.inputs}
        broken = [part.index for part in blame.constraints if part.index is not None]
        return {
            "parts": [{"sentence": s, "part": part} for s, part in sorted(places)],
            "rules": [self._rules[index] for index in broken],
            "minimal": blame.minimal,
        }

    def _place(self, name: str) -> dict[str, Any]:
        """Which part of which sentence a column belongs to."""
        sentence, column = divmod(self._inputs.index(name), 7)
        return {"sentence": sentence, "part": _PARTS[min(column // 3, 2)]}


def _simplest(found: Sequence[Contradiction | None]) -> Contradiction | None:
    """The one with the fewest rules, and of those with the fewest inputs."""
    blames = [blame for blame in found if blame is not None]
    return min(blames, key=lambda b: (len(b.constraints), len(b.inputs)), default=None)


def _sentences(question: Mapping[str, Any]) -> list[str]:
    given = question.get("sentences")
    count = len(SENTENCES)
    if not isinstance(given, list) or len(given) != count:
        raise PlaygroundError(f"'sentences' must be a list of {count} texts.")
    if not all(isinstance(sentence, str) for sentence in given):
        raise PlaygroundError("A sentence must be a text.")
    if any(len(sentence) > _LONGEST for sentence in given):
        raise TooBigError(f"A sentence may have up to {_LONGEST} characters.")
    return given


def _guilty(answer: Mapping[str, Any] | None) -> str | None:
    """Who the answer says is guilty; its values are in the order of the agents."""
    if answer is None:
        return None
    found = [name for name, is_guilty in zip(_NAMES, answer.values(), strict=True) if is_guilty]
    return found[0] if found else None


def _sentence(
    columns: Sequence[SymbolRead], changed: Mapping[str, Overruled]
) -> dict[str, dict[str, Any]]:
    """Speaker, subject and claim: as read, how certainly, and as taken."""
    told, start = {}, 0
    for part, width in zip(_PARTS, _WIDTHS, strict=True):
        own = columns[start : start + width]
        start += width
        read = [column.value for column in own]
        taken = [changed[c.name].taken if c.name in changed else c.value for c in own]
        words = _claim if part == "claim" else _who
        certainty = 1.0
        for column in own:
            certainty *= column.certainty
        told[part] = {
            "read": words(read),
            "taken": words(taken),
            "certainty": None if None in read else certainty,
            "overruled": any(column.name in changed for column in own),
        }
    return told


def _who(chosen: Sequence[bool | None]) -> str | None:
    if None in chosen:
        return None
    return " and ".join(n for n, is_it in zip(_NAMES, chosen, strict=True) if is_it) or "nobody"


def _claim(chosen: Sequence[bool | None]) -> str | None:
    return {True: "accuses", False: "defends", None: None}[chosen[0]]
