"""This file picks a backend for a theory, and says why."""

from dataclasses import dataclass

from smtlayer.solvers.base import Backend, Solver, check_positive
from smtlayer.solvers.models import list_models
from smtlayer.solvers.table import Table
from smtlayer.solvers.z3 import Z3
from smtlayer.theory import Theory


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it."""

    backend: Backend
    reason: str


@dataclass(frozen=True)
class Auto:
    """Takes `Table` where the list of all models is short, else `Z3`.

    Args:
        max_models: What counts as short.
        timeout_ms: Time limit of one question about one row, for `Z3`.
        list_timeout_s: How long to try listing the models.

    Example:
        >>> import z3
        >>> a, y = z3.Bools("a y")
        >>> Auto().choose(Theory(y == z3.Not(a), inputs=[a], outputs=[y])).reason
        'it has 2 models over its inputs and outputs, few enough to list'
    """

    max_models: int = 20_000
    timeout_ms: int = 10_000
    list_timeout_s: float = 5.0

    def __post_init__(self) -> None:
        check_positive(self, "max_models", "timeout_ms", "list_timeout_s")

    def choose(self, theory: Theory) -> Choice:
        """The backend that `compile` would take for this theory, and why."""
        models = list_models(theory, self.max_models, self.list_timeout_s)
        if models.complete:
            count = len(models)
            plural = "" if count == 1 else "s"
            return Choice(
                Table(self.max_models, self.list_timeout_s),
                f"it has {count:,} model{plural} over its inputs and outputs, few enough to list",
            )
        if models.reason.startswith("has more"):
            reason = f"it {models.reason} over its inputs and outputs, too many to list"
        else:
            reason = f"its models cannot be listed: {models.reason}"
        return Choice(Z3(self.timeout_ms), reason)

    def compile(self, theory: Theory) -> Solver:
        """The chosen backend's solver."""
        return self.choose(theory).backend.compile(theory)
