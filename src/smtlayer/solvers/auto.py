"""The backend `Auto`, which chooses one of the others for each theory."""

from dataclasses import dataclass

from smtlayer.interrupts import interruptible
from smtlayer.solvers.base import Backend, Solver
from smtlayer.solvers.sat import Sat
from smtlayer.solvers.table.models import list_models
from smtlayer.solvers.table.table import Table
from smtlayer.solvers.validation import check_count, check_limits, check_theory_given
from smtlayer.solvers.workers.options import WorkerOptions, Workers, check_workers
from smtlayer.solvers.z3 import Z3
from smtlayer.theory import Theory


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it."""

    backend: Backend
    reason: str


@dataclass(frozen=True)
class Auto(WorkerOptions):
    """Uses `Table` if the list of all models is short, `Sat` if the theory is finite, else `Z3`.

    The choice depends on the theory and these options alone: work is counted, not timed, so the
    choice is the same on a busy machine, on another machine, and with any cache.

    Args:
        max_models: The largest number of models of a short list.
        timeout_ms: Time limit of one question about one row, for `Sat` and `Z3`.
        max_work: The largest number of steps for listing the models: propagations of the SAT
            solver, or resource units of z3 if the theory does not come down to bits. The default
            takes a second or two, once per theory.
        workers: Where `Sat` or `Z3` run: 0 for this process, a number of worker processes, an
            `Executor`, or a function that makes one. See `Rowwise`.

    Examples:
        >>> import z3
        >>> a, y = z3.Bools("a y")
        >>> Auto().choose(Theory(y == z3.Not(a), inputs=[a], outputs=[y])).reason
        'it has 2 models over its inputs and outputs, few enough to list'
    """

    max_models: int = 20_000
    timeout_ms: int = 10_000
    max_work: float = 5_000_000
    workers: Workers = 0

    def __post_init__(self) -> None:
        check_count("Auto", "max_models", self.max_models)
        check_limits(self, "timeout_ms", "max_work")
        check_workers("Auto", self.workers)

    @interruptible
    def choose(self, theory: Theory) -> Choice:
        """The backend that `compile` uses for this theory, and why."""
        check_theory_given("Auto", theory)
        models = list_models(theory, self.max_models, self.max_work)
        if models.complete:
            count = len(models)
            plural = "" if count == 1 else "s"
            return Choice(
                Table(self.max_models, self.max_work),
                f"it has {count:,} model{plural} over its inputs and outputs, few enough to list",
            )
        many = " over its inputs and outputs, too many to list" if models.many else ""
        reason = f"it {models.reason}{many}"
        if models.fits_sat:
            return Choice(Sat(self.timeout_ms, self.workers), f"{reason}, but it is finite")
        backend = Z3(self.timeout_ms, workers=self.workers)
        return Choice(backend, f"{reason}, and {models.sat_error}")

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """The chosen backend's solver."""
        return self.choose(theory).backend.compile(theory)
