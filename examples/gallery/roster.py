"""Hours of jobs, learned from whether deadlines were met, for people who plan work."""

import argparse

import torch
import z3
from matplotlib import pyplot
from torch import nn, tensor
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer.loop import Stepper

(a, b, c, d, deadline, end), met = z3.Ints("a b c d deadline end"), z3.Bool("met")
symbols = [*(one_hot(job, range(1, 5)) for job in (a, b, c, d)), one_hot(deadline, range(4, 12))]
team = [end == a + z3.If(b > c, b, c) + d, met == (end <= deadline)]
alone = [end == a + b + c + d, met == (end <= deadline)]  # one person does all jobs
layer, layer_alone = (SMTLayer(Theory(rules, inputs=symbols, outputs=[met]), forward="maxsmt",
    backward="anneal_core(cool=0.7, shake=0.85)") for rules in (team, alone))  # fmt: skip
end_of = {False: lambda hours: hours[:, 0] + hours[:, 1:3].amax(-1) + hours[:, 3],
          True: lambda hours: hours.sum(-1)}  # the same in torch, by one_person  # fmt: skip


def days(count, deadlines, one_person):
    tickets, limit = torch.rand(count, 4, 6) - 0.5, tensor(deadlines).repeat(count)[:count]
    hours = 1 + 2 * (tickets[..., 0] > 0) + (tickets[..., 1] > 0)
    return tickets, limit, end_of[one_person](hours) <= limit, hours


def score(method, network, tickets, limit, one_person=False):
    read = network[0](tickets)  # (B, 4, 4) a logit for each job and number of hours
    if method == "dense head":
        return network[1](torch.cat([read.flatten(1), limit[:, None] - 7], -1))
    if method == "torch by hand":  # a learned slope times the slack
        slack = limit + 0.5 - end_of[one_person](read.softmax(-1) @ torch.arange(1.0, 5))
        return network[2][0] * slack[:, None]
    facts = layer.theory.encode(deadline=limit.tolist()).float()  # 0 in the columns of the jobs
    logits, solver = pad(read.flatten(1), (0, 8)) + facts, layer_alone if one_person else layer
    if method == "anneal_core":
        return solver(logits, given=facts != 0)
    yes, no = (solver.log_prob(logits, {"met": label}, given=facts != 0) for label in (True, False))
    return (yes - no)[:, None]  # the cross-entropy of this is minus the log-likelihood


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
names, steps = ["deadlines 6, 8", "5, 7, 9", "one person", "hours"], 50 if options.quick else 2000
print("least of 3 seeds ", *names, sep="   ")
for at, method in enumerate(("dense head", "torch by hand", "anneal_core", "likelihood")):
    right = torch.zeros(4, 3)
    for seed in range(3):
        torch.manual_seed(seed + 20)
        tickets, limit, label, _ = days(500, [6, 8], False)
        parts = [nn.Sequential(nn.Linear(i, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(),
                 nn.Linear(n, o)) for i, n, o in ((6, 32, 4), (17, 64, 1))]  # fmt: skip
        network = nn.ModuleList([*parts, nn.ParameterList([tensor(1.0)]), layer])
        optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
        decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1, 3 * (1 - i / steps)))
        step = Stepper(network, optimizer, total=steps, schedule=decay)
        for _ in step:
            rows = torch.randint(500, (32,))
            answer = score(method, network, tickets[rows], limit[rows])
            step(binary_cross_entropy_with_logits(answer, label[rows, None].float()))
        for i, test in enumerate([([6, 8], False), ([5, 7, 9], False), ([8, 9, 10, 11], True)]):
            tickets, limit, label, hours = days(2000, *test)
            answer = score(method, network, tickets, limit, test[1])[:, 0] > 0
            right[i, seed] = (answer == label).float().mean()
        mean = network[0](tickets).softmax(-1) @ torch.arange(1.0, 5)  # of the hours read
        right[3, seed] = (mean.round() == hours).float().mean()
    print("{:17} {:16.1%} {:9.1%} {:12.1%} {:7.1%}".format(method, *right.amin(-1)))
    pyplot.barh(torch.arange(4) - at / 5, 100 * right.amin(-1), 0.2, label=method, tick_label=names)
question = SMTLayer(Theory(team, inputs=[*symbols, met], outputs=[symbols[2]]))  # the hours of c
facts = question.theory.encode(a=2, b=3, d=1, deadline=6, met=True).float()
found = question.possible(facts, given=facts != 0).true.nonzero()[:, 0] + 1
print("If a, b and d take 2, 3 and 1 hours and the deadline is 6, c may take", found.tolist())
if options.picture:
    pyplot.legend(title="Accuracy, least of 3 seeds, %", bbox_to_anchor=(1, 1))
    pyplot.savefig(options.picture, dpi=120, bbox_inches="tight")
