"""The search for all readings that fit the rows of training, by SAT.

The variables are the signs that each kind is read as. A copy of the theory's clauses connects them
with the label of a row. Most rows follow from few others, so a row gets its copy once a reading is
found that breaks it. The copy demands that *some* model has the label; if other models of the same
inputs have other outputs, these values of the inputs are ruled out for all rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import final

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.clauses.cnf import Cnf, join
from smtlayer.solvers.readings.answers import MAX_WORK, Answers, Signs
from smtlayer.solvers.table.listing import ClauseLister
from smtlayer.solvers.z3_calls import OutOfWorkError


def find_fitting(
    truth: Sequence[int], rows: Sequence[tuple[list[int], Signs]], answers: Answers, limit: int,
    fixed: Sequence[int] = (),
) -> tuple[NDArray[np.int8], bool]:  # fmt: skip
    """All readings that fit, up to a limit, and whether these are all.

    Args:
        truth: The true reading, which is tried first.
        rows: For each row, where in a reading its inputs are, and its outputs.
        answers: The answers of the theory.
        limit: The largest number of readings.
        fixed: Places in a reading that are as in the true one.

    Shape:
        - result: (N, columns).
    """
    search = _Search(len(truth), rows, answers)
    found = [list(truth)] if search.broken_row(truth) is None else []
    search.solver.add([[-x * sign for x, sign in enumerate(truth, 1)]])
    search.solver.add([[(i + 1) * truth[i]] for i in fixed])
    more = True
    with suppress(OutOfWorkError):  # then there may be more
        while (more := search.next()) and len(found) < limit:
            found.append(search.solver.signs())
            search.solver.forbid()
    return np.array(found, dtype=np.int8).reshape(len(found), len(truth)), not more


@final
class _Search:
    def __init__(
        self, size: int, rows: Sequence[tuple[list[int], Signs]], answers: Answers
    ) -> None:
        self._rows, self._answers = rows, answers
        self._copied: set[int] = set()
        self._top = size
        self.solver = ClauseLister(Cnf(join([]), tuple(range(1, size + 1)), size), MAX_WORK)

    def next(self) -> bool:
        """Finds a reading that fits; False if there is none."""
        while self.solver.check():
            signs = self.solver.signs()
            broken = self.broken_row(signs)
            if broken is None:
                return True
            read = [signs[i] for i in self._rows[broken][0]]
            self.solver.add(self._refuted(read) if broken in self._copied else self._copy(broken))
        return False

    def broken_row(self, signs: Sequence[int]) -> int | None:
        """The first row that a reading gives another answer than its label, if any."""
        for row, (places, label) in enumerate(self._rows):
            if self._answers(tuple(signs[i] for i in places)) != label:
                return row
        return None

    def _copy(self, row: int) -> Iterator[list[int]]:
        """The theory for one row, over new variables."""
        cnf, shift = self._answers.cnf, self._top
        self._copied.add(row)
        self._top += cnf.n_variables
        yield from ([x + shift if x > 0 else x - shift for x in clause] for clause in cnf.clauses)
        columns = [x + shift if x > 0 else x - shift for x in cnf.columns]
        places, label = self._rows[row]
        for i, x in zip(places, columns, strict=False):
            yield from ([x, -i - 1], [-x, i + 1])
        for x, sign in zip(columns[self._answers.n_inputs :], label, strict=True):
            yield [x * sign]

    def _refuted(self, read: Sequence[int]) -> Iterator[list[int]]:
        """No row has inputs that are read so."""
        for places, _ in self._rows:
            yield [-(i + 1) * sign for i, sign in zip(places, read, strict=True)]
