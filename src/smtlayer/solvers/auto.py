"""The backend `Auto`, which chooses one of the others for each theory."""

from dataclasses import dataclass

from smtlayer.errors import TooLargeError
from smtlayer.interrupts import interruptible
from smtlayer.plain import counted
from smtlayer.solvers.base import Backend, Solver
from smtlayer.solvers.circuit.circuit import Circuit
from smtlayer.solvers.circuit.compilation import to_diagram
from smtlayer.solvers.circuit.diagram import Diagram
from smtlayer.solvers.sat import Sat
from smtlayer.solvers.table.models import list_models
from smtlayer.solvers.table.table import Table
from smtlayer.solvers.validation import check_count, check_limits, check_theory_given
from smtlayer.solvers.workers.options import WorkerOptions, Workers, check_workers
from smtlayer.solvers.z3 import Z3
from smtlayer.theory import Theory

_FIRST = 0.04  # share of the work for listing models that is spent before a diagram is tried


@dataclass(frozen=True)
class Choice:
    """A backend and the reason for it."""

    backend: Backend
    reason: str


@dataclass(frozen=True)
class Auto(WorkerOptions):
    """Uses `Table` for few models, else `Circuit` for a small diagram, else `Sat` or `Z3`.

    `Sat` takes every theory that comes down to bits, `Z3` the rest.

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
        max_nodes: The largest number of nodes of a small decision diagram.

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
    max_nodes: int = 20_000

    def __post_init__(self) -> None:
        check_count("Auto", "max_models", self.max_models)
        check_count("Auto", "max_nodes", self.max_nodes)
        check_limits(self, "timeout_ms", "max_work")
        check_workers("Auto", self.workers)

    @interruptible
    def choose(self, theory: Theory) -> Choice:
        """The backend that `compile` uses for this theory, and why."""
        check_theory_given("Auto", theory)
        diagram: Diagram | None = None
        too_large = ""
        models = list_models(theory, self.max_models, self.max_work * _FIRST)
        if not models.complete and models.fits_sat:
            try:
                diagram = to_diagram(theory, self.max_nodes)
            except TooLargeError as error:
                too_large = f" and {error.reason},"
        if not models.complete and (diagram is None or diagram.n_models <= self.max_models):
            models = list_models(theory, self.max_models, self.max_work)
        if models.complete:
            plural = "" if len(models) == 1 else "s"
            reason = (
                f"it has {len(models):,} model{plural} over its inputs and outputs, "
                f"few enough to list"
            )
            return Choice(Table(self.max_models, self.max_work), reason)
        many = " over its inputs and outputs, too many to list" if models.many else ""
        reason = f"it {models.reason}{many}"
        if diagram is not None:
            return Choice(Circuit(self.max_nodes), _size(diagram, self.max_models, reason))
        if models.fits_sat:
            reason = f"{reason},{too_large} but it is finite"
            return Choice(Sat(self.timeout_ms, self.workers), reason)
        reason = f"{reason}, and {models.sat_error}"
        return Choice(Z3(self.timeout_ms, workers=self.workers), reason)

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """The chosen backend's solver."""
        return self.choose(theory).backend.compile(theory)


def _size(diagram: Diagram, max_models: int, reason: str) -> str:
    """Why a diagram is chosen: the numbers of its models and of its nodes."""
    count = diagram.n_models
    if count > max_models:
        number = f"{count:,}" if count < 10**9 else f"about {count:.1e}"
        reason = f"it has {number} models over its inputs and outputs, too many to list"
    size = f"{counted(diagram.n_nodes, 'node')} in {counted(len(diagram.levels), 'level')}"
    return f"{reason}, but its decision diagram has {size}"
