"""Converts drawings to the format of MNIST."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer_playground.fields import decode_image

SIDE = 28  # of an MNIST image, in pixels
DRAWN_SIDE = 140  # of a drawing
_BOX = 20  # the longer side of a digit in an MNIST image
_MIDDLE = 14.5  # the centre of mass of an MNIST image, in the centre of pixel 14
_PAPER = 24  # of 255: the brightest value that is not ink


def digit_image(value: Any) -> Tensor:
    """An image of a request in MNIST's format: (28, 28) uint8.

    An image that has MNIST's size is not changed. None gives a blank image.
    """
    if value is None:
        return torch.zeros(SIDE, SIDE, dtype=torch.uint8)
    image = decode_image(value, (SIDE, DRAWN_SIDE))
    return image if image.shape[-1] == SIDE else like_mnist(image)


def like_mnist(drawing: Tensor) -> Tensor:
    """Converts a drawing to MNIST's format: (h, w) to (28, 28), uint8.

    The digit is scaled so that its longer side has 20 pixels, darkened to MNIST's ink, and moved so
    that its centre of mass is in the middle. A blank drawing gives a blank image.

    Examples:
        >>> drawing = torch.zeros(140, 140, dtype=torch.uint8)
        >>> drawing[10:60, 20:30] = 255
        >>> rows, columns = like_mnist(drawing).nonzero().T
        >>> rows.min().item(), rows.max().item(), columns.float().mean().round().item()
        (4, 23, 14.0)
    """
    ink = (drawing > _PAPER).nonzero()
    if len(ink) == 0:
        return torch.zeros(SIDE, SIDE, dtype=torch.uint8)
    (top, left), (bottom, right) = ink.amin(0).tolist(), ink.amax(0).tolist()
    digit = _scaled(drawing[top : bottom + 1, left : right + 1].float())
    return _centred(digit * (255 / digit.max())).round().clamp(0, 255).to(torch.uint8)


def _scaled(digit: Tensor) -> Tensor:
    longer = max(digit.shape)
    height, width = (max(1, round(_BOX * side / longer)) for side in digit.shape)
    return F.interpolate(
        digit[None, None], (height, width), mode="bilinear", antialias=True, align_corners=False
    )[0, 0]


def _centred(digit: Tensor) -> Tensor:
    """Moves the centre of mass to the middle of 28 by 28 pixels, without cutting the digit."""
    image = torch.zeros(SIDE, SIDE)
    corner = []
    for dim, size in enumerate(digit.shape):
        positions = torch.arange(size) + 0.5
        centre = (digit.sum(1 - dim) * positions).sum() / digit.sum()
        corner.append(min(max(round(_MIDDLE - float(centre)), 0), SIDE - size))
    top, left = corner
    image[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
    return image
