"""This file names what `import smtlayer` offers: the public face of the library."""

from smtlayer.errors import NotFiniteError as NotFiniteError
from smtlayer.errors import SMTLayerError as SMTLayerError
from smtlayer.errors import SolverCrashedError as SolverCrashedError
from smtlayer.errors import SolverUnknownError as SolverUnknownError
from smtlayer.errors import TheoryError as TheoryError
from smtlayer.errors import TooLargeError as TooLargeError
from smtlayer.errors import TooManyModelsError as TooManyModelsError
from smtlayer.errors import UnsatisfiableTheoryError as UnsatisfiableTheoryError
from smtlayer.nn import SMTLayer as SMTLayer
from smtlayer.solvers import Z3 as Z3
from smtlayer.solvers import Auto as Auto
from smtlayer.solvers import Core as Core
from smtlayer.solvers import Enumerate as Enumerate
from smtlayer.solvers import Sat as Sat
from smtlayer.solvers import Solution as Solution
from smtlayer.solvers import Status as Status
from smtlayer.solvers import Table as Table
from smtlayer.theory import Theory as Theory
from smtlayer.theory import one_hot as one_hot
