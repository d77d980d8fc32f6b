"""Valve states, learned from alarms through the laws of flow, for people who monitor plants."""

import argparse

import torch
import z3
from matplotlib import pyplot
from torch import nn, tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from smtlayer import Auto, SMTLayer, Theory, one_hot
from smtlayer.loop import Stepper

STATES = {"closed": 0, "half": 1, "open": 3}  # conductance of a valve, l/s per bar
valves, (low, high) = [z3.String(f"valve{i}") for i in (1, 2, 3, 4)], z3.Bools("low high")
p1, p2, *flows = z3.Reals("p1 p2 flow1 flow2 flow3 flow4 consumer")  # in bar and l/s
laws = {"conservation at junction 1": flows[0] == flows[1] + flows[2],
        "conservation at junction 2": flows[1] + flows[2] == flows[3] + flows[4],
        "the consumer takes 1 l/s per bar": flows[4] == p2,
        "alarm low": low == (p2 < 2.2), "alarm high": high == (p2 > 4.2)}  # fmt: skip
for valve, flow, drop in zip(valves, flows, [10 - p1, p1 - p2, p1 - p2, p2], strict=False):
    cases = [z3.Implies(valve == state, flow == g * drop) for state, g in STATES.items()]
    laws[f"flow through {valve}"] = z3.And(cases)
theory = Theory(laws, inputs=[one_hot(v, STATES) for v in valves], outputs=[low, high])
layer = SMTLayer(theory, forward="maxsmt", backward="anneal_core(cool=0.7, shake=0.85)")


def margins(conductance):  # the same laws in torch; positive if the alarm low or high fires
    supply, pair, drain = conductance[:, 0], conductance[:, 1:3].sum(-1), 1 + conductance[:, 3]
    p2 = 10 / (1 + drain / (supply + 1e-6) + drain / (pair + 1e-6))  # a closed valve has 0
    return torch.stack([2.2 - p2, p2 - 4.2], -1)


def score(method, network, read):
    if method == "dense head":
        return network[1](read.flatten(1))
    if method == "physics in torch":  # with mean conductances and a learned slope
        return network[2][0] * margins(read.softmax(-1) @ conductance)
    return layer(read.flatten(1))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
print(Auto().choose(theory))
every = torch.cartesian_prod(*[torch.arange(3)] * 4)  # all states of the four valves
conductance = tensor([*STATES.values()]).float()
alarms = margins(conductance[every]) > 0
names, steps = ["24 states", "57 new states", "valves"], 50 if options.quick else 1000
print("least of 3 seeds ", *names, sep="   ")
for at, method in enumerate(("dense head", "physics in torch", "anneal_core")):
    right = torch.zeros(3, 3)
    for seed in range(3):
        torch.manual_seed(seed + 10)
        looks, order = torch.randn(3, 8), torch.randperm(81)  # looks: mean features of a state
        parts = [nn.Sequential(nn.Linear(i, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(),
                 nn.Linear(n, o)) for i, n, o in ((8, 32, 3), (12, 64, 2))]  # fmt: skip
        network = nn.ModuleList([*parts, nn.ParameterList([tensor(1.0)]), layer])
        step = Stepper(network, torch.optim.Adam(network.parameters(), lr=0.02), total=steps)
        rows = order[torch.randint(24, (500,))]
        features = looks[every[rows]] + 0.5 * torch.randn(500, 4, 8)
        for _ in step:
            batch = torch.randint(500, (32,))
            answer = score(method, network, network[0](features[batch]))
            step(binary_cross_entropy_with_logits(answer, alarms[rows[batch]].float()))
        for i, part in enumerate((order[:24], order[24:])):
            test = part[torch.randint(len(part), (2000,))]
            read = network[0](looks[every[test]] + 0.5 * torch.randn(2000, 4, 8)).detach()
            answer = score(method, network, read) > 0
            right[i, seed] = (answer == alarms[test]).all(-1).float().mean()
        mean = (read.softmax(-1) @ conductance)[..., None]  # its nearest state is the one read
        right[2, seed] = ((mean - conductance).abs().argmin(-1) == every[test]).float().mean()
    print("{:17} {:11.1%} {:15.1%} {:8.1%}".format(method, *right.amin(-1)))
    pyplot.barh(torch.arange(3) - at / 5, 100 * right.amin(-1), 0.2, label=method, tick_label=names)
wrong = (answer != alarms[test]).any(-1).nonzero()[0, 0]  # a row that the layer gets wrong
print(layer.explain(read[wrong].flatten(), wanted=alarms[test[wrong]])[0])
if options.picture:
    pyplot.legend(title="Accuracy, least of 3 seeds, %", bbox_to_anchor=(1, 1))
    pyplot.savefig(options.picture, dpi=120, bbox_inches="tight")
