"""Digits as noisy vectors: learns to read them from sums of equal digits."""

import torch
import z3
from torch import nn

from smtlayer import SMTLayer, Theory

a, b = z3.BitVecs("a b", 4)
total = z3.BitVec("total", 5)
theory = Theory(
    [total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b), z3.ULE(a, 9), z3.ULE(b, 9)],
    inputs=[a, b],
    outputs=[total],
)

torch.manual_seed(0)
looks = torch.randn(10, 32)  # mean of each digit, unknown to the network
network = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 4))
layer = SMTLayer(theory)
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)


def read(digits: torch.Tensor) -> torch.Tensor:
    images = looks[digits] + 0.3 * torch.randn(*digits.shape, 32)  # (B, 2, 32)
    return network(images).flatten(1)  # (B, 8)


for _ in range(600):
    digits = torch.randint(10, (64, 1)).expand(-1, 2)  # equal pairs only: 0 + 0 to 9 + 9
    wanted = (theory.encode_outputs(total=digits.sum(-1)) > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(layer(read(digits)), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

layer.eval()
digits = torch.cartesian_prod(torch.arange(10), torch.arange(10))  # all pairs, 90 of them new
with torch.no_grad():
    sums = theory.decode(layer(read(digits)))["total"]
right = (sums == digits.sum(-1).numpy()).mean()
print(f"{right:.0%} of all 100 pairs are added correctly; only 10 of them are in training")
