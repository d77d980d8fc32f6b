"""The exceptions and warnings that the library raises, and hints for their messages."""

from collections.abc import Iterable
from difflib import get_close_matches


class SMTLayerError(Exception):
    """Base class of all errors of the library."""


class ArgumentError(SMTLayerError, ValueError):
    """An argument with a value that cannot be used."""


class ArgumentTypeError(SMTLayerError, TypeError):
    """An argument of a type that cannot be used."""


class DivergedError(ArgumentError, ArithmeticError):
    """Logits that are NaN or infinite."""


class TheoryError(SMTLayerError, ValueError):
    """A theory that cannot be built or used."""


class UndeclaredSymbolError(TheoryError):
    """A name that an SMT-LIB script does not declare as a constant.

    Attributes:
        reason: The message without the name of the function that raises it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"Theory.from_smtlib: {self.reason}"


class UnsatisfiableTheoryError(TheoryError):
    """A theory without any model, of which no layer can be made."""


class UnsupportedError(SMTLayerError, ValueError):
    """A theory or a rule that a backend does not support.

    Attributes:
        reason: Why not.
        remedy: What to use instead; empty if that is left to the caller.

    Examples:
        >>> error = UnsupportedError("Table: too many models.", "Use Sat() instead.")
        >>> error.reason, str(error)
        ('Table: too many models.', 'Table: too many models. Use Sat() instead.')
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}".rstrip()


class UnsupportedRuleError(UnsupportedError, ArgumentError):
    """A backward rule that needs another backend."""


class TooManyModelsError(UnsupportedError):
    """A theory with more models than a backend may list."""


class NotFiniteError(UnsupportedError):
    """A theory that has no translation to clauses: a symbol has infinitely many values."""


class TooLargeError(UnsupportedError):
    """A theory that takes more clauses, or more work to find them, than a backend allows."""


class SolverUnknownError(SMTLayerError, RuntimeError):
    """A solver gave up on a row and the caller asked for an error rather than zeros."""


class SolverCrashedError(SMTLayerError, RuntimeError):
    """A solver failed on a query; the row counts as UNKNOWN."""


class SlowBatchWarning(UserWarning):
    """A batch takes more than two seconds on a backend that answers row by row."""


class ProgressWarning(UserWarning):
    """A rule that changes during training, in a loop that does not set `layer.progress`."""


class ShortcutWarning(UserWarning):
    """Readings of the symbols that fit the training examples answer test examples wrongly."""


class MissingPackageError(SMTLayerError, ImportError):
    """An optional package that is not installed."""


class MissingDataError(SMTLayerError, FileNotFoundError):
    """A data set that was not found."""


class ConfigError(ArgumentError):
    """A configuration or command-line option that cannot be used."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of an error message: the known name most like the given one, or another hint."""
    near = get_close_matches(name, list(known), n=1)
    hint = f"Did you mean {near[0]!r}?" if near else otherwise
    return f" {hint}" if hint else ""


def install_command(extra: str) -> str:
    """The command that installs an extra; from a checkout, as no package index has smtlayer."""
    return f'pip install ".[{extra}]" # in a checkout of smtlayer'
