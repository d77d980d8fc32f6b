"""This file lets commands name our packages without importing them before they are used.

So `smtlayer train --help` and completion need not wait for torch.
"""

from importlib import import_module
from typing import Any, final


@final
class Later:
    """Stands for a module, which is imported when something of it is first asked for.

    Examples:
        >>> fractions = Later("fractions")
        >>> fractions.Fraction(1, 2)
        Fraction(1, 2)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
