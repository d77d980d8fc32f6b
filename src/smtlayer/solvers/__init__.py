"""Backends, which compile a theory to a solver of batches."""

from smtlayer.solvers.auto import Auto, Choice
from smtlayer.solvers.base import Backend, Core, Possible, Row, RowSolver, Solution, Solver, Status
from smtlayer.solvers.circuit.circuit import Circuit
from smtlayer.solvers.enumerate import Enumerate
from smtlayer.solvers.host.solver import Rowwise
from smtlayer.solvers.sat import Sat
from smtlayer.solvers.table.table import Table
from smtlayer.solvers.workers.options import Workers
from smtlayer.solvers.z3 import Z3

# Spelt out, because a star import would otherwise bring the submodule z3 and hide the package.
__all__ = [  # noqa: RUF022
    "Auto", "Backend", "Choice", "Circuit", "Core", "Enumerate", "Possible", "Row", "RowSolver",
    "Rowwise", "Sat", "Solution", "Solver", "Status", "Table", "Workers", "Z3",
]  # fmt: skip
