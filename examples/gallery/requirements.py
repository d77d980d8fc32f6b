"""The 243 requirements of ROAD-R on 41 labels, and a classifier of synthetic rows."""

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

import torch
from matplotlib import pyplot
from sklearn.metrics import accuracy_score, average_precision_score, f1_score
from torch import nn

from smtlayer import SMTLayer, Theory

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--labels", type=int, default=150)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--picture")
options = parser.parse_args()
file = Path(os.environ.get("SMTLAYER_DATA", "data"), "road-r", "requirements.cnf")
if not file.exists():
    raise SystemExit(f"Save requirements_dimacs.txt of EGiunchiglia/ROAD-R on GitHub as {file}.")
layer = SMTLayer(Theory.from_dimacs(file)).eval()  # in eval() mode it repairs contradictions
ways = {"as predicted": lambda logits: (logits > 0, logits),
    "repaired": lambda logits: (layer(logits) > 0, layer.marginals(logits).outputs)}  # fmt: skip
clauses = [[int(word) for word in line.split()[:-1]] for line in file.read_text().splitlines()[1:]]
rules = [" or ".join(f"{'not ' * (n < 0)}y_{abs(n) - 1}" for n in clause) for clause in clauses]
try:
    from pishield.shield_layer import build_shield_layer

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
        Path(folder, "rules").write_text("\n".join(rules))
        shield = build_shield_layer(41, f"{folder}/rules", "rev-betweenness")
    ways["by PiShield"] = lambda logits: ((new := shield(logits.sigmoid())) > 0.5, new)
except ImportError:
    print("PiShield is missing. Install it with: pip install --no-deps pishield==1.0.0")


def train(steps, *parts):  # 64 rows of each part per step
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 41))
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(5 if options.quick else steps):
        optimizer.zero_grad()
        for features, labels in parts:
            rows = torch.randint(len(labels), (64,))
            nn.BCEWithLogitsLoss()(network(features[rows]), labels[rows].float()).backward()
        optimizer.step()
    return network.requires_grad_(False)


runs, measures = {}, ["violating rows", "F1", "exact rows", "mAP"]
for seed in range(2 if options.quick else 5):
    torch.manual_seed(seed)
    kinds, mixing = 2 * torch.randn(30, 41) - 2, torch.randn(41, 64) / 41**0.5
    labels = layer.sample(kinds[torch.randint(30, (7000,))]).outputs[0] > 0
    features = (2 * labels.float() @ mixing).tanh() + 0.3 * torch.randn(7000, 64)
    few, unlabelled = (features[: options.labels], labels[: options.labels]), features[1000:5000]
    test, true = features[5000:], labels[5000:]
    first, logits = train(300, few), train(1500, few)(test)
    answers = {name: way(logits) for name, way in ways.items()}
    for name, way in ways.items():
        network = first
        for _ in range(4):
            network = train(300, few, (unlabelled, way(network(unlabelled))[0]))
        answers[f"pseudo-labels {name}"] = ways["repaired"](network(test))
    for name, (found, scores) in answers.items():
        violating = (layer.solve(found.float() - 0.5).cost > 0).double().mean()
        f1, mean_ap = f1_score(true, found, average="micro"), average_precision_score(true, scores)
        runs.setdefault(name, []).append([violating, f1, accuracy_score(true, found), mean_ap])
pyplot.figure(figsize=(9, 4), layout="constrained")
print(f"{f'{options.labels} labels':26}", *[f"{measure:>14}" for measure in measures])
for place, (name, run) in enumerate(runs.items()):
    spread, mean = (x.numpy() for x in torch.std_mean(100 * torch.tensor(run), dim=0))
    print(f"{name:26}", *[f"{m:8.1f} ± {s:3.1f}" for m, s in zip(mean, spread, strict=True)])
    pyplot.bar([i + place / 8 for i in range(4)], mean, 1 / 8, yerr=spread, label=name)
pyplot.xticks([i + 0.3 for i in range(4)], [f"{measure}, %" for measure in measures])
pyplot.legend()
if options.picture:
    pyplot.savefig(options.picture, dpi=120)
