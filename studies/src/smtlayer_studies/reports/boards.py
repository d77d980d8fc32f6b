"""This file draws Sudoku boards: hints as images, and the numbers that the solver fills in."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer_studies.reports import marks
from smtlayer_studies.tasks.examples import Examples, Reading

_LEGEND = {
    "filled in": marks.TRUE,
    "hint overruled: read → taken": marks.OVERRULED,
    "wrong, with the truth in small": marks.WRONG,
}


def boards_figure(examples: Examples, title: str) -> Any:
    """Boards with the images of their hints in place and the solver's numbers in the other cells.

    Shape:
        - features: $(B, cells, h, w)$, blank where there is no hint.
    """
    cells = examples.batch.features.shape[1]
    size = math.isqrt(cells)
    figure, axes = marks.sheet(len(examples), (size + 0.9, size + 1.1), 0.55, title, _LEGEND)
    found = examples.theory.decode(examples.answer.outputs)
    wanted = examples.theory.decode(examples.batch.targets * 2 - 1)
    for row, axis in enumerate(axes):
        told = examples.readings(row)
        axis.set(xlim=(-0.45, size + 0.45), ylim=(size + 0.3, -0.8))
        marked = [reading.overruled or reading.wrong for reading in told]
        _hints(axis, examples.batch.features[row], marked)
        _grid(axis, size)
        pairs = [(found[reading.name][row], wanted[reading.name][row]) for reading in told]
        for cell, (reading, (number, truth)) in enumerate(zip(told, pairs, strict=True)):
            if reading.truth is None:  # no hint
                _filled(axis, cell, size, number, truth)
            else:
                _mark_hint(axis, cell, size, reading)
        _headline(axis, examples, row, told, sum(number != truth for number, truth in pairs))
    return figure


def _hints(axis: Any, images: Tensor, marked: list[bool]) -> None:
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


def _grid(axis: Any, size: int) -> None:
    box = math.isqrt(size)
    for line in range(size + 1):
        bold = line % box == 0
        style = {
            "color": marks.INK if bold else marks.FALSE, "linewidth": 1.5 if bold else 0.7,
            "zorder": 3 if bold else 2,
        }  # fmt: skip
        axis.plot([0, size], [line, line], **style)
        axis.plot([line, line], [0, size], **style)


def _filled(axis: Any, cell: int, size: int, number: Any, truth: int) -> None:
    if number is None:
        return
    top, left = divmod(cell, size)
    colour = marks.TRUE if number == truth else marks.WRONG
    axis.text(
        left + 0.5, top + 0.53, str(number), fontsize=15, color=colour, ha="center", va="center",
        gid="answer",
    )  # fmt: skip
    if number != truth:
        _small(axis, left + 0.84, top + 0.8, str(truth), marks.WRONG, "truth")


def _mark_hint(axis: Any, cell: int, size: int, told: Reading) -> None:
    """A frame, and what was read, where the solver or the truth disagree with the network."""
    if not told.overruled and not told.wrong:
        return
    text = told.text.replace(" ", "") if told.overruled else f"read {told.read}"
    top, left = divmod(cell, size)
    colour = marks.OVERRULED if told.overruled else marks.WRONG
    gid = marks.MARK if told.overruled else "misread"
    place = (left + 0.05, top + 0.05, 0.9, 0.9)
    frame = {"edgecolor": colour, "linewidth": 2.0, "zorder": 4, "gid": gid}
    marks.box(axis, place, "none", **frame)
    _small(axis, left + 0.5, top + 0.81, text, marks.text_colour(told), "read")


def _small(axis: Any, middle: float, height: float, text: str, colour: str, gid: str) -> None:
    axis.text(
        middle, height, text, fontsize=8, fontweight="bold", color=colour, ha="center",
        va="center", zorder=5, gid=gid,
    )  # fmt: skip


def _headline(axis: Any, examples: Examples, row: int, told: list[Reading], wrong: int) -> None:
    hints = sum(reading.truth is not None for reading in told)
    overruled = sum(reading.overruled for reading in told)
    if not examples.answered[row]:
        end = "no answer"
    else:
        end = f"{wrong} of {len(told)} cells wrong" if wrong else "all cells right"
    text = f"{hints} hints, {overruled} overruled: {end}"
    colour = marks.RIGHT if examples.right[row] else marks.WRONG
    axis.text(0, -0.3, text, fontsize=10.5, color=colour, ha="left", va="center")
