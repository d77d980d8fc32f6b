"""This file draws rows whose symbols are images: each by itself, or all in one wide image."""

from typing import Any

from smtlayer_studies.reports import marks
from smtlayer_studies.tasks.examples import Examples

_LEGEND = {
    "true": marks.TRUE,
    "false": marks.FALSE,
    "overruled by the solver": marks.OVERRULED,
    "paler: less certain": "#9db8f5",
    "right": marks.RIGHT,
    "wrong": marks.WRONG,
}


def images_figure(examples: Examples, title: str) -> Any:
    """Rows of images of single symbols or of one wide image, with the bits read from them.

    Below the images stand the bits as the solver took them, orange where it overruled the network,
    and the numbers they make; beside them the answer.

    Shape:
        - features: $(B, d, h, w)$, an image a symbol, or $(B, h, W)$, one for all of them.
    """
    if examples.batch.features.ndim == 4:
        return _single(examples, title)
    return _wide(examples, title)


def _single(examples: Examples, title: str) -> Any:
    digits, gap, unit = examples.batch.features.shape[1], 0.12, 0.95
    size = (digits * (1 + gap) + _answer_width(examples, unit), 1.85)
    figure, axes = marks.sheet(len(examples), size, unit, title, _LEGEND)
    for row, axis in enumerate(axes):
        told = examples.readings(row)
        for i, image in enumerate(examples.batch.features[row]):
            left = gap / 2 + i * (1 + gap)
            marks.picture(axis, image, left, 0.1, 1, 1)
            marks.reading(axis, told[i], left, 1.15, 1)
        _answer(axis, examples, row, digits * (1 + gap) + 0.08, 0.6)
    return figure


def _wide(examples: Examples, title: str) -> Any:
    height, width = examples.batch.features.shape[1:]
    long, unit = 0.9 * width / height, 0.72  # a symbol is a little smaller than a unit
    size = (long + 0.3 + _answer_width(examples, unit), 2.05)
    figure, axes = marks.sheet(len(examples), size, unit, title, _LEGEND)
    for row, axis in enumerate(axes):
        marks.picture(axis, examples.batch.features[row], 0.1, 0.15, long, 0.9)
        told = examples.readings(row)
        step = long / len(told)
        for i, symbol in enumerate(told):
            marks.reading(axis, symbol, 0.1 + (i + 0.1) * step, 1.2, 0.8 * step)
        _answer(axis, examples, row, long + 0.3, 0.65)
    return figure


def _answer_width(examples: Examples, unit: float) -> float:
    texts = (examples.answers(row)[0] for row in range(len(examples)))
    return marks.answer_width(texts, unit)


def _answer(axis: Any, examples: Examples, row: int, left: float, middle: float) -> None:
    right = bool(examples.right[row])
    marks.answer(axis, left, middle, examples.answers(row)[0], examples.notes(row), right)
