"""Rules for decisions on a GPU: the same gradients as on a CPU."""

import pytest
import torch
import z3

from smtlayer import Circuit, Sat, SMTLayer, Table, Theory
from smtlayer.nn import blackbox, decision, perturbed

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("forward", ["smt", "maxsmt"])
@pytest.mark.parametrize("backend", [Table(), Circuit(), Sat()], ids=["table", "circuit", "sat"])
@pytest.mark.parametrize("rule", [decision, perturbed(sigma=1e-9), blackbox], ids=str)
def test_gradients_are_those_of_the_cpu(rule, backend, forward):
    items = [z3.Bool(f"item{i}") for i in range(8)]
    theory = Theory(z3.PbEq([(item, 1) for item in items], 3), items, items)
    here, there = (SMTLayer(theory, backend=backend, forward=forward, backward=rule) for _ in "12")
    for _ in range(6):  # graphs of the forward pass begin with the fourth batch
        logits, slope, found = torch.randn(16, 8), torch.randn(16, 8), []
        for layer, device in ((here, "cpu"), (there, "cuda")):
            leaf = logits.to(device).requires_grad_()
            layer(leaf).backward(slope.to(device))
            found.append(leaf.grad.cpu())
        torch.testing.assert_close(found[1], found[0])
