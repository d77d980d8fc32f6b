"""This file makes drawings look like MNIST: in a box of 20 by 20, centred by their mass in 28."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer_playground.fields import picture

SIDE = 28  # of an image of MNIST
DRAWN = 140  # of a drawing
_BOX = 20
_MIDDLE = 14.5  # the centre of pixel 14, which is where MNIST has the centre of mass
_INK = 24  # of 255: fainter is paper


def digit_image(value: Any) -> Tensor:
    """A picture that somebody sent, as an image of MNIST; None for a blank one.

    What has MNIST's size already is taken as it is; drawings are larger.
    """
    if value is None:
        return torch.zeros(SIDE, SIDE, dtype=torch.uint8)
    image = picture(value, (SIDE, DRAWN))
    return image if image.shape[-1] == SIDE else like_mnist(image)


def like_mnist(drawing: Tensor) -> Tensor:
    """A drawing as an image of MNIST: (h, w) to (28, 28), uint8. Nothing drawn gives a blank.

    What is drawn is scaled so that its longer side has 20 pixels, made as dark as MNIST's ink, and
    moved so that its centre of mass is in the middle.

    Examples:
        >>> drawing = torch.zeros(140, 140, dtype=torch.uint8)
        >>> drawing[10:60, 20:30] = 255
        >>> rows, columns = like_mnist(drawing).nonzero().T
        >>> rows.min().item(), rows.max().item(), columns.float().mean().round().item()
        (4, 23, 14.0)
    """
    ink = (drawing > _INK).nonzero()
    if len(ink) == 0:
        return torch.zeros(SIDE, SIDE, dtype=torch.uint8)
    (top, left), (bottom, right) = ink.amin(0).tolist(), ink.amax(0).tolist()
    cut = drawing[top : bottom + 1, left : right + 1].float()
    small = _scaled(cut)
    small = small * (255 / small.max())
    return _centred(small).round().clamp(0, 255).to(torch.uint8)


def _scaled(cut: Tensor) -> Tensor:
    longer = max(cut.shape)
    height, width = (max(1, round(_BOX * side / longer)) for side in cut.shape)
    return F.interpolate(
        cut[None, None], (height, width), mode="bilinear", antialias=True, align_corners=False
    )[0, 0]


def _centred(small: Tensor) -> Tensor:
    """On 28 by 28 pixels with its centre of mass in the middle, as far as it stays whole."""
    image = torch.zeros(SIDE, SIDE)
    mass = small.sum()
    corner = []
    for dim, size in enumerate(small.shape):
        places = torch.arange(size) + 0.5
        centre = (small.sum(1 - dim) * places).sum() / mass
        corner.append(min(max(round(_MIDDLE - float(centre)), 0), SIDE - size))
    top, left = corner
    image[top : top + small.shape[0], left : left + small.shape[1]] = small
    return image
