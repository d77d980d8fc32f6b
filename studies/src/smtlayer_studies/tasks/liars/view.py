"""The view of the liar's puzzle: three sentences, what was read in each, and who is guilty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_studies.tasks import marks
from smtlayer_studies.tasks.examples import Examples, Reading
from smtlayer_studies.tasks.html import template
from smtlayer_studies.tasks.liars.sentences import AGENTS, words_of

if TYPE_CHECKING:
    from rich.text import Text

_LEGEND = {
    "read": "#93b4f5",
    "paler: less certain": "#dbe6fd",
    "overruled by the solver": marks.OVERRULED,
    "right": marks.RIGHT,
    "wrong": marks.WRONG,
}
_CLAIMS = {True: "accuses", False: "defends", None: None}
_PARTS = ("who speaks", "of whom", "and what")  # of a sentence
_INPUTS = 7  # of a sentence: three possible speakers, three subjects, and whether it accuses
_COLUMNS = dict(zip(_PARTS, (4.3, 6.05, 7.8), strict=True))  # left ends in a figure
_CHIP, _LINE, _TOP, _WIDTH = 1.65, 0.34, 0.3, 11.6
_CSS = """
.sentences { list-style: none; padding: 0; margin: 0 0 .6rem; font-size: .92rem; }
.sentences li { padding: .4rem 0; border-top: 1px solid var(--line); }
.sentences li:first-child { border-top: 0; padding-top: 0; }
.chips { display: flex; flex-wrap: wrap; gap: .3rem; margin-top: .2rem; }
.chip { border-radius: 99px; padding: .02rem .6rem; font-size: .8rem; background: var(--wash-blue);
  border: 1px solid transparent; }
