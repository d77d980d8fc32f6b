"""The paper's four algorithms, row by row and line by line, with z3 asked directly.

Two liberties: the core is the one that deletion from the most confident input to
the least ends with (the paper leaves the choice open), and a label that no input allows has the
gradient 0. Where several answers are as good, all of them are given.
"""

import itertools
from fractions import Fraction

import torch
import torch.nn.functional as F
import z3

from smtlayer import Theory


class Paper:
    """F_smt, F_max, B_core and B_max for one theory and one row at a time."""

    def __init__(self, theory: Theory, weights: str) -> None:
        self.theory, self.weights = theory, weights
        self.n, self.m = theory.n_inputs, theory.n_outputs
        self._solver = z3.Solver()
        self._solver.add(*theory.formulas)
        self._memory = {}

    def satisfiable(self, inputs: dict, outputs: dict) -> bool:
        """Whether the formula has a model with these values of some inputs and outputs."""
        key = (frozenset(inputs.items()), frozenset(outputs.items()))
        if key not in self._memory:
            self._solver.push()
            for columns, values in ((self.theory.inputs, inputs), (self.theory.outputs, outputs)):
                for i, value in values.items():
                    self._solver.add(columns[i] == z3.BoolVal(value))
            answer = self._solver.check()
            assert answer != z3.unknown
            self._memory[key] = answer == z3.sat
            self._solver.pop()
        return self._memory[key]

    def forward_smt(self, z: list[float]) -> list[list[int]]:
        """Algorithm 2: y of a model, else zeros."""
        z_b = dict(enumerate(z_i > 0 for z_i in z))
        return self._outputs(z_b) or [[0] * self.m]

    def forward_max(self, z: list[float]) -> list[list[int]]:
        """Algorithm 1: y of a model that agrees with the weightiest inputs."""
        z_b = dict(enumerate(z_i > 0 for z_i in z))
        best = self._weightiest(z, z_b, {})
        return [y for kept in best for y in self._outputs({i: z_b[i] for i in kept})]

    def backward_max(self, z: list[float], y: list[int], slope: list[float], B: int) -> list:  # noqa: N803
        """Algorithm 3: the gradient of z, in all the ways that are equally good."""
        G_z = [_slope(z_i, z_i > 0) / (B * self.n) for z_i in z]  # noqa: N806
        y_hat = [_sign(y_i) - 2 * _sign(s) for y_i, s in zip(y, slope, strict=True)]
        if [_sign(v) for v in y_hat] == [_sign(v) for v in y]:
            return [G_z]
        z_b, y_b = dict(enumerate(v > 0 for v in z)), dict(enumerate(v > 0 for v in y_hat))
        if not self.satisfiable({}, y_b):
            return [[0.0] * self.n]
        turned = [_slope(z[i], not z_b[i]) / (B * self.n) for i in range(self.n)]
        return [
            [G_z[i] if i in kept else turned[i] for i in range(self.n)]
            for kept in self._weightiest(z, z_b, y_b)
        ]

    def backward_core(self, z: list[float], y: list[int], slope: list[float], B: int) -> list:  # noqa: N803
        """Algorithm 4: the gradient of z."""
        G_z = [_slope(z_i, z_i > 0) / (B * self.n) for z_i in z]  # noqa: N806
        y_hat = [_sign(y_i) - 2 * _sign(s) for y_i, s in zip(y, slope, strict=True)]
        if [_sign(v) for v in y_hat] == [_sign(v) for v in y]:
            return [G_z]
        z_b, y_b = dict(enumerate(v > 0 for v in z)), dict(enumerate(v > 0 for v in y_hat))
        if self.satisfiable(z_b, y_b):
            return [[0.0] * self.n]
        core = dict(z_b)
        for i in sorted(range(self.n), key=lambda i: (-abs(z[i]), i)):
            rest = {j: value for j, value in core.items() if j != i}
            if not self.satisfiable(rest, y_b):
                core = rest
        turned = [_slope(z[i], not z_b[i]) / (B * self.n) for i in range(self.n)]
        return [[turned[i] if i in core else 0.0 for i in range(self.n)]]

    def _outputs(self, inputs: dict) -> list[list[int]]:
        every = itertools.product((False, True), repeat=self.m)
        found = [y for y in every if self.satisfiable(inputs, dict(enumerate(y)))]
        return [[1 if value else -1 for value in y] for y in found]

    def _weightiest(self, z: list[float], z_b: dict, y_b: dict) -> list[tuple[int, ...]]:
        """argmax over I of the weight that is kept, by trying them all, in exact numbers."""
        size = torch.tensor(z, dtype=torch.float64).abs()
        C = (size.softmax(0) if self.weights == "softmax" else size).tolist()  # noqa: N806
        subsets = [
            kept
            for size in range(self.n + 1)
            for kept in itertools.combinations(range(self.n), size)
        ]
        possible = [kept for kept in subsets if self.satisfiable({i: z_b[i] for i in kept}, y_b)]
        value = {kept: sum((Fraction(C[i]) for i in kept), Fraction(0)) for kept in possible}
        best = max(value.values())
        return [kept for kept in possible if value[kept] == best]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _slope(z_i: float, target: bool) -> float:
    """The derivative of binary cross-entropy, by autograd."""
    logit = torch.tensor(z_i, dtype=torch.float64, requires_grad=True)
    wanted = torch.tensor(float(target), dtype=torch.float64)
    F.binary_cross_entropy_with_logits(logit, wanted).backward()
    return logit.grad.item()
