"""This file translates values by symbol name into signs by column, and back, for many rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import z3
from torch import Tensor

from smtlayer.errors import TheoryError
from smtlayer.theory.encodings import Encoding
from smtlayer.theory.values import python_value


def encode_rows(encodings: Sequence[Encoding], values: Mapping[str, Any], role: str) -> Tensor:
    """Signs of shape (..., columns); symbols not named are 0, free."""
    by_name = {e.name: e for e in encodings}
    for name in values:
        if name not in by_name:
            raise TheoryError(
                f"Theory.encode: {name!r} is not among the {role}, which are {', '.join(by_name)}."
            )
    arrays = {name: _array(name, value) for name, value in values.items()}
    shape = _shared_shape(arrays)
    parts = []
    for name, encoding in by_name.items():
        width = len(encoding.columns)
        signs = np.zeros((*shape, width), dtype=np.int8)
        if name in arrays:
            signs[...] = encoding.encode(arrays[name])
        parts.append(signs)
    return torch.from_numpy(np.concatenate(parts, axis=-1))


def _array(name: str, value: Any) -> Any:
    value = python_value(value) if z3.is_expr(value) else value
    try:
        if isinstance(value, Tensor):
            host = value.detach().cpu()
            return np.asarray(host.double() if host.is_floating_point() else host)
        array = np.asarray(value)
        return array if isinstance(value, np.ndarray) else _as_given(array, value)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        raise TheoryError(
            f"Theory.encode expects one value for {name!r}, or an array of them with rows of the "
            f"same length. Got {value!r}."
        ) from error


def _as_given(array: Any, value: Any) -> Any:
    """Undoes what numpy does to mixed lists: large integers become floats, and numbers texts."""
    if array.dtype.kind not in "fUO":
        return array
    exact = np.array(value, dtype=object)
    members = exact.ravel().tolist()
    if array.dtype.kind == "O":
        exact = np.empty(len(members), dtype=object)
        exact[:] = [python_value(member) if z3.is_expr(member) else member for member in members]
        return exact.reshape(array.shape)
    same = str if array.dtype.kind == "U" else float | np.floating | Tensor
    return array if all(isinstance(member, same) for member in members) else exact


def _shared_shape(arrays: Mapping[str, Any]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{array.shape} for {name!r}" for name, array in arrays.items())
        raise TheoryError(
            f"Theory.encode expects values whose shapes broadcast together. Got {shapes}."
        ) from error


def decode_rows(encodings: Sequence[Encoding], given: Any, role: str) -> dict[str, Any]:
    """Values by symbol name for signs of shape (..., columns)."""
    try:
        plain = given if isinstance(given, Tensor) else torch.as_tensor(given, device="cpu")
        signs = plain.detach().cpu()
        if signs.is_complex():
            raise TypeError("complex numbers have no signs")
        signs = torch.where(signs, 1.0, -1.0) if signs.dtype == torch.bool else signs.double()
    except (RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"Theory.decode expects {role} as a tensor of signs, such as layer(logits) or "
            f"layer.solve(logits).{role}. Got {_told(given)}."
        ) from error
    width = sum(len(e.columns) for e in encodings)
    if signs.ndim == 0 or signs.shape[-1] != width:
        raise ValueError(
            f"Theory.decode expects {role} of shape (..., {width}). Got {tuple(signs.shape)}."
        )
    columns = ((signs > 0).to(torch.int8) - (signs < 0).to(torch.int8)).numpy()
    values, start = {}, 0
    for encoding in encodings:
        part = columns[..., start : start + len(encoding.columns)]
        start += len(encoding.columns)
        values[encoding.name] = _with_none(encoding, part)
    return values


def _told(given: Any) -> str:
    kind = type(given).__name__
    return f"a {kind} of {given.dtype} on {given.device}" if isinstance(given, Tensor) else kind


def _with_none(encoding: Encoding, signs: Any) -> Any:
    read = encoding.reads(signs)
    values = encoding.decode(signs)
    if not read.all():
        values = values.astype(object)
        values[~read] = None
    return values[()].item() if values.ndim == 0 and values.dtype != object else values[()]
