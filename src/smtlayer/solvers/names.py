"""Backends by their names."""

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from smtlayer.errors import ArgumentError, ArgumentTypeError, did_you_mean
from smtlayer.solvers.auto import Auto
from smtlayer.solvers.base import Backend
from smtlayer.solvers.circuit.circuit import Circuit
from smtlayer.solvers.enumerate import Enumerate
from smtlayer.solvers.sat import Sat
from smtlayer.solvers.table.table import Table
from smtlayer.solvers.z3 import Z3

BackendName = Literal["auto", "table", "circuit", "sat", "z3", "enumerate"]
BACKENDS: Mapping[str, Callable[..., Backend]] = dict(
    zip(get_args(BackendName), (Auto, Table, Circuit, Sat, Z3, Enumerate), strict=True)
)


def backend_of(who: str, given: BackendName | Backend) -> Backend:
    """The backend that is given, or the one of this name with its default options."""
    if isinstance(given, str):
        if given not in BACKENDS:
            names = ", ".join(map(repr, BACKENDS))
            hint = did_you_mean(given.lower(), BACKENDS)
            raise ArgumentError(f"{who}: backend={given!r} is not one of {names}.{hint}")
        return BACKENDS[given]()
    if isinstance(given, type) or not callable(getattr(given, "compile", None)):
        raise ArgumentTypeError(
            f"{who} expects a backend such as Auto() or Z3(), or its name. Got {given!r}."
        )
    return given
