"""Two noisy switches and a lamp: learns to read the switches with labels for the lamp only."""

import torch
import z3
from torch import nn

from smtlayer import SMTLayer, Theory

left, right, lamp = z3.Bools("left right lamp")
theory = Theory(lamp == z3.Xor(left, right), inputs=[left, right], outputs=[lamp])

torch.manual_seed(0)
network = nn.Linear(1, 1)  # reads one switch; the same network reads both
layer = SMTLayer(theory)
optimizer = torch.optim.Adam(network.parameters(), lr=0.05)

for _ in range(200):
    switches = torch.rand(64, 2) < 0.5
    voltages = switches.float() * 4 + 1 + 0.5 * torch.randn(64, 2)  # about 1 V off, 5 V on
    logits = network(voltages[..., None]).squeeze(-1)  # (64, 2)
    lamps = (switches[:, :1] ^ switches[:, 1:]).float()  # (64, 1), the only labels
    loss = nn.functional.binary_cross_entropy_with_logits(layer(logits), lamps)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    volts = torch.tensor([[1.0, 1.0], [1.0, 5.0], [5.0, 1.0], [5.0, 5.0]])
    answer = theory.decode(layer.eval()(network(volts[..., None]).squeeze(-1)))
for (a, b), lit in zip(volts.tolist(), answer["lamp"], strict=True):
    print(f"{a:.0f} V and {b:.0f} V: the lamp is {'on' if lit else 'off'}")
