"""The list of the models of a theory over its inputs and outputs.

The work is limited by counting it, never by a clock: the same theory and the same limits give the
same list on every machine, busy or not.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import torch
from torch import Tensor

from smtlayer.errors import NotFiniteError, TooLargeError
from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers import store
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.lru import Lru
from smtlayer.solvers.table.listing import ClauseLister, Lister, TermLister, UndecidedError
from smtlayer.solvers.z3_calls import MOST_WORK, OutOfWorkError, restarting
from smtlayer.theory import Theory

MAX_WORK = 100_000_000  # about a minute
_SAMPLE = 256  # models after which their number is estimated
_ESTIMATES, _MARGIN = 3, 1000


class Ending(Enum):
    """Why a list of models ends."""

    COMPLETE = "it holds every model"
    MANY = "there are more models than the limit"
    ESTIMATED = "there are far more models than the limit, by an estimate"
    WORK = "the work limit was reached"
    UNKNOWN = "the solver cannot decide whether there is another model"


@dataclass(frozen=True, slots=True)
class Models:
    """Models of a theory in lexicographic order of their signs, false before true."""

    inputs: Tensor  # (K, n) int8
    outputs: Tensor  # (K, m) int8
    ending: Ending = Ending.COMPLETE
    reason: str = ""  # for messages: why the list is not complete, as in "this theory ..."
    fits_sat: bool = True  # whether `Sat` can take the theory
    sat_error: str = ""  # for messages: why not

    @property
    def complete(self) -> bool:
        """Whether these are all models."""
        return self.ending is Ending.COMPLETE

    @property
    def many(self) -> bool:
        """Whether there are more models than the limit."""
        return self.ending in (Ending.MANY, Ending.ESTIMATED)

    def __len__(self) -> int:
        return len(self.inputs)


_memory = Lru[tuple[str, str], Models](16)


@interruptible
def list_models(theory: Theory, max_models: int, max_work: float = MAX_WORK) -> Models:
    """All models, or as many as the limits allow.

    After 256 models their total number is estimated; if it is far above `max_models`, the list ends
    there. Lists are cached in memory and on disk, by theory and limits, so that choosing a backend
    and compiling it list models once.

    Args:
        theory: Any theory.
        max_models: The largest number of models.
        max_work: The largest number of solver steps: propagations of the SAT solver, or resource
            units of z3 (plus a thousand per query) if the theory does not come down to bits. A
            million takes a second or less.
    """
    work = math.ceil(min(max_work, MOST_WORK))
    key = (f"models_{max_models}_{work}", theory.digest)
    models = _memory.get(key)
    if models is None:
        models = _load(theory, *key)
    if models is None:
        models = _list(theory, max_models, work)
        _save(models, *key)
    _memory[key] = models
    return models


def _save(models: Models, kind: str, digest: str) -> None:
    texts = (models.ending.name, models.reason, models.sat_error)
    text = np.frombuffer("\0".join(texts).encode(), dtype=np.uint8)
    signs = torch.cat([models.inputs, models.outputs], dim=-1).numpy()
    store.save(kind, digest, signs=signs, text=text, fits_sat=np.array(models.fits_sat))


def _load(theory: Theory, kind: str, digest: str) -> Models | None:
    kept = store.load(kind, digest)
    if kept is None:
        return None
    ending, reason, sat_error = kept["text"].tobytes().decode().split("\0")
    columns = _columns(theory, torch.from_numpy(kept["signs"]))
    return Models(*columns, Ending[ending], reason, bool(kept["fits_sat"]), sat_error)


def _columns(theory: Theory, signs: Tensor) -> tuple[Tensor, Tensor]:
    inputs, outputs = signs[:, : theory.n_inputs], signs[:, theory.n_inputs :]
    return inputs.contiguous(), outputs.contiguous()


@uses_z3
@restarting
def _list(theory: Theory, max_models: int, max_work: int) -> Models:
    lister: Lister
    fits_sat, sat_error = True, ""
    try:
        lister = ClauseLister(to_cnf(theory), max_work)
    except (NotFiniteError, TooLargeError) as error:
        lister = TermLister(theory, max_work)
        fits_sat, sat_error = False, error.reason
    found: list[list[int]] = []
    ending, reason = _collect(lister, max_models, found)
    signs = torch.tensor(sorted(found), dtype=torch.int8, device="cpu")
    signs = signs.reshape(len(found), theory.n_inputs + theory.n_outputs)
    return Models(*_columns(theory, signs), ending, reason, fits_sat, sat_error)


def _collect(lister: Lister, max_models: int, found: list[list[int]]) -> tuple[Ending, str]:
    """Fills the list; returns why it ends, also as text."""
    try:
        while lister.check():
            if len(found) == max_models:
                return Ending.MANY, f"has more than {max_models} models"
            found.append(lister.signs())
            lister.forbid()
            if len(found) == _SAMPLE and has_far_more(lister, max_models):
                return Ending.ESTIMATED, f"has far more than {max_models} models"
    except OutOfWorkError:
        return Ending.WORK, f"needs more than {lister.max_work:,} steps to list"
    except UndecidedError as error:
        return Ending.UNKNOWN, f"makes z3 answer unknown ({error})"
    return Ending.COMPLETE, ""


def has_far_more(lister: Lister, max_models: int) -> bool:
    """Whether there are far more models than `max_models`, by Knuth's estimate of a tree's size.

    One descent fixes column after column at random to a value that some model has, and doubles its
    estimate where both values are possible. The expected estimate is at most the number of models,
    so the probability that one estimate exceeds a thousand times that number is below 1/1000, and
    that three do is below 1e-9. Descents are pseudo-random and the same in every process.

    Reference:
        Knuth, *Estimating the efficiency of backtrack programs*, 1975.
    """
    draw = random.Random(0)
    enough = _MARGIN * max_models
    if enough >= 2 ** len(lister.literals):
        return False
    return all(_descend(lister, draw, enough) for _ in range(_ESTIMATES))


def _descend(lister: Lister, draw: random.Random, enough: int) -> bool:
    """Whether the estimate of one descent exceeds `enough`."""
    if not _possible(lister, ()):
        return False
    model = lister.values()
    fixed: list[int] = []
    size = 1
    for literal in lister.literals:
        fixed.append(literal if literal in model else -literal)
        if not _possible(lister, [*fixed[:-1], -fixed[-1]]):
            continue
        size *= 2
        if size > enough:
            return True
        if draw.random() < 0.5:
            fixed[-1] = -fixed[-1]
            model = lister.values()
    return False


def _possible(lister: Lister, literals: Sequence[int]) -> bool:
    """Whether the literals can hold together; an undecided query counts as no."""
    try:
        return lister.check(literals)
    except UndecidedError:
        return False
