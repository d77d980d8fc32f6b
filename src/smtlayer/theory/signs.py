"""This file states the one value convention: signs.

A sign is an `int8`: -1 is false, +1 is true, 0 is free (as a question) or none (as an answer).
"""

import torch
from torch import Tensor


def to_signs(logits: Tensor, known: Tensor | None = None) -> Tensor:
    """The truth value each logit stands for: true above zero, false otherwise, free if not known.

    Examples:
        >>> to_signs(torch.tensor([2.0, 0.0, -1.0]), torch.tensor([True, True, False]))
        tensor([ 1, -1,  0], dtype=torch.int8)
    """
    signs = (logits > 0).to(torch.int8) * 2 - 1
    return signs if known is None else signs * known
