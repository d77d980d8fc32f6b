"""This file lists the models of a theory over its inputs and outputs."""

import copy
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch
import z3
from pysat.solvers import Minisat22
from torch import Tensor

from smtlayer.errors import NotFiniteError
from smtlayer.solvers.cnf import Cnf, to_cnf
from smtlayer.solvers.z3 import ask
from smtlayer.theory import Theory

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


def list_models(theory: Theory, max_models: int, timeout_s: float) -> Models:
    """All models, or `max_models` of them if there are more, or as many as the time allows.

    A list that does not hang on the time limit is remembered, so that choosing a backend and
    compiling it lists models once.
    """
    key = (theory.digest, max_models)
    if key not in _memory:
        models = _list(theory, max_models, timeout_s)
        if models.reason.startswith("ran out of time"):
            return models
        while len(_memory) >= _REMEMBERED:
            del _memory[next(iter(_memory))]
        _memory[key] = models
    return _memory[key]


class _GaveUpError(Exception):
    """The list ends here, for the reason given."""


def _list(theory: Theory, max_models: int, timeout_s: float) -> Models:
    deadline = time.monotonic() + timeout_s
    try:
        source = _by_clauses(to_cnf(theory, timeout_s), deadline)
    except NotFiniteError:
        source = _by_z3(theory, deadline)
    found: list[list[int]] = []
    reason = ""
    try:
        for model in islice(source, max_models + 1):
            found.append(model)
    except TimeoutError:
        reason = f"ran out of time after {timeout_s:g} s"
    except _GaveUpError as error:
        reason = str(error)
    if len(found) > max_models:
        found.pop()
        reason = f"has more than {max_models} models"
    signs = torch.tensor(sorted(found), dtype=torch.int8)
    signs = signs.reshape(len(found), theory.n_inputs + theory.n_outputs)
    inputs, outputs = signs[:, : theory.n_inputs], signs[:, theory.n_inputs :]
    return Models(inputs.contiguous(), outputs.contiguous(), not reason, reason)


def _by_clauses(cnf: Cnf, deadline: float) -> Iterator[list[int]]:
    """Finite theories: a SAT solver, thousands of models a second."""
    with Minisat22(bootstrap_with=cnf.clauses) as solver:
        alarm = threading.Timer(max(deadline - time.monotonic(), 0), solver.interrupt)
        alarm.daemon = True
        alarm.start()
        try:
            while solver.solve_limited(expect_interrupt=True):
                # A variable that no clause mentions has no value: both are models.
                model: list[int] = (solver.get_model() or [])[: cnf.n_columns]
                model.extend(range(len(model) + 1, cnf.n_columns + 1))
                yield [1 if literal > 0 else -1 for literal in model]
                solver.add_clause([-literal for literal in model])
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
    literals = [z3.FreshBool("column", ctx=context) for _ in columns]
    solver = z3.SimpleSolver(ctx=context)
    solver.add(*own.formulas, *(x == column for x, column in zip(literals, columns, strict=True)))
    while True:
        left_ms = int((deadline - time.monotonic()) * 1000)
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
