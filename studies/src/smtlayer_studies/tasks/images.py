"""A view for tasks whose symbols are images: one per symbol, or one wide image for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_studies.tasks import marks
from smtlayer_studies.tasks.blocks import side_by_side
from smtlayer_studies.tasks.examples import Examples, Reading, listed
from smtlayer_studies.tasks.html import template

if TYPE_CHECKING:
    from rich.text import Text

_LEGEND = {
    "true": marks.TRUE,
    "false": marks.FALSE,
    "overruled by the solver": marks.OVERRULED,
    "paler: less certain": "#9db8f5",
    "right": marks.RIGHT,
    "wrong": marks.WRONG,
}
_CSS = """
.digits { display: flex; flex-wrap: wrap; gap: .7rem; margin-bottom: .6rem; }
.digit { flex: 1 1 3.4rem; max-width: 6.2rem; min-width: 0; text-align: center;
  font-size: .84rem; line-height: 1.35; }
.digit img, .strip { width: 100%; border: 1px solid var(--line); border-radius: 8px;
  display: block; height: auto; }
.bits { display: flex; gap: 2px; margin: .3rem 0 .15rem; }
.bits i { flex: 1; height: .5rem; border-radius: 2px; background: var(--line); }
.bits i.on { background: var(--s0); } .bits i.over { background: var(--s1); }
"""
_HTML = """
{%- macro symbol(reading, image) -%}
<div class="digit">
{%- if image is not none -%}
<img src="{{ image|png }}" alt="The image of {{ reading.name }}, which is {{ reading.truth }}"
 width="28" height="28">
{%- endif -%}
<div class="bits" aria-hidden="true">
{%- for bit in reading.bits -%}
<i class="{{ 'over' if bit.overruled else 'on' if bit.taken else 'off' }}"
 style="opacity:{{ '%.2f'|format(0.35 + 0.65 * bit.certainty) }}"></i>
{%- endfor -%}
</div>
<div>{{ reading.name }} = <span
{%- if reading.wrong %} class="wrong"{% elif reading.overruled %} class="changed"{% endif -%}
>{{ reading.text }}</span></div>
{%- if reading.wrong %}<div class="wrong">truth {{ reading.truth }}</div>{% endif -%}
<div class="note">{{ reading.certainty|percent }} sure</div></div>
{%- endmacro -%}
{%- if wide is not none -%}
<div><img class="strip" src="{{ wide|png }}" alt="The image of the example: {% for r in readings -%}
{{ r.name }} is {{ r.truth }}{{ ", " if not loop.last }}{% endfor %}">
{%- endif -%}
<div class="digits">
{%- for reading in readings %}{{ symbol(reading, images[loop.index0]) }}{% endfor -%}
</div>
{%- if wide is not none %}</div>{% endif -%}
"""


@final
@dataclass(frozen=True)
class ImagesView:
    """Shows images, the bits read from them, and the answer.

    Args:
        title: Heading of a figure of test examples.
        kind: Plural noun for the symbols, such as `"digits"`.
        per_figure: How many examples a figure shows by default.
        per_report: How many corrected and how many failed examples a report shows at most.
        searched: How many examples of a split are solved to select those to show.

    Shape:
        - features: $(B, d, h, w)$, one image per symbol, or $(B, h, W)$, one for all of them.
    """

    title: str
    kind: str = "digits"
    per_figure: int = 12
    per_report: int = 6
    searched: int = 1000
    wide: bool = False
    css: str = _CSS

    def figure(self, examples: Examples, title: str) -> Any:
        """Images with the bits as the solver took them, and the answer beside them."""
        draw = _single if examples.batch.features.ndim == 4 else _wide
        return draw(examples, title)

    def html(self, examples: Examples, i: int) -> str:
        """Images with the bits that were read below each."""
        features, readings = examples.batch.features[i], self.symbols(examples, i)
        is_wide = features.ndim == 2
        return template(_HTML).render(
            wide=features if is_wide else None, readings=readings,
            images=[None] * len(readings) if is_wide else features,
        )  # fmt: skip

    def terminal(self, examples: Examples, i: int, width: int) -> "Text | None":
        """Images as block characters."""
        return block_images(examples, i, width)

    def symbols(self, examples: Examples, i: int) -> list[Reading]:
        """One per input symbol."""
        return [reading for reading in examples.readings(i) if reading.truth is not None]

    def answers(self, examples: Examples, i: int) -> tuple[str, str]:
        """All outputs."""
        return examples.answers(i)

    def values(self, theory: Theory, signs: Tensor) -> dict[str, list[Any]]:
        """All input symbols as one kind."""
        return symbol_values(theory, signs, self.kind)


def symbol_values(theory: Theory, signs: Tensor, kind: str) -> dict[str, list[Any]]:
    """Values of all input symbols under one name."""
    found = theory.decode_inputs(signs)
    return {kind: [value for column in found.values() for value in column.tolist()]}


def block_images(examples: Examples, i: int, width: int) -> "Text | None":
    """Images of an example as block characters; of many, only those that deserve attention."""
    from rich.text import Text

    features = examples.batch.features[i]
    if features.ndim == 2:
        images = _pieces(features)
        captions: Sequence[str] = [""] * len(images)
    else:
        every = examples.readings(i)
        names = {r.name for r in listed([r for r in every if r.truth is not None])}
        shown = [place for place, reading in enumerate(every) if reading.name in names]
        images = features[shown]
        captions = [f"{every[place].name} = {every[place].text}" for place in shown]
    if not len(images):
        return None
    return Text(side_by_side(images, captions, width), no_wrap=True, overflow="crop")


def _pieces(wide: Tensor) -> Tensor:
    """A wide image as squares, so that lines can break between them."""
    height, width = wide.shape
    if width % height:
        return wide[None]
    return wide.reshape(height, -1, height).movedim(1, 0)  # (symbols, height, height)


def _single(examples: Examples, title: str) -> Any:
    digits, gap, unit = examples.batch.features.shape[1], 0.12, 0.95
    size = (digits * (1 + gap) + _answer_width(examples, unit), 1.85)
    figure, axes = marks.sheet(len(examples), size, unit, title, _LEGEND)
    for i, axis in enumerate(axes):
        readings = examples.readings(i)
        for place, image in enumerate(examples.batch.features[i]):
            left = gap / 2 + place * (1 + gap)
            marks.picture(axis, image, left, 0.1, 1, 1)
            marks.reading(axis, readings[place], left, 1.15, 1)
        _answer(axis, examples, i, digits * (1 + gap) + 0.08, 0.6)
    return figure


def _wide(examples: Examples, title: str) -> Any:
    height, width = examples.batch.features.shape[1:]
    long, unit = 0.9 * width / height, 0.72  # a symbol is a little smaller than a unit
    size = (long + 0.3 + _answer_width(examples, unit), 2.05)
    figure, axes = marks.sheet(len(examples), size, unit, title, _LEGEND)
    for i, axis in enumerate(axes):
        marks.picture(axis, examples.batch.features[i], 0.1, 0.15, long, 0.9)
        readings = examples.readings(i)
        step = long / len(readings)
        for place, reading in enumerate(readings):
            marks.reading(axis, reading, 0.1 + (place + 0.1) * step, 1.2, 0.8 * step)
        _answer(axis, examples, i, long + 0.3, 0.65)
    return figure


def _answer_width(examples: Examples, unit: float) -> float:
    return marks.answer_width((examples.answers(i)[0] for i in range(len(examples))), unit)


def _answer(axis: Any, examples: Examples, i: int, left: float, middle: float) -> None:
    found, truth = examples.answers(i)
    marks.answer(axis, left, middle, found, examples.notes(i, truth), bool(examples.right[i]))
