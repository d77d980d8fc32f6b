"""Finds out before training that labels fit wrong readings of images, and what to add.

Images of digits come in pairs, and the only labels are four sums, as in rsbench's MNIST-Half.
"""

import argparse

import torch
import torch.nn.functional as F
import z3
from matplotlib import pyplot
from torch import nn

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer.lab import readings
from smtlayer.nn import LikelihoodLoss
from smtlayer_studies.tasks.mnist import load_digits  # in a checkout: pip install ./studies

a, b, total = z3.Ints("a b total")
digits = [one_hot(a, range(5)), one_hot(b, range(5))]
theory = Theory(total == a + b, inputs=digits, outputs=[one_hot(total, range(9))])
SHOWN = [(0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2)]
found = readings(theory, [{"a": first, "b": second} for first, second in SHOWN])
print(found)
first, second = found.next_row.values()
MORE = [*SHOWN, (first, second), (second, first)]
data = load_digits()  # MNIST if it is in the data folder, else a sample of it


def images(split, pairs):
    source = data.split(split)
    return source.images[source.draw(pairs, torch.Generator().manual_seed(0))] / 255


def train(seed, steps, shown=SHOWN, rule=None, entropy=0, labels=0):
    torch.manual_seed(seed)
    pairs = torch.tensor(shown)[torch.randint(len(shown), (2000,))]
    pixels = images("train", pairs)  # (2000, 2, 28, 28), and both images have one reader
    network = nn.Sequential(nn.Flatten(2), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 5))
    layer = SMTLayer(theory, backward=rule or "core")
    likelihood, optimizer = LikelihoodLoss(layer), torch.optim.Adam(network.parameters())
    for step in range(steps):
        rows, layer.progress = torch.randint(2000, (64,)), step / steps
        logits, label = network(pixels[rows]), theory.encode_outputs(total=pairs[rows].sum(-1))
        if rule:
            loss = F.binary_cross_entropy_with_logits(layer(logits.flatten(1)), (label > 0).float())
        else:
            loss = likelihood(logits.flatten(1), label)
        shares = logits.softmax(-1).mean((0, 1))  # of the five values in the batch
        loss = loss + entropy * (shares * shares.log()).sum()
        if labels:  # of the first image, in that many pairs
            loss = loss + F.cross_entropy(network(pixels[:labels])[:, 0], pairs[:labels, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tests = torch.cartesian_prod(torch.arange(5), torch.arange(5)).repeat(40, 1)
    seen, read = (network(x).argmax(-1) for x in (pixels, images("test", tests)))
    return (seen.sum(-1) == pairs.sum(-1)).float().mean(), tests, read


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
rule = {"rule": "anneal_core"}
runs = {"rule": rule, "likelihood": {}, "likelihood, entropy": {"entropy": 1},
        "rule, one more sum": {**rule, "shown": MORE}, "likelihood, one more sum": {"shown": MORE},
        "likelihood, 10 labels": {"labels": 10}}  # fmt: skip
seeds, steps = (1, 20) if options.quick else (5, 400)
figure, axes = pyplot.subplots(2, 3, figsize=(9, 6), layout="constrained", sharey=True)
for axis, (name, settings) in zip(axes.flat, runs.items(), strict=True):
    done = [train(seed, steps, **settings) for seed in range(seeds)]
    seen, tests, read = map(torch.stack, zip(*done, strict=True))
    sums = (tests.sum(-1) == read.sum(-1)).float().mean(-1)  # of all pairs, for each seed
    print(f"{name:25} training sums {seen.min():.0%} to {seen.max():.0%}, ", end="")
    print(f"all sums {sums.min():.0%} to {sums.max():.0%}, right: {(sums > 0.9).sum()} of {seeds}")
    axis.imshow([[(read[tests == i] == j).float().mean() for j in range(5)] for i in range(5)])
    axis.set(title=name, xlabel="read as", ylabel="digit")
if options.picture:
    figure.savefig(options.picture, dpi=120)
