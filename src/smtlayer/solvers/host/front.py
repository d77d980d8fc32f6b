"""This file holds what a solver that stands in front of another passes on."""

from torch import Tensor

from smtlayer.solvers.base import Solver
from smtlayer.solvers.results import Solution
from smtlayer.theory import Theory


class InFront:
    """Abstract: a solver that answers some questions itself, and leaves the rest to another.

    Args:
        solver: The one behind.
    """

    capturable = False
    on_host = True

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._hits = 0

    @property
    def theory(self) -> Theory:
        """The theory it answers for."""
        return self._solver.theory

    @property
    def name(self) -> str:
        """Who is asked."""
        return self._solver.name

    @property
    def limit_ms(self) -> int | None:
        """Time limit of one row's question."""
        return self._solver.limit_ms

    @property
    def trouble(self) -> str:
        """Why rows of the last batch have no answer, if not for their time limit."""
        return getattr(self._solver, "trouble", "")

    @property
    def deterministic(self) -> bool:
        """As the solver that is asked."""
        return self._solver.deterministic

    @property
    def cache_hits(self) -> int:
        """Rows answered from memory so far, here or behind; repeated rows of a batch among them."""
        return self._hits + self._solver.cache_hits


def fill_rows(answer: Solution, rows: Tensor, part: Solution) -> None:
    """Puts what the one behind said into some rows of an answer."""
    for name in ("status", "inputs", "outputs", "cost", "proved"):
        getattr(answer, name)[rows] = getattr(part, name)
