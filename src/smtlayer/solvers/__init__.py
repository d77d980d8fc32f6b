"""Backends, which compile a theory to a solver of batches."""

from smtlayer.solvers.auto import Auto as Auto
from smtlayer.solvers.auto import Choice as Choice
from smtlayer.solvers.base import Backend as Backend
from smtlayer.solvers.base import Core as Core
from smtlayer.solvers.base import Row as Row
from smtlayer.solvers.base import RowSolver as RowSolver
from smtlayer.solvers.base import Solution as Solution
from smtlayer.solvers.base import Solver as Solver
from smtlayer.solvers.base import Status as Status
from smtlayer.solvers.enumerate import Enumerate as Enumerate
from smtlayer.solvers.host.solver import Rowwise as Rowwise
from smtlayer.solvers.sat import Sat as Sat
from smtlayer.solvers.table.table import Table as Table
from smtlayer.solvers.workers.options import Workers as Workers
from smtlayer.solvers.z3 import Z3 as Z3

# Spelt out, because a star import would otherwise bring the submodule z3 and hide the package.
__all__ = [  # noqa: RUF022
    "Auto",
    "Backend",
    "Choice",
    "Core",
    "Enumerate",
    "Row",
    "RowSolver",
    "Rowwise",
    "Sat",
    "Solution",
    "Solver",
    "Status",
    "Table",
    "Workers",
    "Z3",
]  # fmt: skip
