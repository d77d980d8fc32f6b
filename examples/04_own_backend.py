"""A custom backend: a solver for one row in plain Python, which the library applies to batches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import z3

from smtlayer import SMTLayer, Status, Theory
from smtlayer.solvers import Row, Rowwise, Solver
from smtlayer.testing import LAWS, Case


@dataclass(frozen=True)
class Parity:
    """For theories whose output is true if an odd number of inputs is true."""

    def compile(self, theory: Theory) -> Solver:
        return Rowwise(theory, ParityRow, name="Parity", limit_ms=None, deterministic=True)


class ParityRow:
    """Flipping any one input flips the output, so every query is easy."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory

    def solve(self, inputs: Sequence[int]) -> Row:
        model = [sign or -1 for sign in inputs]
        return Row(Status.SAT, model, [_parity(model)])

    def maximize(
        self, inputs: Sequence[int], weights: Sequence[float], outputs: Sequence[int]
    ) -> Row:
        model = [sign or -1 for sign in inputs]
        if outputs[0] and outputs[0] != _parity(model):
            cheapest = min(range(len(model)), key=lambda i: weights[i] if inputs[i] else 0.0)
            if inputs[cheapest] and weights[cheapest] == math.inf:  # all inputs are facts
                return Row(Status.UNSAT, (), ())
            model[cheapest] = -model[cheapest]
        return Row(Status.SAT, model, [_parity(model)])

    def core(
        self, inputs: Sequence[int], weights: Sequence[float], outputs: Sequence[int]
    ) -> tuple[Status, Sequence[int]]:
        if 0 in inputs or outputs[0] in (0, _parity(inputs)):
            return Status.SAT, ()
        return Status.UNSAT, [i for i, weight in enumerate(weights) if weight < math.inf]


def _parity(signs: Sequence[int]) -> int:
    return 1 if sum(sign > 0 for sign in signs) % 2 else -1


a, b, c, odd = z3.Bools("a b c odd")
theory = Theory(odd == z3.Xor(a, z3.Xor(b, c)), inputs=[a, b, c], outputs=[odd])

for law in LAWS:  # the laws that all backends of the library satisfy
    law(Case.make(Parity(), theory))
print(f"Parity obeys all {len(LAWS)} laws.")

layer = SMTLayer(theory, backend=Parity())
print(layer(torch.tensor([[1.0, -2.0, 3.0], [1.0, 2.0, 3.0]])))
