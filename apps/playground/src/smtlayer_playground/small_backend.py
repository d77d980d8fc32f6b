"""The backend of the pages for untrusted text, which needs little time and memory."""

from contextlib import suppress
from dataclasses import dataclass

from smtlayer.errors import NotFiniteError, TooLargeError, TooManyModelsError
from smtlayer.solvers import Z3, Sat, Solver, Table
from smtlayer.theory import Theory


@dataclass(frozen=True)
class SmallBackend:
    """Uses `Table` if the models can be listed, else `Sat`, else `Z3`.

    Unlike `Auto`, it builds no decision diagram: OxiDD reserves more than a gigabyte of address
    space, and the sandbox limits that.

    Args:
        max_models: The largest number of models of a list.
        max_work: The largest number of steps for the list. The default takes one or two of the five
            seconds that a request has.
        timeout_ms: Time limit of one question, for `Sat` and `Z3`.
    """

    max_models: int = 50_000
    max_work: float = 1_000_000
    timeout_ms: int = 2_000

    def compile(self, theory: Theory) -> Solver:
        """The solver of the first backend that takes the theory."""
        with suppress(TooLargeError, TooManyModelsError):
            return Table(self.max_models, self.max_work).compile(theory)
        try:
            return Sat(self.timeout_ms).compile(theory)
        except (NotFiniteError, TooLargeError):
            return Z3(self.timeout_ms).compile(theory)
