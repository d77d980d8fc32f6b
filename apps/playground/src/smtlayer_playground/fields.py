"""This file reads the fields of a question, and refuses what is not one."""

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from smtlayer_playground.errors import PlaygroundError, TooBigError


def text_field(question: Mapping[str, Any], name: str, most: int) -> str:
    """A text of limited length.

    Raises:
        PlaygroundError: If it is none, or too long.
    """
    text = question.get(name)
    if not isinstance(text, str):
        raise PlaygroundError(f"{name!r} must be a text.")
    if len(text) > most:
        raise TooBigError(
            f"{name!r} may have up to {most:,} characters. It has {len(text):,}: make it shorter."
        )
    return text


def number(value: Any, name: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PlaygroundError(f"{name!r} must be a number.")
    return float(value)


def sign(value: Any) -> int:
    """-1, 0 or 1."""
    if isinstance(value, bool) or value not in (-1, 0, 1):
        raise PlaygroundError("A sign must be -1, 0 or 1.")
    return int(value)


def whole(question: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    """A whole number from `least` to `most`, or None if it is not given."""
    value = question.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise PlaygroundError(f"{name!r} must be a whole number from {least} to {most}.")
    return value


def picture(value: Any, sides: tuple[int, ...]) -> Tensor:
    """A square picture out of the base64 of its bytes, 0 for paper and 255 for ink: uint8.

    Args:
        value: The text.
        sides: How many pixels its side may have.
    """
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        raw = b""
    for side in sides:
        if len(raw) == side * side:
            return torch.frombuffer(bytearray(raw), dtype=torch.uint8).reshape(side, side)
    raise PlaygroundError(
        f"A picture must be the base64 of its bytes, {' or '.join(f'{s} by {s}' for s in sides)}."
    )


def as_text(image: Tensor) -> str:
    """A picture as the base64 of its bytes."""
    return base64.b64encode(image.contiguous().numpy().tobytes()).decode("ascii")
