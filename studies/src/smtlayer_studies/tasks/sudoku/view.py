"""The view of visual Sudoku: boards with images of hints and the numbers that were filled in."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_studies.tasks import marks
from smtlayer_studies.tasks.examples import Examples, Reading
from smtlayer_studies.tasks.html import template
from smtlayer_studies.tasks.images import block_images, symbol_values

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_LEGEND = {
    "filled in": marks.TRUE,
    "hint overruled: read → taken": marks.OVERRULED,
    "wrong, with the truth in small": marks.WRONG,
}
_CSS = """
.board { display: grid; grid-template-columns: repeat(var(--n), 1fr); max-width: 25rem;
  border: 2px solid var(--ink); border-radius: 4px; overflow: hidden; margin: 0 0 .6rem;
  font-size: clamp(.8rem, 3.6vw, 1.05rem); }
.board div { aspect-ratio: 1; border: .5px solid var(--line); position: relative; display: grid;
  place-items: center; font-weight: 600; color: var(--blue); min-width: 0; }
.board div.edge-r { border-right: 1.5px solid var(--ink); }
.board div.edge-b { border-bottom: 1.5px solid var(--ink); }
.board img { width: 100%; height: 100%; }
.board .over { background: var(--wash-amber); } .board .bad { background: var(--wash-red); }
.board .bad { color: var(--red); }
.board small { position: absolute; right: 1px; bottom: 0; font-size: .62em; line-height: 1.15;
  padding: 0 2px; border-radius: 3px; background: var(--paper); color: var(--amber); }
