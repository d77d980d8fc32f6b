"""Which readings of the symbols fit the examples of training: shortcuts before they are learned."""

from collections.abc import Sequence

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.lab.problems import LabProblem, checked_widths
from smtlayer.plain import is_whole
from smtlayer.solvers.readings.answers import Answers
from smtlayer.solvers.readings.count import LIMIT, count_readings
from smtlayer.solvers.readings.kinds import shared_readers
from smtlayer.solvers.readings.result import Readings
from smtlayer.solvers.readings.rows import Rows, read_rows
from smtlayer.theory import Theory


def readings(
    theory: Theory | LabProblem,
    rows: Rows | None = None,
    *,
    tested: Rows | None = None,
    widths: Sequence[int] | None = None,
    separate: bool = False,
    limit: int = LIMIT,
) -> Readings:
    """Counts the readings of the input symbols that fit all examples that training shows.

    A network sees *kinds*, such as the images of the digit 3. Training shows rows of kinds with
    labels. A *reading* maps each kind to a value; it fits if, for each row, the theory with the
    inputs read so has models, and all of them have the outputs of the label. Training cannot tell
    readings apart that fit: if some of them answer test examples wrongly, it may learn a shortcut.

    Args:
        theory: A theory, or a problem of the lab, which has its own rows and readers.
        rows: The rows that training shows: dicts of values by symbol name, or the path of a CSV
            file whose first line has the names. Outputs that are missing follow from the theory.
        tested: The rows to compare answers on, in the same form; by default all inputs that
            determine the outputs, or random ones if there are too many. Rows with a kind that
            training never shows are left out; of more than 2,000, some are drawn at random.
        widths: Number of input columns of each symbol; by default as in the theory.
        separate: Whether each symbol has its own reader; see `problem_of`.
        limit: The largest number of readings.

    Raises:
        ArgumentError: If a row cannot be used, or contradicts the theory.
        UnsupportedError: If the theory has neither clauses nor few models, or is too large.

    Examples:
        >>> import z3
        >>> from smtlayer import one_hot
        >>> a, b, total = z3.Ints("a b total")
        >>> digit = range(5)
        >>> theory = Theory(
        ...     total == a + b,
        ...     inputs=[one_hot(a, digit), one_hot(b, digit)],
        ...     outputs=[one_hot(total, range(9))],
        ... )
        >>> rows = [dict(a=0, b=0), dict(a=0, b=1), dict(a=2, b=3), dict(a=2, b=4)]
        >>> found = readings(theory, rows)
        >>> found.count, found.wrong, found.next_row
        (3, 2, {'a': 0, 'b': 2})
        >>> print(found.summary)
        3 readings of the symbols fit the 4 examples that training shows; 2 of them answer some of
        the 25 tested examples wrongly
        >>> found.classes[1].changes
        '2 -> 4, 3 -> 1, 4 -> 2'
    """
    if not is_whole(limit, 1):
        raise ArgumentError(f"readings expects a limit of at least 1. Got {limit!r}.")
    if isinstance(theory, LabProblem):
        if rows is not None or tested is not None or widths is not None or separate:
            raise ArgumentError(
                "readings takes rows, tested, widths and separate with a theory only. Got them "
                "with a LabProblem, which has its own."
            )
        p = theory
        return count_readings(
            p.theory, p.widths, p.readers, (p.shown.inputs, p.shown.outputs),
            (p.tested.inputs, p.tested.outputs), Answers(p.theory), int(limit),
        )  # fmt: skip
    if not isinstance(theory, Theory) or rows is None:
        raise ArgumentTypeError(
            f"readings expects a Theory and the rows that training shows, or a LabProblem. "
            f"Got {theory!r} and {rows!r}."
        )
    answers = Answers(theory)
    return count_readings(
        theory, checked_widths(theory, widths), shared_readers(theory, widths, separate),
        read_rows(theory, rows, answers),
        None if tested is None else read_rows(theory, tested, answers), answers, int(limit),
    )  # fmt: skip
