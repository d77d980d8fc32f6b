"""Row solvers as they travel to other processes."""

import hashlib
import pickle
import traceback
from dataclasses import dataclass

from smtlayer.errors import ArgumentTypeError, SolverCrashedError
from smtlayer.solvers.host.rows import InProcess, OpenRow
from smtlayer.theory import Theory

OPENED = 8  # row solvers that a worker keeps: those of the last few theories


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
