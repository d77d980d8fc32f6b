"""Stages for tests: any solver as the last stage, and any stage as a solver."""

from typing import Any

import torch

from smtlayer import Core, Status, Theory
from smtlayer.solvers import Solver
from smtlayer.solvers.host.questions import Answers, Questions, Stage
from smtlayer.solvers.host.solver import HostSolver


class Asks:
    """Answers questions by a solver of batches."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def answer(self, questions: Questions) -> Answers:
        arrays = (questions.inputs, questions.weights, questions.outputs)
        tensors: list[Any] = [torch.from_numpy(array) for array in arrays]
        if questions.kind == "solve":
            found = self.solver.solve(tensors[0])
        else:
            found = getattr(self.solver, questions.kind)(*tensors)
        if isinstance(found, Core):
            blamed, nothing = found.inputs.to(torch.int8), torch.zeros_like(tensors[2])
            parts = (found.status, blamed, nothing, found.status != Status.UNKNOWN)
        else:
            parts = (found.status, found.inputs, found.outputs, found.proved)
        return Answers(*(part.numpy() for part in parts))


def solver_of(theory: Theory, first: Stage, deterministic: bool = True) -> HostSolver:
    """A solver that asks a stage."""
    return HostSolver(theory, first, name="Staged", limit_ms=25, deterministic=deterministic)
