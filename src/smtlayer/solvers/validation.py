"""Validates the options of backends and the tensors of queries."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.plain import number, whole
from smtlayer.theory import Theory


def check_limit(who: str, name: str, value: object) -> None:
    """Raises unless a limit is a number above zero, possibly infinite."""
    wrong = f"{who} expects {name} above 0. Got {value!r}."
    try:
        fits = number(value) > 0
    except TypeError as error:
        raise ArgumentTypeError(wrong) from error
    except OverflowError:  # an integer of hundreds of digits
        fits = False
    if not fits:
        raise ArgumentError(wrong)


def check_limits(options: object, *names: str) -> None:
    """Raises unless the named options are numbers above zero."""
    for name in names:
        check_limit(type(options).__name__, name, getattr(options, name))


def check_count(who: str, name: str, value: object, least: int = 1, most: float = math.inf) -> None:
    """Raises unless a value is a whole number, no less than `least` and no more than `most`."""
    reach = f"of {least} or more" if most == math.inf else f"from {least} to {most:.0f}"
    wrong = f"{who} expects {name} as a whole number {reach}. Got {value!r}."
    try:
        fits = least <= whole(value) <= most
    except TypeError as error:
        raise ArgumentTypeError(wrong) from error
    if not fits:
        raise ArgumentError(wrong)


def check_theory_given(who: str, theory: object) -> None:
    """Raises unless a backend is given a theory to compile."""
    if not isinstance(theory, Theory):
        raise ArgumentTypeError(f"{who}.compile expects a Theory. Got {type(theory).__name__}.")


def check_question(
    who: str,
    theory: Theory,
    inputs: Tensor,
    weights: Tensor | None = None,
    outputs: Tensor | None = None,
    *,
    values: bool = True,
) -> None:
    """Validates the tensors of a query.

    `values` asks to check values besides shapes. On a GPU they are never checked, because that
    would force a synchronization.
    """
    n, m = theory.n_inputs, theory.n_outputs
    if not isinstance(inputs, Tensor) or inputs.ndim != 2 or inputs.shape[1] != n:
        raise _wrong(who, "inputs", f"a tensor of signs of shape (rows, {n})", inputs)
    if outputs is not None:
        if not isinstance(outputs, Tensor) or outputs.ndim != 2 or outputs.shape[1] != m:
            raise _wrong(who, "outputs", f"a tensor of signs of shape (rows, {m})", outputs)
        if len(outputs) != len(inputs):
            raise ArgumentError(
                f"{who} expects as many rows of outputs as of inputs, {len(inputs)}. "
                f"Got {len(outputs)}."
            )
        if values:
            _check_signs(who, "outputs", outputs)
    if values:
        _check_signs(who, "inputs", inputs)
    if weights is not None:
        if not isinstance(weights, Tensor) or weights.shape != inputs.shape:
            raise _wrong(who, "weights", f"a tensor of shape {tuple(inputs.shape)}", weights)
        if values and weights.is_cpu and inputs.is_cpu and len(weights):
            low, high = torch.where(inputs != 0, weights, 1).aminmax()
            if not 0 < low.item() <= high.item():  # nor NaN
                raise _wrong_weights(who, inputs != 0, weights)


def sign_array(who: str, name: str, signs: Tensor) -> NDArray[np.int8]:
    """The signs as an array on the host, after a check of their values."""
    host = signs.detach().cpu()
    array: NDArray[np.int8] = host.to(torch.int8).numpy()
    # numpy is faster than torch for small batches.
    if host.dtype != torch.int8 or (len(array) and not -1 <= array.min() <= array.max() <= 1):
        _check_signs(who, name, host)
    return array


def weight_array(who: str, weights: Tensor, inputs: NDArray[np.int8]) -> NDArray[np.float64]:
    """The weights as an array on the host, after a check of those of observed inputs."""
    array: NDArray[np.float64] = weights.detach().to("cpu", torch.float64).numpy()
    values = np.where(inputs != 0, array, 1.0)
    if len(values) and not values.min() > 0:  # nor NaN
        raise _wrong_weights(who, torch.from_numpy(inputs != 0), torch.from_numpy(array))
    return array


def _check_signs(who: str, name: str, signs: Tensor) -> None:
    if not signs.is_cpu or not len(signs):
        return
    if signs.dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        low, high = signs.aminmax()
        if low.item() >= -1 and high.item() <= 1:
            return
    bad = signs.sign() != signs if signs.dtype != torch.bool else torch.ones_like(signs)
    if bad.any():
        raise ArgumentError(
            f"{who} expects {name} as signs: -1 for false, 1 for true, 0 for free. "
            f"{_first(bad, signs)} to_signs(logits) makes signs of logits."
        )


def _wrong_weights(who: str, observed: Tensor, weights: Tensor) -> Exception:
    bad = ~(weights > 0) & observed
    return ArgumentError(
        f"{who} expects weights above 0 wherever an input is observed, infinite for a fact. "
        f"{_first(bad, weights)}"
    )


def _first(bad: Tensor, values: Tensor) -> str:
    row, column = bad.nonzero()[0].tolist()
    return f"Row {row}, column {column} is {values[row, column].item()}."


def _wrong(who: str, name: str, expected: str, given: object) -> Exception:
    kind = TypeError if not isinstance(given, Tensor) else ValueError
    came = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
    return kind(f"{who} expects {name} as {expected}. Got {came}.")
