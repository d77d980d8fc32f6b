"""The exceptions that the library raises, and hints for their messages."""

from collections.abc import Iterable
from difflib import get_close_matches


class SMTLayerError(Exception):
    """Root of the library's own errors."""


class TheoryError(SMTLayerError, ValueError):
    """A theory that cannot be built or used: its message says what to change."""


class UnsatisfiableTheoryError(TheoryError):
    """A theory without a single model, so that no layer can be made of it."""


class TooManyModelsError(SMTLayerError, ValueError):
    """A theory with more models than a backend was allowed to list."""


class NotFiniteError(SMTLayerError, ValueError):
    """A theory that does not come down to bits."""


class TooLargeError(SMTLayerError, ValueError):
    """A theory that takes more clauses, or more work to find them, than a backend allows."""


class SolverUnknownError(SMTLayerError, RuntimeError):
    """A solver gave up on a row and the caller asked for an error rather than zeros."""


class SolverCrashedError(SMTLayerError, RuntimeError):
    """A solver failed on a question; the row counts as UNKNOWN."""


class MissingPackageError(SMTLayerError, ImportError):
    """An optional package is needed for what was asked."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of an error message: the known name that is most like the given one.

    Examples:
        >>> did_you_mean("toatl", ["a", "b", "total"])
        " Did you mean 'total'?"
        >>> did_you_mean("x", ["a", "b"], otherwise="Known are a, b.")
        ' Known are a, b.'
    """
    near = get_close_matches(name, list(known), n=1)
    hint = f"Did you mean {near[0]!r}?" if near else otherwise
    return f" {hint}" if hint else ""


def install_command(extra: str) -> str:
    """The command that installs an extra; from a checkout, as no package index has smtlayer."""
    folders = " ./studies ./benchmarks" if extra in ("studies", "demo") else ""
    folders += " ./apps/playground" if extra == "demo" else ""
    return f'pip install ".[{extra}]"{folders} # in a checkout of smtlayer'


class MissingDataError(SMTLayerError, FileNotFoundError):
    """A data set that was asked for is not there."""


class ConfigError(SMTLayerError, ValueError):
    """An option of a run that cannot be used as given."""
