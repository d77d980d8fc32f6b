"""The outputs that a theory determines for given inputs, with a cache."""

from typing import final

import torch
from torch import Tensor

from smtlayer.errors import TooLargeError, UnsupportedError
from smtlayer.solvers.clauses.cnf import Cnf, join
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.table.listing import ClauseLister
from smtlayer.solvers.table.models import Models, list_models
from smtlayer.solvers.z3_calls import OutOfWorkError
from smtlayer.theory import Theory

Signs = tuple[int, ...]
MAX_WORK = 100_000_000  # steps of a SAT solver: about a minute
MAX_MODELS, _LIST_WORK = 20_000, 5_000_000  # as in `Auto`, so that models are listed once


@final
class Answers:
    """The answers of a theory: from the list of its models or, if they are too many, by SAT.

    Raises:
        UnsupportedError: If the theory has neither clauses nor a complete list of models.
    """

    def __init__(self, theory: Theory) -> None:
        models = list_models(theory, MAX_MODELS, _LIST_WORK)
        if not (models.complete or models.fits_sat):
            raise UnsupportedError(
                f"The readings of a theory need its clauses or all its models. This one has no "
                f"clauses ({models.sat_error}), and it {models.reason}.",
                "Try a smaller instance, or symbols with finitely many values.",
            )
        self.models = models if models.complete else None
        self.cnf = to_cnf(theory) if models.fits_sat else _listed(models)
        self.n_inputs = theory.n_inputs
        self._known = _determined(models) if models.complete else {}
        self._solver = ClauseLister(self.cnf, MAX_WORK)
        self._selectors: dict[Signs, int] = {}  # per output, a literal that implies another one

    def __call__(self, inputs: Signs) -> Signs | None:
        """The outputs, if the inputs have a model and all their models have the same outputs."""
        if inputs not in self._known:
            self._known[inputs] = None if self.models is not None else self._ask(inputs)
        return self._known[inputs]

    def allows(self, inputs: Signs, outputs: Signs = (), selector: int = 0) -> bool:
        """Whether some model has these signs, of which some may be 0, free."""
        signs = zip(self.cnf.columns, inputs + outputs, strict=False)
        literals = [x * sign for x, sign in signs if sign]
        try:
            return self._solver.check([*literals, selector] if selector else literals)
        except OutOfWorkError as error:
            raise TooLargeError(
                f"The answers of this theory take more than {MAX_WORK:,} steps of the SAT solver.",
                "Try a smaller instance, or fewer rows.",
            ) from error

    def _ask(self, inputs: Signs) -> Signs | None:
        if not self.allows(inputs):
            return None
        outputs = tuple(self._solver.signs()[self.n_inputs :])
        if outputs not in self._selectors:
            selector = self.cnf.n_variables + len(self._selectors) + 1
            columns = zip(self.cnf.columns[self.n_inputs :], outputs, strict=True)
            self._solver.add([[-selector, *(-x * sign for x, sign in columns)]])
            self._selectors[outputs] = selector
        return None if self.allows(inputs, selector=self._selectors[outputs]) else outputs


def determined_rows(models: Models) -> Tensor:
    """Which listed models have inputs that no other model has: (K,) bool."""
    _, where, counts = torch.unique(models.inputs, dim=0, return_inverse=True, return_counts=True)
    return torch.eq(counts[where], 1)


def _determined(models: Models) -> dict[Signs, Signs | None]:
    rows = determined_rows(models)
    pairs = zip(models.inputs[rows].tolist(), models.outputs[rows].tolist(), strict=True)
    return {tuple(inputs): tuple(outputs) for inputs, outputs in pairs}


def _listed(models: Models) -> Cnf:
    """Clauses for a list of models: one variable per column, and one per model that implies it."""
    signs = torch.cat([models.inputs, models.outputs], dim=-1).tolist()
    width = models.inputs.shape[1] + models.outputs.shape[1]
    numbers = range(width + 1, width + 1 + len(signs))
    rows = zip(numbers, signs, strict=True)
    implied = [[-x, column * sign] for x, row in rows for column, sign in enumerate(row, 1)]
    return Cnf(join([list(numbers), *implied]), tuple(range(1, width + 1)), width + len(signs))
