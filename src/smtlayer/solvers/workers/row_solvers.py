"""Row solvers as they travel to other processes, and those that a process has opened."""

import hashlib
import pickle
import traceback
from dataclasses import dataclass
from typing import final

from smtlayer.errors import ArgumentTypeError, SolverCrashedError
from smtlayer.solvers.host.rows import InProcess, OpenRow
from smtlayer.solvers.lru import Lru
from smtlayer.theory import Theory


@dataclass(frozen=True)
class RowSolverSpec:
    """A theory and the function that opens its row solver, as bytes that travel."""

    key: str
    data: bytes

    @classmethod
    def of(cls, open_row: OpenRow, theory: Theory, name: str) -> "RowSolverSpec":
        """The row solver that `open_row` makes; `name` stands in the error if it cannot travel."""
        try:
            data = pickle.dumps((theory, open_row))
        except Exception as error:
            raise ArgumentTypeError(
                f"{name} cannot send {open_row!r} to worker processes: {error}. Define it at the "
                f"top of a module that can be imported, or use workers=0."
            ) from error
        return cls(hashlib.sha256(data).hexdigest(), data)

    def open(self) -> InProcess:
        """The row solver, opened.

        Raises:
            SolverCrashedError: If it cannot be loaded or opened, with the reason.
        """
        try:
            opened = InProcess(*pickle.loads(self.data))
        except Exception as error:
            raise _refusal(
                error,
                "A worker process cannot load the backend ({}). Define it in a module that can be "
                "imported there: what the running script itself defines is not known to workers.",
            ) from None
        try:
            opened.open()
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
        self._opened = Lru[str, InProcess](8)

    def find(self, key: str) -> InProcess | None:
        """The row solver with this key, if it is in the cache."""
        return self._opened.get(key)

    def open(self, spec: RowSolverSpec) -> InProcess:
        """Opens a row solver and caches it."""
        opened = self._opened[spec.key] = spec.open()
        return opened
