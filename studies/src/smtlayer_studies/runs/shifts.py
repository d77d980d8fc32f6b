"""Random shifts of images."""

import torch
from torch import Tensor


def shifted_together(images: Tensor, most: int) -> Tensor:
    """All images moved in the same way, by up to `most` pixels in each direction.

    What leaves an image on one side comes back on the other: MNIST digits have a blank margin.
    """
    down, right = torch.randint(-most, most + 1, (2,)).tolist()
    return images.roll((down, right), dims=(-2, -1))


def shifted_each(images: Tensor, most: int) -> Tensor:
    """Each image moved in its own way; otherwise as `shifted_together`."""
    height, width = images.shape[-2:]
    moves = torch.randint(-most, most + 1, (2, *images.shape[:-2], 1), device=images.device)
    rows = (torch.arange(height, device=images.device) - moves[0]) % height  # (..., height)
    columns = (torch.arange(width, device=images.device) - moves[1]) % width
    source = rows[..., :, None] * width + columns[..., None, :]
    return images.flatten(-2).gather(-1, source.flatten(-2)).reshape(images.shape)
