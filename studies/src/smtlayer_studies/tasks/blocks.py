"""Small images as block characters, for terminals."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

_INK = 0.35  # from here on a pixel is ink
_GAP = 3
_BLOCKS = (" ", "▄", "▀", "█")  # by whether the lower and the upper half are ink


def half_blocks(image: Tensor) -> list[str]:
    """An image with two rows of pixels per line of text.

    Args:
        image: $(h, w)$, 0 for paper and 1 for ink.

    Examples:
        >>> import torch
        >>> print("\\n".join(half_blocks(torch.tensor([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]]))))
        █▄
          ▀
    """
    ink = (F.pad(image, (0, 0, 0, image.shape[0] % 2)) > _INK).int()
    codes = ink[0::2] * 2 + ink[1::2]  # (lines, w)
    return ["".join(_BLOCKS[code] for code in line).rstrip() for line in codes.tolist()]


def side_by_side(images: Tensor, captions: Sequence[str], width: int) -> str:
    """Images side by side, each with a caption below, in as many rows as necessary.

    Args:
        images: $(d, h, w)$.
        captions: One per image; if all are empty, there is no line for them.
        width: Characters per line. Images that do not fit side by side are scaled down to half
            their size, or until one fits.
    """
    small = _cropped(images)
    if _wide(small, len(small)) > width:
        times = max(2, -(-small.shape[-1] // max(1, width)))
        small = F.avg_pool2d(small[None], times, ceil_mode=True)[0]
    column = max(small.shape[-1], *map(len, captions))
    fit = max(1, (width + _GAP) // (column + _GAP))
    parts = []
    for start in range(0, len(small), fit):
        drawn = [half_blocks(image) for image in small[start : start + fit]]
        named = [*zip(*drawn, strict=True)]
        named += [tuple(captions[start : start + fit])] if any(captions) else []
        lines = [(" " * _GAP).join(f"{part:<{column}}" for part in line) for line in named]
        parts.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(parts)


def _cropped(images: Tensor) -> Tensor:
    """Removes rows that are blank in all images at the top and at the bottom."""
    ink = (images > _INK).any(0).any(-1).nonzero().flatten()
    return images[:, int(ink[0]) : int(ink[-1]) + 1] if len(ink) else images[:, :2]


def _wide(images: Tensor, count: int) -> int:
    return count * (images.shape[-1] + _GAP) - _GAP
