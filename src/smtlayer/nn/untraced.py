"""Keeps torch.compile out of functions that it cannot trace, without importing its compiler.

`torch.compiler.disable` imports torch._dynamo where it decorates, which takes as long as torch
itself and needs a writable temporary folder. Tracing needs that module, so until it is imported
functions run as they are.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch

from smtlayer.nn.validate import UNTRACEABLE

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def untraced(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Makes torch.compile break its graph at the function, which runs eagerly."""

    eager: Any = None

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        nonlocal eager
        if "torch._dynamo" not in sys.modules:
            return function(*args, **kwargs)
        if eager is None:
            eager = torch.compiler.disable(function)  # type: ignore[no-untyped-call]
        return eager(*args, **kwargs)  # type: ignore[no-any-return]

    # These attributes tell the compiler not to inline the call.
    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    call._torchdynamo_disable_msg = UNTRACEABLE  # type: ignore[attr-defined]
    return call
