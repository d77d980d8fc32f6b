"""Reads and validates the fields of a request."""

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from smtlayer_playground.errors import PlaygroundError, TooBigError


def text_field(request: Mapping[str, Any], name: str, max_length: int) -> str:
    """A string of limited length.

    Raises:
        PlaygroundError: If the field is missing, not a string, or too long.
    """
    text = request.get(name)
    if not isinstance(text, str):
        raise PlaygroundError(f"{name!r} must be a string.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise PlaygroundError(f"{name!r} must be Unicode text, without halves of surrogate pairs.")
    if len(text) > max_length:
        raise TooBigError(
            f"{name!r} can have at most {max_length:,} characters. "
            f"Got {len(text):,}: shorten the text."
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


def by_column(
    request: Mapping[str, Any], name: str, read: Callable[[Any], float], max_columns: int
) -> dict[str, float]:
    """An object with one number per column."""
    values = request.get(name, {})
    if not isinstance(values, dict) or len(values) > max_columns:
        raise PlaygroundError(f"{name!r} must be an object with at most {max_columns} columns.")
    return {str(column)[:100]: read(value) for column, value in values.items()}


def whole_number(request: Mapping[str, Any], name: str, low: int, high: int) -> int | None:
    """A whole number from `low` to `high`, or None if the field is missing."""
    value = request.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PlaygroundError(f"{name!r} must be a whole number from {low} to {high}.")
    return value


def decode_image(value: Any, sides: tuple[int, ...]) -> Tensor:
    """A square uint8 image from the base64 of its bytes, 0 for paper and 255 for ink.

    Args:
        value: The base64 string.
        sides: The allowed side lengths in pixels.
    """
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        raw = b""
    for side in sides:
        if len(raw) == side * side:
            return torch.frombuffer(bytearray(raw), dtype=torch.uint8).reshape(side, side)
    raise PlaygroundError(
        f"An image must be the base64 of {' or '.join(f'{s} by {s}' for s in sides)} bytes."
    )


def encode_image(image: Tensor) -> str:
    """The base64 of an image's bytes."""
    return base64.b64encode(image.contiguous().numpy().tobytes()).decode("ascii")
