"""A conformance test suite for authors of backends, with theories to test on."""

try:
    import pytest  # noqa: F401
except ImportError as error:  # pragma: no cover
    from smtlayer.errors import MissingPackageError, install_command

    raise MissingPackageError(
        f"smtlayer.testing needs the pytest package. Install it with: {install_command('testing')}"
    ) from error

from smtlayer.testing.conformance import LAWS as LAWS
from smtlayer.testing.conformance import LISTED_LAWS as LISTED_LAWS
from smtlayer.testing.conformance import Case as Case
from smtlayer.testing.conformance import SolverConformance as SolverConformance
from smtlayer.testing.finite import FINITE as FINITE
from smtlayer.testing.finite import random_finite_theory as random_finite_theory
from smtlayer.testing.theories import THEORIES as THEORIES
from smtlayer.testing.theories import random_theory as random_theory
