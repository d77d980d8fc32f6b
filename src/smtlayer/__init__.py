"""A PyTorch layer whose behaviour is an SMT formula."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_PACKAGES = ("errors", "nn", "solvers", "theory")

# Names come when they are asked for: torch takes seconds, and `smtlayer --help` needs none of it.
if TYPE_CHECKING:
    from smtlayer.api import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return import_module(f"smtlayer.{name}")
        if name == "__all__":  # what a star brings
            return list(_offered())
        if name.startswith("_") or name not in _offered():
            raise AttributeError(f"module 'smtlayer' has no attribute {name!r}")
        return _offered()[name]


def __dir__() -> list[str]:
    return sorted({*_offered(), *_PACKAGES, "__version__"})


@cache
def _offered() -> dict[str, Any]:
    names = vars(import_module("smtlayer.api"))
    return {name: value for name, value in names.items() if not name.startswith("_")}