.chip.over { background: var(--wash-amber); color: var(--amber); }
.chip.wrong { border-color: var(--red); }
"""
_HTML = """
<ol class="sentences">
{%- for sentence, parts in sentences -%}
<li>{{ sentence }}<div class="chips">
{%- for part in parts -%}
<span class="chip{{ ' over' if part.overruled }}{{ ' wrong' if part.wrong }}" title="
{{- part.name }}: {{ part.text }}, {{ part.certainty|percent }} certain
{{- ", truth: " ~ part.truth if part.wrong }}">{{ part.text }}</span>
{%- endfor -%}
</div></li>
{%- endfor -%}
</ol>
"""


@final
@dataclass(frozen=True)
class LiarsView:
    """Shows puzzles with one line per sentence.

    Shape:
        - features: $(B, s, T)$ int64, the tokens of s sentences.
    """

    title: str = "Liar's puzzle: what the network read in each sentence, and whom the solver names"
    per_figure: int = 6
    per_report: int = 3
    searched: int = 300
    wide: bool = True
    css: str = _CSS

    def figure(self, examples: Examples, title: str) -> Any:
        """Puzzles with the words of each sentence, and what the network took it to say."""
        sentences = examples.batch.features.shape[1]
        size = (_WIDTH, sentences * _LINE + _TOP + 0.22)
        figure, axes = marks.sheet(len(examples), size, 1.0, title, _LEGEND)
        for i, axis in enumerate(axes):
            if i == 0:
                _draw_headings(axis)
            else:
                axis.plot([0.1, _WIDTH - 0.1], [0.02, 0.02], color=marks.FALSE, linewidth=0.8)
            _draw_sentences(axis, examples, i)
            found, truth = _guilty(examples, i)
            marks.answer(
                axis, 9.75, _TOP + sentences * _LINE / 2,
                f"→ {found}" if examples.answered[i] else "no answer",
                examples.notes(i, truth), bool(examples.right[i]),
            )  # fmt: skip
        return figure

    def html(self, examples: Examples, i: int) -> str:
        """The sentences, each with its parts as they were read."""
        sentences = [
            (written(tokens), sentence_readings(examples, i, number))
            for number, tokens in enumerate(examples.batch.features[i])
        ]
        return template(_HTML).render(sentences=sentences)

    def terminal(self, examples: Examples, i: int, width: int) -> "Text":
        """The sentences."""
        from rich.text import Text

        tokens = enumerate(examples.batch.features[i], start=1)
        return Text("\n".join(f"{number}. {written(some)}" for number, some in tokens))

    def symbols(self, examples: Examples, i: int) -> list[Reading]:
        """Three per sentence: who speaks, of whom, and whether it is an accusation."""
        return [
            replace(reading, name=f"{number + 1}. {reading.name}")
            for number in range(examples.batch.features.shape[1])
            for reading in sentence_readings(examples, i, number)
        ]

    def answers(self, examples: Examples, i: int) -> tuple[str, str]:
        """The guilty agent."""
        found, truth = _guilty(examples, i)
        return (f"{found} did it" if examples.answered[i] else "no answer"), truth

    def values(self, theory: Theory, signs: Tensor) -> dict[str, list[Any]]:
        """The parts of all sentences."""
        sentences = [
            [None if sign == 0 else sign > 0 for sign in row]
            for row in signs.reshape(-1, _INPUTS).tolist()
        ]
        return {
            "who speaks": [names_of(sentence[:3]) for sentence in sentences],
            "of whom": [names_of(sentence[3:6]) for sentence in sentences],
            "accuses or defends": [_CLAIMS[sentence[6]] for sentence in sentences],
        }


def written(tokens: Tensor) -> str:
    """A sentence as people write it.

    Examples:
        >>> import torch
        >>> from smtlayer_studies.tasks.liars.sentences import tokens
        >>> written(torch.tensor(tokens("bob : alice did it .")))
        'Bob: Alice did it.'
    """
    words = (w.capitalize() if w in AGENTS else w for w in words_of(tokens).split())
    return " ".join(words).replace(" .", ".").replace(" :", ":")


def sentence_readings(examples: Examples, i: int, number: int) -> list[Reading]:
    """The parts of a sentence: who speaks, of whom, and whether it is an accusation."""
    bits = examples.readings(i)[number * _INPUTS : (number + 1) * _INPUTS]
    claim, (speaks, whom, what) = bits[-1], _PARTS
    return [
        _agent(speaks, bits[:3]),
        _agent(whom, bits[3:6]),
        Reading(what, _CLAIMS[claim.read], _CLAIMS[claim.taken], _CLAIMS[claim.truth], claim.bits),
    ]


def names_of(chosen: Sequence[bool | None]) -> str | None:
    """The agents that are chosen, by name; None if that is not known.

    Examples:
        >>> names_of([False, True, False]), names_of([True, True, False]), names_of([False] * 3)
        ('Bob', 'A+B', 'none')
    """
    if None in chosen:
        return None
    named = [agent.capitalize() for agent, is_it in zip(AGENTS, chosen, strict=True) if is_it]
    short = named if len(named) == 1 else [name[0] for name in named]
    return "+".join(short) or "none"


def _agent(part: str, readings: Sequence[Reading]) -> Reading:
    """One reading of the three Booleans that name an agent."""
    read, taken, truth = (
        names_of(values)
        for values in zip(*((one.read, one.taken, one.truth) for one in readings), strict=True)
    )
    return Reading(part, read, taken, truth, tuple(bit for one in readings for bit in one.bits))


def _guilty(examples: Examples, i: int) -> tuple[str, str]:
    """The guilty agent by the solver, and in truth."""
    found, truth = (
        names_of([sign > 0 for sign in signs[i].tolist()]) or ""
        for signs in (examples.answer.outputs, examples.batch.targets)
    )
    return found, truth


def _draw_headings(axis: Any) -> None:
    for heading, left in _COLUMNS.items():
        axis.text(
            left + _CHIP / 2, _TOP - 0.12, heading, fontsize=9, color=marks.QUIET, ha="center"
        )  # fmt: skip


def _draw_sentences(axis: Any, examples: Examples, i: int) -> None:
    for number, tokens in enumerate(examples.batch.features[i]):
        top = _TOP + number * _LINE
        axis.text(
            0.1, top + _LINE / 2, written(tokens), fontsize=10, va="center", color=marks.INK
        )  # fmt: skip
        parts = sentence_readings(examples, i, number)
        for reading, left in zip(parts, _COLUMNS.values(), strict=True):
            _draw_chip(axis, reading, left, top)


def _draw_chip(axis: Any, reading: Reading, left: float, top: float) -> None:
    certainty = min(bit.certainty for bit in reading.bits)
    colour, gid = (marks.OVERRULED, marks.MARK) if reading.overruled else (marks.TRUE, None)
    place = (left + 0.04, top + 0.03, _CHIP - 0.08, _LINE - 0.06)
    edge = marks.WRONG if reading.wrong else "none"
    strength = 0.75 if reading.overruled else 0.12 + 0.38 * certainty
    marks.box(axis, place, colour, alpha=strength, gid=gid, linewidth=0)
    marks.box(axis, place, "none", edgecolor=edge, linewidth=1.4)
    axis.text(
        left + _CHIP / 2, top + _LINE / 2, reading.text, fontsize=9, ha="center", va="center",
        color=marks.WRONG if reading.wrong else marks.INK,
    )  # fmt: skip
