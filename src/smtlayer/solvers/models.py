"""This file lists the models of a theory over its inputs and outputs."""

import copy
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
import z3
from pysat.solvers import Minisat22
from torch import Tensor

from smtlayer.errors import NotFiniteError, TooLargeError
from smtlayer.forks import pause, uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers import store
from smtlayer.solvers.clauses import Cnf
from smtlayer.solvers.cnf import to_cnf
from smtlayer.solvers.limits import LONGEST_S, milliseconds
from smtlayer.solvers.z3 import ask
from smtlayer.theory import Theory
from smtlayer.theory.symbols import unheard_of

_REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Models:
    """Models of a theory in lexicographic order of their signs, false before true."""

    inputs: Tensor  # (K, n) int8
    outputs: Tensor  # (K, m) int8
    complete: bool  # whether these are all there are
    reason: str  # if not: why the list ends here

    def __len__(self) -> int:
        return len(self.inputs)


_memory: dict[tuple[str, int], Models] = {}
_MORE, _SLOW = "has more", "would take"
_LOOK = 256  # models after which the rest is estimated


@interruptible
def list_models(
    theory: Theory, max_models: int, timeout_s: float, *, foresee: bool = False
) -> Models:
    """All models, or `max_models` of them if there are more, or as many as the time allows.

    A list that does not hang on the time limit is remembered, so that choosing a backend and
    compiling it lists models once, and kept in the store.

    Args:
        theory: Any theory.
        max_models: Where to stop.
        timeout_s: When to stop.
        foresee: Whether to stop early where the first models show that a full list would take at
            least twice the time; this is kept in the store, too.
    """
    key = (theory.digest, max_models)
    if key not in _memory:
        kinds = [f"models_{max_models}", f"models_{max_models}_{milliseconds(timeout_s)}"]
        found = (_load(theory, kind) for kind in kinds[: 1 + foresee])
        kept = next((models for models in found if models is not None), None)
        models = _list(theory, max_models, timeout_s, foresee) if kept is None else kept
        lasting = not models.reason or models.reason.startswith(_MORE)
        if kept is None and (lasting or models.reason.startswith(_SLOW)):
            _save(theory, kinds[not lasting], models)
        if not lasting:
            return models
        while len(_memory) >= _REMEMBERED:
            del _memory[next(iter(_memory))]
        _memory[key] = models
    return _memory[key]


def _save(theory: Theory, kind: str, models: Models) -> None:
    reason = np.frombuffer(models.reason.encode(), dtype=np.uint8)
    arrays = {"inputs": models.inputs.numpy(), "outputs": models.outputs.numpy()}
    store.save(kind, theory.digest, **arrays, reason=reason)


def _load(theory: Theory, kind: str) -> Models | None:
    kept = store.load(kind, theory.digest)
    if kept is None:
        return None
    reason = kept["reason"].tobytes().decode()
    inputs, outputs = (torch.from_numpy(kept[name]) for name in ("inputs", "outputs"))
    return Models(inputs, outputs, not reason, reason)


class _GaveUpError(Exception):
    """The list ends here, for the reason given."""


@uses_z3
def _list(theory: Theory, max_models: int, timeout_s: float, foresee: bool) -> Models:
    start = time.monotonic()
    try:
        source = _by_clauses(to_cnf(theory), start + timeout_s)
    except (NotFiniteError, TooLargeError):
        source = _by_z3(theory, start + timeout_s)
    found: list[list[int]] = []
    reason = ""
    try:
        for model in islice(source, max_models + 1):
            found.append(model)
            pause()
            if foresee and len(found) % _LOOK == 0:
                _estimate(len(found), max_models, time.monotonic() - start, timeout_s)
    except TimeoutError:
        reason = f"ran out of time after {timeout_s:g} s"
    except _GaveUpError as error:
        reason = str(error)
    if len(found) > max_models:
        found.pop()
        reason = f"{_MORE} than {max_models} models"
    signs = torch.tensor(sorted(found), dtype=torch.int8, device="cpu")
    signs = signs.reshape(len(found), theory.n_inputs + theory.n_outputs)
    inputs, outputs = signs[:, : theory.n_inputs], signs[:, theory.n_inputs :]
    return Models(inputs.contiguous(), outputs.contiguous(), not reason, reason)


def _estimate(found: int, max_models: int, spent_s: float, timeout_s: float) -> None:
    """Gives up when a quarter of the time has shown that twice the time would not do."""
    if spent_s > timeout_s / 4 and spent_s / found * max_models > 2 * timeout_s:
        raise _GaveUpError(f"{_SLOW} more than {timeout_s:g} s to list")


def _by_clauses(cnf: Cnf, deadline: float) -> Iterator[list[int]]:
    """Finite theories: a SAT solver, thousands of models a second."""
    variables = {abs(x) for x in cnf.columns}
    with Minisat22(bootstrap_with=cnf.clauses) as solver:
        left_s = min(max(deadline - time.monotonic(), 0.0), LONGEST_S)
        alarm = threading.Timer(left_s, solver.interrupt)
        alarm.daemon = True
        alarm.start()
        try:
            while solver.solve_limited(expect_interrupt=True):
                values = solver.get_model() or []
                # A variable that no clause mentions has no value: both are models.
                values.extend(range(len(values) + 1, cnf.n_variables + 1))
                yield [1 if values[abs(x) - 1] * x > 0 else -1 for x in cnf.columns]
                solver.add_clause([-values[variable - 1] for variable in variables])
            if solver.get_status() is None:
                raise TimeoutError
        finally:
            alarm.cancel()
            alarm.join()


def _by_z3(theory: Theory, deadline: float) -> Iterator[list[int]]:
    """Any theory: z3, about a thousand models a second."""
    own = copy.deepcopy(theory)
    columns = (*own.inputs, *own.outputs)
    context = own.inputs[0].ctx
    prefix = unheard_of(own.formulas, "column")
    literals = [z3.FreshBool(prefix, ctx=context) for _ in columns]
    solver = z3.SimpleSolver(ctx=context)
    solver.add(*own.formulas, *(x == column for x, column in zip(literals, columns, strict=True)))
    while True:
        left_ms = milliseconds(deadline - time.monotonic())
        if left_ms <= 0:
            raise TimeoutError
        answer = ask(solver, left_ms)
        if answer == z3.unsat:
            return
        if answer == z3.unknown:
            reason = solver.reason_unknown().removeprefix("(").removesuffix(")")
            if reason in ("timeout", "canceled") or time.monotonic() >= deadline:
                raise TimeoutError
            raise _GaveUpError(f"z3 answers unknown ({reason})")
        model = solver.model()
        values = [z3.is_true(model.eval(x, model_completion=True)) for x in literals]
        yield [1 if value else -1 for value in values]
        solver.add(z3.Or([z3.Not(x) if v else x for x, v in zip(literals, values, strict=True)]))
