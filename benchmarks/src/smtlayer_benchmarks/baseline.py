"""The baseline of the benchmarks: z3 called row by row, as the paper's code does."""

from typing import Any

import z3
from torch import Tensor

from smtlayer.theory import Theory


class RowByRow:
    """One z3 solver, push and pop around each row, z3's own minimised core.

    Args:
        theory: Any theory.
    """

    def __init__(self, theory: Theory) -> None:
        self._theory = theory
        self._solver = z3.Solver()
        self._solver.set("core.minimize", True)
        self._solver.add(*theory.formulas)

    def forward(self, signs: Tensor) -> list[list[int]]:
        """A model's outputs for each row, zeros where there is none."""
        return [self._model(row) for row in signs.tolist()]

    def backward(self, signs: Tensor, wanted: Tensor) -> list[list[int]]:
        """The columns in a minimised core for each row."""
        rows = zip(signs.tolist(), wanted.tolist(), strict=True)
        return [self._core(x, y) for x, y in rows]

    def _model(self, inputs: list[int]) -> list[int]:
        self._solver.push()
        self._solver.add(*self._equations(self._theory.inputs, inputs))
        outputs = [0] * self._theory.n_outputs
        if self._solver.check() == z3.sat:
            model = self._solver.model()
            values = [model.eval(y, model_completion=True) for y in self._theory.outputs]
            outputs = [1 if z3.is_true(value) else -1 for value in values]
        self._solver.pop()
        return outputs

    def _core(self, inputs: list[int], outputs: list[int]) -> list[int]:
        self._solver.push()
        self._solver.add(*self._equations(self._theory.outputs, outputs))
        marks = {}
        observed = [i for i, sign in enumerate(inputs) if sign]
        equations = self._equations(self._theory.inputs, inputs)
        for i, equation in zip(observed, equations, strict=True):
            mark = z3.Bool(f"mark{i}")
            marks[mark.get_id()] = i
            self._solver.assert_and_track(equation, mark)
        core: list[int] = []
        if self._solver.check() == z3.unsat:
            core = [marks[mark.get_id()] for mark in self._solver.unsat_core()]
        self._solver.pop()
        return core

    def repair(self, inputs: list[int], weights: list[float], timeout_ms: int) -> list[int]:
        """The outputs of the cheapest repair by z3's `Optimize`; zeros past the time limit."""
        optimize = z3.Optimize()
        optimize.set("timeout", timeout_ms)
        optimize.add(*self._theory.formulas)
        for i, sign in enumerate(inputs):
            if sign:
                optimize.add_soft(self._theory.inputs[i] == (sign > 0), repr(weights[i]))
        if optimize.check() != z3.sat:
            return [0] * self._theory.n_outputs
        model = optimize.model()
        values = [model.eval(y, model_completion=True) for y in self._theory.outputs]
        return [1 if z3.is_true(value) else -1 for value in values]

    @staticmethod
    def _equations(columns: Any, signs: list[int]) -> list[Any]:
        return [c == (sign > 0) for c, sign in zip(columns, signs, strict=True) if sign]
