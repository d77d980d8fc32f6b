"""A shield for an agent that learns by trial and error, for people who train policies.

A robot crosses Gymnasium's frozen lake. A move goes as intended or to either side, one third each.
The shield allows the moves after which the robot can avoid the holes for ever, however it slips.
"""

import argparse

import gymnasium as gym
import torch
import z3
from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map
from matplotlib import pyplot

from smtlayer import SMTLayer, Theory, one_hot

CELLS, MOVES = range(64), range(4)  # 8 rows of 8 cells; left, down, right, up
ice = gym.make("FrozenLake-v1", desc=["S" * 8] * 8).unwrapped.P  # the lake without holes
ends = [[[cell for _, cell, *_ in ice[c][m]] for m in MOVES] for c in CELLS]
at, move = z3.Ints("at move")
hole, safe = ([z3.Bool(f"{name} {c}") for c in CELLS] for name in ("hole", "safe"))
stays = [[z3.And([safe[end] for end in ends[c][m]]) for m in MOVES] for c in CELLS]
rules = [z3.Implies(safe[c], z3.And(z3.Not(hole[c]), z3.Or(stays[c]))) for c in CELLS]
rules += [z3.Implies(z3.And(at == c, move == m), stays[c][m]) for c in CELLS for m in MOVES]
shield = SMTLayer(Theory(rules, inputs=[*hole, one_hot(at, CELLS)], outputs=[one_hot(move, MOVES)]))
# Facts: each cell of the lake, and the first cell of 100 other lakes.
lakes = [MAPS["8x8"]] * 64 + [generate_random_map(8, seed=seed) for seed in range(100)]
holes = torch.tensor([[tile == "H" for tile in "".join(lake)] for lake in lakes])
facts = torch.cat([holes, torch.eye(64).bool()[[*CELLS, *[0] * 100]]], dim=-1)
found = shield.possible(torch.where(facts, torch.inf, -torch.inf), given=torch.ones_like(facts))


def train(allowed, penalty, steps):
    torch.manual_seed(0)
    robots = gym.make_vec("FrozenLake8x8-v1", 64, vector_kwargs={"autoreset_mode": "SameStep"})
    lost = ~allowed.any(-1)  # no move is allowed there: the policy chooses among all
    scores, values = torch.zeros(64, 4, requires_grad=True), torch.zeros(64, requires_grad=True)
    optimizer, counts = torch.optim.Adam([scores, values], lr=0.05), []
    state = robots.reset(seed=0)[0]
    for _ in range(steps):
        logits = scores.where(allowed | lost[:, None], -torch.inf)[state]
        policy = torch.distributions.Categorical(logits=logits)
        moves = policy.sample()
        after, *rest = robots.step(moves.numpy())
        reward, ended, late = map(torch.from_numpy, rest[:3])
        fell = ended & (reward == 0)
        worth = reward - penalty * fell + 0.99 * torch.where(ended, 0, values[after].detach())
        error = torch.where(late & ~ended, 0, worth - values[state])  # actor and critic
        optimizer.zero_grad()
        (error**2 - policy.log_prob(moves) * error.detach()).mean().backward()
        optimizer.step()
        counts.append(torch.stack([fell, reward > 0, lost[state]]).sum(-1))
        state = after
    return torch.stack(counts).cumsum(0)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
every = torch.ones(64, 4).bool()
by_hand = torch.tensor([[not holes[0, cells].any() for cells in ends[c]] for c in CELLS])
runs = {"no shield": (every, 0), "a fall costs 0.1": (every, 0.1), "a fall costs 1": (every, 1),
        "mask by hand": (by_hand, 0), "shield": (found.true[:64], 0)}  # fmt: skip
for name, run in runs.items():
    counts = runs[name] = train(*run, 100 if options.quick else 3000)
    print("{:16} {:5} falls {:5} goals {:5} steps with no allowed move".format(name, *counts[-1]))
print(f"A safe move exists in {found.status[:64].sum()} of the {(~holes[0]).sum()} cells of ice,")
print(f"and in the first cell of {found.status[64:].sum()} of 100 other lakes. The rest is UNSAT.")
if options.picture:
    figure, (map_, falls) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    map_.imshow(holes[0].view(8, 8).numpy(), cmap="Blues", vmax=2)
    for m, step in enumerate([(-1, 0), (0, 1), (1, 0), (0, -1)]):
        row, column = found.true[:64, m].view(8, 8).nonzero().T.numpy()
        map_.quiver(column, row, *step, angles="xy", scale=22, width=0.006)
    map_.set(title="Allowed moves; holes blue, goal bottom right", xticks=[], yticks=[])
    falls.plot(torch.stack([run[:, 0] for run in runs.values()], dim=-1).numpy(), label=list(runs))
    falls.set(title="Falls during training", xlabel="steps of 64 robots", yscale="symlog")
    falls.legend()
    figure.savefig(options.picture, dpi=120)
