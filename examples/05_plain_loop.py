"""A plain PyTorch loop: learns rock, paper, scissors from the results of games.

The network sees images of two hands. The labels are the results; the hands have no labels.
`Stepper` does the optimiser steps and sets the progress that the blame rule follows;
`solver_counts` returns the statistics of the solver.
"""

import torch
import z3
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer.loop import Stepper, solver_counts

sort, hands = z3.EnumSort("Hand", ["rock", "paper", "scissors"])
first, second = z3.Consts("first second", sort)
wins, draw = z3.Bools("wins draw")
rock, paper, scissors = hands
beats = [(rock, scissors), (paper, rock), (scissors, paper)]
theory = Theory(
    [wins == z3.Or([z3.And(first == a, second == b) for a, b in beats]), draw == (first == second)],
    inputs=[one_hot(first, hands), one_hot(second, hands)],
    outputs=[wins, draw],
)

torch.manual_seed(0)
looks = torch.randn(3, 16)  # mean of each hand, unknown to the network


def games(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    shown = torch.randint(3, (count, 2))
    pictures = looks[shown] + 0.4 * torch.randn(count, 2, 16)
    ahead = (shown[:, 0] - shown[:, 1]) % 3  # 0: the same hand, 1: the first one wins
    return pictures, torch.stack([ahead == 1, ahead == 0], -1).float()


network = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3), nn.Flatten())
layer = SMTLayer(theory, backward="anneal_core")
model = nn.Sequential(network, layer)  # two pictures (B, 2, 16) to two outputs (B, 2)

step = Stepper(model, torch.optim.Adam(model.parameters(), lr=5e-3), total=400)
for number in step:
    pictures, results = games(64)
    loss = binary_cross_entropy_with_logits(model(pictures), results)
    step(loss)
    if number % 100 == 99:
        counts = solver_counts(model)  # since the last reset
        print(
            f"step {step.done}, progress {layer.progress:.2f}: "
            f"{counts['correct'] / counts['rows']:.0%} of the rows correct, "
            f"{counts['unsat']:.0f} contradict the theory, {counts['solver_seconds']:.2f} s solving"
        )
        layer.stats.reset()

model.eval()
pictures, results = games(1000)
with torch.no_grad():
    right = ((model(pictures) > 0) == (results > 0)).all(-1).float().mean()
print(f"{right:.0%} of 1000 new games are judged right")
