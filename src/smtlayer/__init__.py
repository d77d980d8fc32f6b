"""A PyTorch layer whose behaviour is an SMT formula."""

from smtlayer.errors import (
    NotFiniteError,
    SMTLayerError,
    SolverCrashedError,
    SolverUnknownError,
    TheoryError,
    TooLargeError,
    TooManyModelsError,
    UnsatisfiableTheoryError,
)
from smtlayer.nn import SMTLayer
from smtlayer.solvers import Z3, Auto, Circuit, Core, Enumerate, Sat, Solution, Status, Table
from smtlayer.theory import Theory, matches, one_hot

__version__ = "0.1.0"

__all__ = [
    "Z3",
    "Auto",
    "Circuit",
    "Core",
    "Enumerate",
    "NotFiniteError",
    "SMTLayer",
    "SMTLayerError",
    "Sat",
    "Solution",
    "SolverCrashedError",
    "SolverUnknownError",
    "Status",
    "Table",
    "Theory",
    "TheoryError",
    "TooLargeError",
    "TooManyModelsError",
    "UnsatisfiableTheoryError",
    "matches",
    "one_hot",
]
