"""Signs, the one value convention, and their translation from and to values by symbol name.

A sign is an `int8`: -1 is false, +1 is true, 0 is free (in a query) or none (in an answer).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError, TheoryError
from smtlayer.theory.symbols import Symbol
from smtlayer.theory.values import as_array


def to_signs(logits: Tensor, known: Tensor | None = None) -> Tensor:
    """Converts logits to signs: true above zero, false otherwise, free where not known.

    Examples:
        >>> to_signs(torch.tensor([2.0, 0.0, -1.0]), torch.tensor([True, True, False]))
        tensor([ 1, -1,  0], dtype=torch.int8)
    """
    signs = (logits > 0).to(torch.int8) * 2 - 1
    return signs if known is None else signs * known


def encode_rows(symbols: Sequence[Symbol], values: Mapping[str, Any], role: str) -> Tensor:
    """Signs of shape (..., columns) for values by symbol name; other symbols are 0, free."""
    by_name = {symbol.name: symbol for symbol in symbols}
    for name in values:
        if name not in by_name:
            raise TheoryError(
                f"Theory.encode: {name!r} is not among the {role}, which are {', '.join(by_name)}."
            )
    arrays = {name: as_array(name, value) for name, value in values.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{array.shape} for {name!r}" for name, array in arrays.items())
        raise TheoryError(
            f"Theory.encode expects values whose shapes broadcast together. Got {shapes}."
        ) from error
    parts = []
    for name, symbol in by_name.items():
        signs = np.zeros((*shape, symbol.width), dtype=np.int8)
        if name in arrays:
            signs[...] = symbol.encode(arrays[name])
        parts.append(signs)
    return torch.from_numpy(np.concatenate(parts, axis=-1))


def decode_rows(symbols: Sequence[Symbol], given: Any, role: str) -> dict[str, Any]:
    """Values by symbol name for signs of shape (..., columns)."""
    try:
        plain = given if isinstance(given, Tensor) else torch.as_tensor(given, device="cpu")
        signs = plain.detach().cpu()
        if signs.is_complex():
            raise TypeError("complex numbers have no sign")
        signs = torch.where(signs, 1.0, -1.0) if signs.dtype == torch.bool else signs.double()
    except (RuntimeError, TypeError, ValueError) as error:
        kind = type(given).__name__
        got = f"a {kind} of {given.dtype} on {given.device}" if isinstance(given, Tensor) else kind
        raise ArgumentTypeError(
            f"Theory.decode expects {role} as a tensor of signs, such as layer(logits) or "
            f"layer.solve(logits).{role}. Got {got}."
        ) from error
    width = sum(symbol.width for symbol in symbols)
    if signs.ndim == 0 or signs.shape[-1] != width:
        raise ArgumentError(
            f"Theory.decode expects {role} of shape (..., {width}). Got {tuple(signs.shape)}."
        )
    columns = ((signs > 0).to(torch.int8) - (signs < 0).to(torch.int8)).numpy()
    return {symbol.name: symbol.decode(columns[..., symbol.columns]) for symbol in symbols}
