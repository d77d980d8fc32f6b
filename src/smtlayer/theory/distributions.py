"""Probabilities of columns as distributions over the values of symbols."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.theory.symbols import Symbol

_ROUNDING = 1e-3  # of half precision


def decode_distributions(
    symbols: Sequence[Symbol], given: Any, role: str
) -> dict[str, dict[Any, Any]]:
    """A distribution for each symbol, and each bit, for probabilities of shape (..., columns)."""
    who = f"Theory.decode_probabilities expects probabilities of {role}"
    try:
        plain = given if isinstance(given, Tensor) else torch.as_tensor(given, device="cpu")
        share = plain.detach().to("cpu", torch.float64).numpy()
    except (RuntimeError, TypeError, ValueError) as error:
        kind = type(given).__name__
        raise ArgumentTypeError(
            f"{who} as a tensor, such as layer.marginals(logits).{role}. Got {kind}."
        ) from error
    width = sum(symbol.width for symbol in symbols)
    if share.ndim == 0 or share.shape[-1] != width:
        raise ArgumentError(f"{who} of shape (..., {width}). Got {share.shape}.")
    wrong = ~((share >= -_ROUNDING) & (share <= 1 + _ROUNDING))
    if wrong.any():
        raise ArgumentError(
            f"{who}, from 0 to 1, such as layer.marginals(logits).{role}. Got {share[wrong][0]:g}."
        )
    columns = [c.item() if c.ndim == 0 else c for c in np.moveaxis(share, -1, 0)]
    found: dict[str, dict[Any, Any]] = {}
    for symbol in symbols:
        own = columns[symbol.columns]
        if symbol.kind == "one-hot":
            found[symbol.name] = dict(zip(symbol.values, own, strict=True))
        else:
            pairs = zip(symbol.column_names, own, strict=True)
            found |= {name: {False: 1 - true, True: true} for name, true in pairs}
    return found
