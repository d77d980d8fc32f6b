"""This file holds what a row solver is made from, here or in another process."""

import hashlib
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from smtlayer.errors import ArgumentTypeError, SolverCrashedError
from smtlayer.solvers.base import RowSolver
from smtlayer.solvers.lru import Lru
from smtlayer.theory import Theory

OpenRow = Callable[[Theory], RowSolver]


@final
class RowSolverHandle:
    """A row solver: opened when first needed, and anew after it failed."""

    def __init__(self, open_row: OpenRow, theory: Theory) -> None:
        self._open_row, self._theory = open_row, theory
        self._row: RowSolver | None = None
        self._ever = False

    def prepare(self) -> None:
        """Opens it if it never was, so that the caller learns of a theory that cannot be opened."""
        if not self._ever:
            self.row()

    def row(self) -> RowSolver:
        """The row solver, ready for a question."""
        if self._row is None:
            self._row = self._open_row(self._theory)
            self._ever = True
        return self._row

    def drop(self) -> None:
        """Forgets the row solver, which may be left in any state."""
        self._row = None


@dataclass(frozen=True)
class RowSolverSpec:
    """A theory and the function that opens its row solver, as bytes that travel."""

    key: str
    data: bytes

    @classmethod
    def of(cls, open_row: OpenRow, theory: Theory, name: str) -> "RowSolverSpec":
        """The recipe for a row solver that answers in the name given."""
        try:
            data = pickle.dumps((open_row, theory))
        except Exception as error:
            raise ArgumentTypeError(
                f"{name} cannot send {open_row!r} to worker processes: {error}. Define it at the "
                f"top of a module that can be imported, or use workers=0."
            ) from error
        return cls(hashlib.sha256(data).hexdigest(), data)

    def open(self) -> RowSolverHandle:
        """The opened row solver.

        Raises:
            SolverCrashedError: With the text of what went wrong.
        """
        try:
            opened = RowSolverHandle(*pickle.loads(self.data))
        except Exception as error:
            raise _refusal(
                error,
                "A worker process cannot load the backend ({}). Define it in a module that can be "
                "imported there: what the running script itself defines is not known to workers.",
            ) from None
        try:
            opened.prepare()
        except Exception as error:
            raise _refusal(error, "A worker process cannot open the theory ({}).") from None
        return opened


def _refusal(error: Exception, text: str) -> SolverCrashedError:
    refusal = SolverCrashedError(text.format(f"{type(error).__name__}: {error}"))
    refusal.add_note(traceback.format_exc())  # notes travel between processes; causes do not
    return refusal


@final
class RowSolverCache:
    """The row solvers that a worker has opened: those of the last few theories."""

    def __init__(self) -> None:
        self._opened = Lru[str, RowSolverHandle](8)

    def find(self, key: str) -> RowSolverHandle | None:
        """The row solver with this key, if it is in the cache."""
        return self._opened.get(key)

    def open(self, recipe: RowSolverSpec) -> RowSolverHandle:
        """Opens a row solver and caches it."""
        opened = self._opened[recipe.key] = recipe.open()
        return opened
