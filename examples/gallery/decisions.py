"""Costs that are learned for decisions: a path through a grid, and five of 30 offers."""

import argparse
import time

import numpy as np
import torch
import z3
from matplotlib import pyplot

from smtlayer import SMTLayer, Theory

try:
    from pyepo import dsl, func, model
except ImportError:
    func = print("PyEPO is not run. To compare with it: pip install pyepo ortools")
ENDS = [(c, c + step) for row in range(0, 25, 5) for step in (1, 5) for c in range(row, row + 5)
        if (c % 5 < 4 if step == 1 else row < 20)]  # fmt: skip
arcs = [z3.Bool(f"{start} to {end}") for start, end in ENDS]  # 5 rows of 5 cells, right and down
leave = [[arc for arc, (a, _) in zip(arcs, ENDS, strict=True) if a == c] for c in range(25)]
enter = [[arc for arc, (_, b) in zip(arcs, ENDS, strict=True) if b == c] for c in range(25)]
path = [z3.Or(leave[0]), *(z3.AtMost(*leave[c], 1) for c in range(24))]
path += [z3.Or(enter[c]) == z3.Or(leave[c]) for c in range(1, 24)]
offers = [z3.Bool(f"offer {i}") for i in range(30)]
five = z3.PbEq([(offer, 1) for offer in offers], 5)


def losses(theory, decision):
    perturbed = SMTLayer(theory, forward="maxsmt", backward="perturbed(sigma=0.5)")
    blackbox = SMTLayer(theory, forward="maxsmt", backward="blackbox")
    yield "two-stage", lambda predicted, costs, best: (predicted - costs).square().mean()
    yield "decision", lambda predicted, costs, best: -(decision(-predicted) * best).mean()
    yield "blackbox", lambda predicted, costs, best: (blackbox(-predicted) * costs).mean()
    yield "perturbed", lambda predicted, costs, best: -(perturbed(-predicted) * best).mean()
    yield "SPO+", lambda predicted, costs, best: -(decision(costs - 2 * predicted) * best).mean()
    if func:
        x, c = dsl.Variable(30, lb=0, ub=1), dsl.Parameter(30)
        top = dsl.Problem(dsl.Minimize(c @ x), [x.sum() == 5]).compile("ortools", solver="glop")
        lp = model.ort.shortestPathModel((5, 5)) if theory.n_inputs == len(arcs) else top
        dbb, pfy, spo = func.DBB(lp, lambd=20), func.PFY(lp, sigma=0.5), func.SPOPlus(lp)
        yield "PyEPO blackbox", lambda p, costs, best: (dbb(p) * costs).sum(-1).mean()
        yield "PyEPO perturbed", lambda p, costs, best: pfy(p, best.relu())
        yield "PyEPO SPO+", lambda p, c, best: spo(p, c, best.relu(), (best.relu() * c).sum(-1))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.5), layout="constrained", sharey=True)
for axis, name, symbols, rules in (axes[0], "path", arcs, path), (axes[1], "top 5", offers, five):
    theory, found = Theory(rules, symbols, symbols), {}
    decision = SMTLayer(theory, forward="maxsmt", backward="decision")
    for seed in range(1 if options.quick else 3):  # data of PyEPO's generator, degree 4, noise 0.5
        random = np.random.RandomState(seed)
        effects, features = random.binomial(1, 0.5, (len(symbols), 5)), random.randn(1500, 5)
        means = torch.tensor(((features @ effects.T / 5**0.5 + 3) ** 4 + 1) / 3.5**4).float()
        costs = means * torch.tensor(random.uniform(0.5, 1.5, means.shape)).float()
        features, best = torch.tensor(features).float(), decision(-costs)
        least, floor = ((decision(-by).relu() * costs)[500:].sum() for by in (costs, means))
        found.setdefault("true means", []).append((100 * floor / least - 100, 0))
        for method, loss in losses(theory, decision):
            torch.manual_seed(seed)
            network, start = torch.nn.Linear(5, len(symbols)), time.process_time()
            optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
            for rows in torch.randint(500, (16 if options.quick else 160, 32)):  # 500 for training
                optimizer.zero_grad()
                loss(network(features[rows]), costs[rows], best[rows]).backward()
                optimizer.step()
            seconds = time.process_time() - start
            paid = (decision(-network(features)).relu() * costs)[500:].sum().item()
            found.setdefault(method, []).append((100 * paid / least - 100, seconds))
    for method, runs in found.items():
        (regrets, times), own = np.transpose(runs), found[method.removeprefix("PyEPO ")]
        slower = f"  {sum(times) / np.sum(own, 0)[1]:.0f} x the CPU time" if own is not runs else ""
        print(f"{name:5}  {method:15} {regrets.mean():5.1f} % {regrets.round(1)}{slower}")
        axis.scatter(regrets, [method] * len(runs), color="C0" if own is runs else "C1")
    axis.set(title=f"{name}: regret on 1,000 test rows, %", xlim=(0, None))
if options.picture:
    figure.savefig(options.picture, dpi=120)
