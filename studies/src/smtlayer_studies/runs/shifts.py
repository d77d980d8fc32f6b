"""Random shifts and turns of images."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F


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


def turned(images: Tensor, most: float) -> Tensor:
    """Each image turned about its centre, by up to `most` degrees in either direction."""
    flat = images.reshape(-1, 1, *images.shape[-2:])
    angle = (torch.rand(len(flat), device=images.device) * 2 - 1) * math.radians(most)
    cos, sin = angle.cos(), angle.sin()
    zero = torch.zeros_like(cos)
    turn = torch.stack([cos, -sin, zero, sin, cos, zero], dim=-1).view(-1, 2, 3).to(flat.dtype)
    grid = F.affine_grid(turn, list(flat.shape), align_corners=False)
    return F.grid_sample(flat, grid, align_corners=False).reshape(images.shape)