.board .bad small { color: var(--red); }
"""
_HTML = """
<div class="board" role="img" style="--n:{{ size }}" aria-label="A Sudoku board with
 {{ hints|length }} hints, {{ overruled }} overruled: {{ answer }}">
{%- for name, truth in wanted.items() -%}
{%- set place = loop.index0 -%}
{%- set hint = hints.get(name) -%}
{%- set wrong = hint.wrong if hint else found[name] != truth -%}
<div class="
{{- 'bad ' if wrong else 'over ' if hint and hint.overruled }}
{{- 'edge-r ' if place % size % box == box - 1 and place % size < size - 1 }}
{{- 'edge-b' if place // size % box == box - 1 and place // size < size - 1 }}">
{%- if hint -%}
<img src="{{ images[place]|png }}" alt="" width="28" height="28">
{%- if hint.wrong or hint.overruled %}<small>{{ hint.text|replace(" ", "") }}</small>{% endif -%}
{%- else -%}
{{ "" if found[name] is none else found[name] }}
{%- if wrong %}<small>{{ truth }}</small>{% endif -%}
{%- endif -%}
</div>
{%- endfor -%}
</div>
"""


@final
@dataclass(frozen=True)
class SudokuView:
    """Shows boards.

    Shape:
        - features: $(B, cells, h, w)$, blank where there is no hint.
    """

    title: str = "Visual Sudoku: hints the network read, and the solver's board"
    per_figure: int = 4
    per_report: int = 2
    searched: int = 100
    wide: bool = True
    css: str = _CSS

    def figure(self, examples: Examples, title: str) -> Any:
        """Boards with the images of their hints and the solver's numbers in the other cells."""
        size = math.isqrt(examples.batch.features.shape[1])
        figure, axes = marks.sheet(len(examples), (size + 0.9, size + 1.1), 0.55, title, _LEGEND)
        for i, axis in enumerate(axes):
            axis.set(xlim=(-0.45, size + 0.45), ylim=(size + 0.3, -0.8))
            _draw_board(axis, examples, i, size)
            self._headline(axis, examples, i)
        return figure

    def html(self, examples: Examples, i: int) -> str:
        """A grid: images where there are hints, numbers elsewhere."""
        found, wanted = examples.outputs(i)
        hints = {hint.name: hint for hint in self.symbols(examples, i)}
        size = math.isqrt(len(wanted))
        return template(_HTML).render(
            found=found, wanted=wanted, hints=hints, images=examples.batch.features[i], size=size,
            box=math.isqrt(size), answer=self.answers(examples, i)[0],
            overruled=sum(hint.overruled for hint in hints.values()),
        )  # fmt: skip

    def terminal(self, examples: Examples, i: int, width: int) -> "Group":
        """Images of the hints that need attention, and the board."""
        from rich.console import Group
        from rich.text import Text

        images = block_images(examples, i, width)
        hints = {hint.name: hint for hint in self.symbols(examples, i)}
        board = _text_board(*examples.outputs(i), hints, failed=not examples.right[i])
        return Group(board) if images is None else Group(images, Text(), board)

    def symbols(self, examples: Examples, i: int) -> list[Reading]:
        """The hints."""
        return [reading for reading in examples.readings(i) if reading.truth is not None]

    def answers(self, examples: Examples, i: int) -> tuple[str, str]:
        """How many cells are wrong."""
        if not examples.answered[i]:
            return "no answer", ""
        found, wanted = examples.outputs(i)
        wrong = sum(found[name] != wanted[name] for name in wanted)
        return (f"{wrong} of {len(wanted)} cells wrong" if wrong else "all cells right"), ""

    def values(self, theory: Theory, signs: Tensor) -> dict[str, list[Any]]:
        """The numbers in all cells."""
        return symbol_values(theory, signs, "digits")

    def _headline(self, axis: Any, examples: Examples, i: int) -> None:
        hints = self.symbols(examples, i)
        overruled = sum(hint.overruled for hint in hints)
        text = f"{len(hints)} hints, {overruled} overruled: {self.answers(examples, i)[0]}"
        colour = marks.RIGHT if examples.right[i] else marks.WRONG
        axis.text(0, -0.3, text, fontsize=10.5, color=colour, ha="left", va="center")


def _draw_board(axis: Any, examples: Examples, i: int, size: int) -> None:
    readings, (found, wanted) = examples.readings(i), examples.outputs(i)
    _draw_hints(axis, examples.batch.features[i], [r.overruled or r.wrong for r in readings])
    _draw_grid(axis, size)
    for cell, reading in enumerate(readings):
        if reading.truth is None:  # no hint
            _draw_number(axis, cell, size, found[reading.name], wanted[reading.name])
        else:
            _mark_hint(axis, cell, size, reading)


def _draw_hints(axis: Any, images: Tensor, marked: list[bool]) -> None:
    """All images as one, so that a board is one picture; marked ones leave room for a line."""
    height, width = images.shape[1:]
    size = math.isqrt(len(images))
    cells = [_smaller(image) if mark else image for image, mark in zip(images, marked, strict=True)]
    board = torch.stack(cells).reshape(size, size, height, width).permute(0, 2, 1, 3)
    marks.picture(axis, board.reshape(size * height, size * width), 0, 0, size, size)


def _smaller(image: Tensor) -> Tensor:
    """Two thirds of its size, near the top."""
    height, width = image.shape
    inner = (height * 2 // 3, width * 2 // 3)
    small = F.interpolate(image[None, None], inner, mode="bilinear", antialias=True)[0, 0]
    top, left = height // 14, (width - inner[1]) // 2
    return F.pad(small, (left, width - inner[1] - left, top, height - inner[0] - top))


def _draw_grid(axis: Any, size: int) -> None:
    box = math.isqrt(size)
    for line in range(size + 1):
        bold = line % box == 0
        style = {
            "color": marks.INK if bold else marks.FALSE, "linewidth": 1.5 if bold else 0.7,
            "zorder": 3 if bold else 2,
        }  # fmt: skip
        axis.plot([0, size], [line, line], **style)
        axis.plot([line, line], [0, size], **style)


def _draw_number(axis: Any, cell: int, size: int, number: Any, truth: int) -> None:
    if number is None:
        return
    top, left = divmod(cell, size)
    colour = marks.TRUE if number == truth else marks.WRONG
    axis.text(
        left + 0.5, top + 0.53, str(number), fontsize=15, color=colour, ha="center", va="center",
        gid="answer",
    )  # fmt: skip
    if number != truth:
        _small_text(axis, left + 0.84, top + 0.8, str(truth), marks.WRONG, "truth")


def _mark_hint(axis: Any, cell: int, size: int, hint: Reading) -> None:
    """A frame, and what was read, where the solver or the truth disagree with the network."""
    if not hint.overruled and not hint.wrong:
        return
    text = hint.text.replace(" ", "") if hint.overruled else f"read {hint.read}"
    top, left = divmod(cell, size)
    colour = marks.OVERRULED if hint.overruled else marks.WRONG
    gid = marks.MARK if hint.overruled else "misread"
    place = (left + 0.05, top + 0.05, 0.9, 0.9)
    frame = {"edgecolor": colour, "linewidth": 2.0, "zorder": 4, "gid": gid}
    marks.box(axis, place, "none", **frame)
    _small_text(axis, left + 0.5, top + 0.81, text, marks.text_colour(hint), "read")


def _small_text(axis: Any, middle: float, height: float, text: str, colour: str, gid: str) -> None:
    axis.text(
        middle, height, text, fontsize=8, fontweight="bold", color=colour, ha="center",
        va="center", zorder=5, gid=gid,
    )  # fmt: skip


def _text_board(
    found: Mapping[str, Any],
    wanted: Mapping[str, Any],
    hints: Mapping[str, Reading],
    *,
    failed: bool,
) -> "Text":
    """The solver's board, hints in bold; with the true board beside it if they differ."""
    from rich.text import Text

    size = math.isqrt(len(wanted))
    box, text = math.isqrt(size), Text()
    for line in range(size):
        cells = list(wanted)[line * size : (line + 1) * size]
        for side in (found, wanted) if failed else (found,):
            text.append("" if side is found else "      truth  " if line == 0 else " " * 13)
            for i, name in enumerate(cells):
                text.append("| " if i and i % box == 0 else "", "dim")
                text.append(f"{side[name] or '?'} ", _style(name, side, wanted, hints))
        text.append("\n" if line + 1 < size else "")
        if (line + 1) % box == 0 and line + 1 < size:
            text.append("\n")
    return text


def _style(
    name: str, side: Mapping[str, Any], truth: Mapping[str, Any], hints: Mapping[str, Reading]
) -> str:
    hint = "bold" if name in hints else ""
    if side[name] != truth[name]:
        return f"{hint} red"
    overruled = name in hints and side is not truth and hints[name].overruled
    return f"{hint} yellow" if overruled else hint
