"""Rows of images for two numbers, each image in one row, and the digits of their sums."""

import torch
from torch import Tensor


def rows_of_images(images: int, per_row: int, seed: int) -> Tensor:
    """Random rows in which each image occurs at most once: (images // per_row, per_row) indices.

    Images that do not fill a row are left out.
    """
    order = torch.randperm(images, generator=torch.Generator().manual_seed(seed))
    return order[: images - images % per_row].reshape(-1, per_row)


def digits_of_sum(a: Tensor, b: Tensor) -> Tensor:
    """The digits of the sums of numbers, most significant first: (N, length) to (N, length + 1).

    Examples:
        >>> digits_of_sum(torch.tensor([[9, 5]]), torch.tensor([[0, 7]]))
        tensor([[1, 0, 2]])
    """
    digits, carry = [], torch.zeros_like(a[:, 0])
    for i in reversed(range(a.shape[-1])):
        column = a[:, i] + b[:, i] + carry
        digits.append(column % 10)
        carry = column // 10
    return torch.stack([carry, *reversed(digits)], dim=-1)
