"""This file draws liar's puzzles: three sentences, what was read in each, and who is guilty."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from smtlayer_studies.reports import marks
from smtlayer_studies.tasks.examples import Examples, Reading
from smtlayer_studies.tasks.liars_sentences import AGENTS, words_of

_LEGEND = {
    "read": "#93b4f5",
    "paler: less certain": "#dbe6fd",
    "overruled by the solver": marks.OVERRULED,
    "right": marks.RIGHT,
    "wrong": marks.WRONG,
}
CLAIMS = {True: "accuses", False: "defends", None: None}
PARTS = ("who speaks", "of whom", "and what")  # that is made of a sentence
_COLUMNS = dict(zip(PARTS, (4.3, 6.05, 7.8), strict=True))  # and where they begin
_CHIP, _LINE, _TOP = 1.65, 0.34, 0.3
INPUTS = 7  # of a sentence: three who may speak, three who may be spoken of, and accusation


def sentences_figure(examples: Examples, title: str) -> Any:
    """Puzzles with a line a sentence: its words, and what the network took it to say.

    Shape:
        - features: $(B, s, T)$ int64, the tokens of s sentences.
    """
    sentences = examples.batch.features.shape[1]
    size = (11.6, sentences * _LINE + _TOP + 0.22)
    figure, axes = marks.sheet(len(examples), size, 1.0, title, _LEGEND)
    for row, axis in enumerate(axes):
        if row == 0:
            _headings(axis)
        for i, tokens in enumerate(examples.batch.features[row]):
            top = _TOP + i * _LINE
            axis.text(0.1, top + _LINE / 2, written(tokens), fontsize=10, va="center",
                      color=marks.INK)  # fmt: skip
            for told, left in zip(told_sentence(examples, row, i), _COLUMNS.values(), strict=True):
                _chip(axis, told, left, top)
        _guilty(axis, examples, row, _TOP + sentences * _LINE / 2)
        if row:
            axis.plot([0.1, size[0] - 0.1], [0.02, 0.02], color=marks.FALSE, linewidth=0.8)
    return figure


def _headings(axis: Any) -> None:
    for heading, left in _COLUMNS.items():
        axis.text(
            left + _CHIP / 2, _TOP - 0.12, heading, fontsize=9, color=marks.QUIET, ha="center"
        )  # fmt: skip


def written(tokens: Tensor) -> str:
    """The words as people write them.

    Examples:
        >>> import torch
        >>> from smtlayer_studies.tasks.liars_sentences import tokens
        >>> written(torch.tensor(tokens("bob : alice did it .")))
        'Bob: Alice did it.'
    """
    words = (w.capitalize() if w in AGENTS else w for w in words_of(tokens).split())
    return " ".join(words).replace(" .", ".").replace(" :", ":")


def told_sentence(examples: Examples, row: int, number: int) -> list[Reading]:
    """What was made of a sentence: who speaks, of whom, and whether it is an accusation."""
    bits = examples.readings(row)[number * INPUTS : (number + 1) * INPUTS]
    claim, (speaks, whom, what) = bits[-1], PARTS
    return [
        _who(speaks, bits[:3]),
        _who(whom, bits[3:6]),
        Reading(what, CLAIMS[claim.read], CLAIMS[claim.taken], CLAIMS[claim.truth], claim.bits),
    ]


def _who(part: str, told: Sequence[Reading]) -> Reading:
    """Agents, each by a bit of its own, as one thing that was read."""
    read, taken, truth = (
        names_of(values)
        for values in zip(*((one.read, one.taken, one.truth) for one in told), strict=True)
    )
    return Reading(part, read, taken, truth, tuple(bit for one in told for bit in one.bits))


def names_of(chosen: Sequence[bool | None]) -> str | None:
    """The agents that are chosen, by name; None if that is not known.

    Examples:
        >>> names_of([False, True, False]), names_of([True, True, False]), names_of([False] * 3)
        ('Bob', 'A+B', 'nobody')
    """
    if None in chosen:
        return None
    named = [agent.capitalize() for agent, is_it in zip(AGENTS, chosen, strict=True) if is_it]
    short = named if len(named) == 1 else [name[0] for name in named]
    return "+".join(short) or "nobody"


def _chip(axis: Any, told: Reading, left: float, top: float) -> None:
    certainty = min(bit.certainty for bit in told.bits)
    colour, gid = (marks.OVERRULED, marks.MARK) if told.overruled else (marks.TRUE, None)
    place = (left + 0.04, top + 0.03, _CHIP - 0.08, _LINE - 0.06)
    edge = marks.WRONG if told.wrong else "none"
    strength = 0.75 if told.overruled else 0.12 + 0.38 * certainty
    marks.box(axis, place, colour, alpha=strength, gid=gid, linewidth=0)
    marks.box(axis, place, "none", edgecolor=edge, linewidth=1.4)
    axis.text(
        left + _CHIP / 2, top + _LINE / 2, told.text, fontsize=9, ha="center", va="center",
        color=marks.WRONG if told.wrong else marks.INK,
    )  # fmt: skip


def _guilty(axis: Any, examples: Examples, row: int, middle: float) -> None:
    found, wanted = (
        names_of([sign > 0 for sign in signs[row].tolist()])
        for signs in (examples.answer.outputs, examples.batch.targets)
    )
    right = bool(examples.right[row])
    text = f"→ {found}" if examples.answered[row] else "no answer"
    notes = [] if right else [f"truth: {wanted}"]
    notes += ["overruled"] if examples.overruled[row].any() else []
    marks.answer(axis, 9.75, middle, text, notes, right)
