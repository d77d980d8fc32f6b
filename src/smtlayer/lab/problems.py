"""Problems for the lab: combinations of symbols that training shows or tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from smtlayer.errors import ConfigError, TheoryError, TooManyModelsError
from smtlayer.plain import is_whole
from smtlayer.solvers.readings.answers import Answers, determined_rows
from smtlayer.solvers.readings.kinds import FACT, Kinds, shared_readers
from smtlayer.solvers.readings.rows import Rows, read_rows
from smtlayer.solvers.table.models import list_models
from smtlayer.theory import Theory

MAX_MODELS = 20_000


@dataclass(frozen=True, eq=False)
class LabRows:
    """Combinations of symbols, one per row, with the outputs that follow from them."""

    inputs: Tensor  # (C, n) int8
    outputs: Tensor  # (C, m) int8

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Tensor) -> "LabRows":
        return LabRows(self.inputs[index], self.outputs[index])


@dataclass(frozen=True, eq=False)
class LabProblem:
    """A theory, the symbols in its input columns, and the rows that training shows and tests."""

    name: str
    theory: Theory
    widths: tuple[int, ...]  # columns of each symbol, in order
    readers: tuple[int, ...]  # index of the reader of each symbol, or FACT; symbols may share one
    shown: LabRows
    tested: LabRows
    left_out: int = 0  # inputs that do not determine the outputs, and are not used

    @property
    def given(self) -> Tensor | None:
        """The input columns of symbols that are facts, (n,) bool; None if no symbol is one."""
        facts = torch.tensor([reader == FACT for reader in self.readers])
        return facts.repeat_interleave(torch.tensor(self.widths)) if facts.any() else None

    @property
    def choices(self) -> int:
        """Number of different inputs, including those left out."""
        used = torch.cat([self.shown.inputs, self.tested.inputs])
        return self.left_out + len(torch.unique(used, dim=0))


def problem_of(
    theory: Theory,
    *,
    name: str = "theory",
    widths: Sequence[int] | None = None,
    separate: bool = False,
    shown: float = 1.0,
    seed: int = 0,
    rows: Rows | None = None,
) -> LabProblem:
    """Makes a problem of a theory with few models: the models whose inputs determine the outputs.

    Args:
        theory: The theory.
        name: Name of the problem.
        widths: Number of columns of each symbol; by default the symbols are those of the theory.
        separate: Whether each symbol has its own reader. Otherwise symbols of the same width share
            one, one-hot symbols only if they have the same values.
        shown: Fraction of the rows that training shows, drawn at random so that every value of a
            symbol occurs; the others are tested. With 1, all rows are shown and tested.
        seed: Seed of the random choice.
        rows: The rows that training shows, as in `readings`; the test has all rows whose values
            occur in them.

    Raises:
        ArgumentError: If a row cannot be used.
        TooManyModelsError: If the models cannot be listed.
        TheoryError: If the theory has no model, or no inputs determine the outputs.
        ConfigError: If an option has a value that cannot be used.

    Examples:
        >>> import z3
        >>> a, b, y = z3.Bools("a b y")
        >>> problem = problem_of(Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]))
        >>> problem.readers, len(problem.shown), len(problem.tested)
        ((0, 0), 4, 4)
    """
    if not 0 < shown <= 1:
        raise ConfigError(f"The lab expects shown above 0 and at most 1. Got {shown:g}.")
    if rows is not None and shown != 1:
        raise ConfigError(f"The lab expects rows or shown, not both. Got shown={shown:g}.")
    sizes = checked_widths(theory, widths)
    readers = shared_readers(theory, widths, separate)
    every, left_out = _decided(theory)
    if rows is not None:
        train = LabRows(*read_rows(theory, rows, Answers(theory)))
        places = Kinds(theory, sizes, readers, train.inputs).places(every.inputs)
        test = every[torch.from_numpy((places >= 0).all(-1))]
        return LabProblem(name, theory, sizes, readers, train, test, left_out)
    if shown == 1:
        return LabProblem(name, theory, sizes, readers, every, every, left_out)
    order, needed = _covering_order(every.inputs, sizes, readers, seed)
    count = round(shown * len(every))
    if not needed <= count < len(every):
        raise ConfigError(
            f"The lab expects shown={shown:g} to leave at least one of {len(every)} rows to test, "
            f"and to show every value of a symbol, which takes {needed} here. Got {count} rows."
        )
    parts = every[order[:count]], every[order[count:]]
    return LabProblem(name, theory, sizes, readers, *parts, left_out)


def checked_widths(theory: Theory, widths: Sequence[int] | None) -> tuple[int, ...]:
    """The widths, by default those of the theory's symbols.

    Raises:
        ConfigError: If they do not add up to the theory's input columns.
    """
    sizes = theory.input_widths if widths is None else widths
    fits = isinstance(sizes, Sequence) and all(is_whole(size, 1) for size in sizes)
    if not fits or sum(sizes) != theory.n_inputs:
        got = ", ".join(map(str, sizes)) if fits and sizes else repr(sizes)
        raise ConfigError(
            f"The lab expects widths of at least 1 that add up to the theory's "
            f"{theory.n_inputs} input columns. Got {got}."
        )
    return tuple(sizes)


def _decided(theory: Theory) -> tuple[LabRows, int]:
    """Models whose inputs determine the outputs, and the number of other inputs."""
    models = list_models(theory, MAX_MODELS)
    if not models.complete:
        raise TooManyModelsError(
            f"The lab lists all models, and this theory {models.reason}.",
            "Try a smaller instance: fewer or narrower inputs.",
        )
    if not len(models):
        raise TheoryError(
            "The lab needs a theory with models. This one has none: its constraints contradict "
            "each other. Theory.check() shows which."
        )
    decided = determined_rows(models)
    if not decided.any():
        raise TheoryError(
            "The lab needs inputs that determine the outputs, to check them. In this theory there "
            "are none: add constraints, or leave out outputs that are not determined."
        )
    rows = LabRows(models.inputs[decided], models.outputs[decided])
    return rows, len(torch.unique(models.inputs, dim=0)) - len(rows)


def _covering_order(
    inputs: Tensor, widths: Sequence[int], readers: Sequence[int], seed: int
) -> tuple[Tensor, int]:
    """A random order in which rows with a new value come first, and the number of these rows."""
    random = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(seed)).tolist()
    met: set[tuple[int, tuple[int, ...]]] = set()
    first, later = list[int](), list[int]()
    parts = [part.tolist() for part in torch.split(inputs, list(widths), dim=-1)]
    for row in random:
        kinds = {(r, tuple(part[row])) for r, part in zip(readers, parts, strict=True)}
        (later if kinds <= met else first).append(row)
        met |= kinds
    return torch.tensor(first + later), len(first)
